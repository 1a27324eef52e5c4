//! How long pages of a class stay valid after their reclaim unit was closed: hazard by age.
//!
//! # What it is
//! A [`Curve`] counts the pages of a class that became invalid at each age, in [`Bins`], and derives the share still
//! valid from them. [`Curve::prospects`] returns what waiting gains; garbage collection policies of `wafer-device`
//! choose victims by it.
//!
//! # Invariants
//! Everything is deterministic, and nothing allocates after a curve is made.
//!
//! # Error model
//! Nothing here fails. A curve from a file may have tables of any length: see [`Curve::is_whole`].

use serde::{Deserialize, Serialize};

/// Bins of age.
pub const BINS: usize = 256;
/// Bins for each doubling of the age.
const PER_DOUBLING: f64 = 12.0;
/// Reclaim units of host writes up to which bins are equally wide.
const LINEAR_RUS: f64 = 4.0;
/// A survival of e^-25 is none.
const MOST_HAZARD: f64 = 25.0;
/// A bin is drawn towards the mean of its class, or the same bin of its handle, as if it had seen this
/// much more, in mean bins.
const PRIOR: f64 = 0.5;
/// Of a class, at least this many pages seen for one host page each.
const LEAST_PRIOR: f64 = 1.0;

/// Ages, in host pages, at which bins begin: evenly at first, then in proportion to the age, so that
/// 256 of them reach from one reclaim unit to the longest life on the largest drive.
#[derive(Clone, Debug)]
pub struct Bins {
    unit: f64,
    /// Where bins begin, and the end of the last.
    pub edges: Vec<f64>,
}

impl Bins {
    /// Returns the bins of a device.
    pub fn new(pages_per_ru: u32) -> Self {
        let unit = LINEAR_RUS * f64::from(pages_per_ru);
        let edge = |i| unit * ((f64::from(i) / PER_DOUBLING).exp2() - 1.0);
        Bins { unit, edges: (0..=BINS as u32).map(edge).collect() }
    }

    /// Returns the bin of an age; the last one for all that is older.
    #[inline]
    pub fn of(&self, age: f64) -> usize {
        (((1.0 + age / self.unit).log2() * PER_DOUBLING) as usize).min(BINS - 1)
    }
}

/// What is expected of a reclaim unit after some waiting.
#[derive(Clone, Copy, Debug)]
pub struct Prospect {
    /// Host pages written in the meantime.
    pub wait: f64,
    /// Pages valid then.
    pub valid: f64,
    /// Integral of the valid pages over the waiting.
    pub lived: f64,
}

/// The lives of the pages of one class.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Curve {
    /// Pages that became invalid at an age, fading.
    dead: Vec<f64>,
    /// Valid pages times host pages written in the meantime, fading.
    exposure: Vec<f64>,
    /// Share of the valid pages that becomes invalid per host page.
    pub hazard: Vec<f64>,
    /// Integral of the hazard up to each edge.
    pub summed: Vec<f64>,
    /// Share of pages valid at each edge.
    pub survival: Vec<f64>,
    /// Integral of `survival` up to each edge.
    pub lived: Vec<f64>,
}

impl Default for Curve {
    fn default() -> Self {
        Self::new()
    }
}

impl Curve {
    /// Returns whether all tables have their lengths.
    pub fn is_whole(&self) -> bool {
        let bins = [&self.dead, &self.exposure, &self.hazard];
        let edges = [&self.summed, &self.survival, &self.lived];
        bins.iter().all(|of| of.len() == BINS) && edges.iter().all(|of| of.len() == BINS + 1)
    }

    /// Returns a curve that has seen nothing.
    pub fn new() -> Self {
        Curve {
            dead: vec![0.0; BINS],
            exposure: vec![0.0; BINS],
            hazard: vec![0.0; BINS],
            summed: vec![0.0; BINS + 1],
            survival: vec![1.0; BINS + 1],
            lived: vec![0.0; BINS + 1],
        }
    }

    /// Returns what the curve would have counted, had all lives been `time` times as long. Its bins are `from`, those of
    /// the other `to`. It has to be refreshed before use.
    pub fn stretched(&self, from: &Bins, to: &Bins, time: f64) -> Curve {
        let mut curve = Curve::new();
        for (bin, (dead, exposure)) in self.dead.iter().zip(&self.exposure).enumerate() {
            let (start, end) = (from.edges[bin], from.edges[bin + 1]);
            if *exposure > 0.0 {
                curve.count(to, time * start, time * end, *dead, exposure / (end - start));
            }
        }
        curve
    }

    /// Counts `died` pages, evenly between two ages, of `valid` on average.
    #[inline]
    pub fn count(&mut self, bins: &Bins, from: f64, to: f64, died: f64, valid: f64) {
        let rate = died / (to - from);
        let (mut at, mut bin) = (from, bins.of(from));
        while at < to {
            let end = if bin == BINS - 1 { to } else { bins.edges[bin + 1].min(to) };
            let time = (end - at).max(0.0);
            self.dead[bin] += rate * time;
            self.exposure[bin] += valid * time;
            at = end;
            bin = (bin + 1).min(BINS - 1);
        }
    }

    /// Lets counts fade, and derives hazard and survival from them; `whole` is what is taken for granted
    /// where little was seen.
    pub fn refresh(&mut self, bins: &Bins, fade: f64, whole: Option<&Curve>) {
        let (mut dead, mut exposure, mut used) = (0.0, 0.0, 0.0);
        for bin in 0..BINS {
            self.dead[bin] *= fade;
            self.exposure[bin] *= fade;
            dead += self.dead[bin];
            exposure += self.exposure[bin];
            used += f64::from(u8::from(self.exposure[bin] > 0.0));
        }
        // Nothing seen: one hazard for all, which is greedy.
        let mean = if dead > 0.0 { dead / exposure } else { 1.0 / bins.edges[BINS] };
        let prior = (PRIOR * exposure / used.max(1.0)).max(LEAST_PRIOR);
        for bin in 0..BINS {
            let usual = whole.map_or(mean, |whole| whole.hazard[bin]);
            let hazard = (self.dead[bin] + prior * usual) / (self.exposure[bin] + prior);
            self.hazard[bin] = hazard;
        }
        self.integrate(bins);
    }

    /// Lets counts fade, and derives hazard and survival from them alone; where nothing was seen, the hazard is that of `whole`, if
    /// there it was, or of the age before.
    pub fn refresh_as_seen(&mut self, bins: &Bins, fade: f64, whole: Option<&Curve>) {
        let mut before = 0.0;
        for bin in 0..BINS {
            self.dead[bin] *= fade;
            self.exposure[bin] *= fade;
            let seen = |curve: &Curve| curve.exposure[bin] > LEAST_PRIOR;
            before = match whole {
                _ if seen(self) => self.dead[bin] / self.exposure[bin],
                Some(whole) if seen(whole) => whole.hazard[bin],
                _ => before,
            };
            self.hazard[bin] = before;
        }
        self.integrate(bins);
    }

    /// Derives survival from the hazard.
    fn integrate(&mut self, bins: &Bins) {
        for bin in 0..BINS {
            let width = bins.edges[bin + 1] - bins.edges[bin];
            let step = self.hazard[bin] * width;
            self.summed[bin + 1] = (self.summed[bin] + step).min(MOST_HAZARD);
            self.survival[bin + 1] = (-self.summed[bin + 1]).exp();
            let (before, after) = (self.survival[bin], self.survival[bin + 1]);
            let mean_alive = if step > 1e-6 { (before - after) / step } else { before };
            self.lived[bin + 1] = self.lived[bin] + mean_alive * width;
        }
    }

    /// Shows what is expected of `valid` pages of this age, at increasing times of waiting up to `horizon`:
    /// every bin at first, then ever fewer.
    pub fn prospects(
        &self,
        bins: &Bins,
        age: f64,
        valid: f64,
        horizon: f64,
        mut see: impl FnMut(Prospect),
    ) {
        let bin = bins.of(age);
        if bin == BINS - 1 {
            return;
        }
        let within = (age - bins.edges[bin]) / (bins.edges[bin + 1] - bins.edges[bin]);
        let summed = self.summed[bin] + (self.summed[bin + 1] - self.summed[bin]) * within;
        let lived = self.lived[bin] + (self.lived[bin + 1] - self.lived[bin]) * within;
        let scale = valid * summed.exp();
        let (mut edge, mut steps) = (bin + 1, 0);
        while edge < BINS {
            let wait = bins.edges[edge] - age;
            if wait > horizon {
                return;
            }
            see(Prospect {
                wait,
                valid: scale * self.survival[edge],
                lived: scale * (self.lived[edge] - lived),
            });
            if self.summed[edge] >= MOST_HAZARD {
                return;
            }
            steps += 1;
            edge += 1 << (steps / 4).min(3);
        }
    }
}

#[cfg(test)]
mod tests;
