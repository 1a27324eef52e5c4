//! How long pages of a class stay valid after their reclaim unit is closed: the hazard by age.
//!
//! # What it is
//! A [`Curve`] counts the pages of a class that are invalidated at each age, in [`Bins`], and derives from them the
//! share still valid. [`Curve::prospects`] returns what waiting gains, by which the garbage collection policies of
//! `wafer-device` choose victims.
//!
//! # Invariants
//! Everything is deterministic, and nothing allocates after a curve is created.
//!
//! # Error model
//! Nothing here fails. A curve from a file may have tables of any length: see [`Curve::is_whole`].

use serde::{Deserialize, Serialize};

/// Number of age bins.
pub const BINS: usize = 256;
/// Bins per doubling of the age.
const PER_DOUBLING: f64 = 12.0;
/// Reclaim units of host writes up to which bins are equally wide.
const LINEAR_RUS: f64 = 4.0;
/// Maximum summed hazard: a survival of e^-25 is as good as none.
const MOST_HAZARD: f64 = 25.0;
/// Weight of the prior: a bin is drawn towards the mean of its class, or the same bin of its handle, as if it had seen
/// this much more, in mean bins.
const PRIOR: f64 = 0.5;
/// Minimum weight of the prior: this many pages exposed for one host page each.
const LEAST_PRIOR: f64 = 1.0;

/// Ages, in host pages, at which bins begin: evenly spaced at first, then in proportion to the age, so that 256 bins
/// reach from one reclaim unit to the longest lifetime on the largest drive.
#[derive(Clone, Debug)]
pub struct Bins {
    unit: f64,
    /// The start of each bin, and the end of the last.
    pub edges: Vec<f64>,
}

impl Bins {
    /// Returns the bins of a device.
    pub fn new(pages_per_ru: u32) -> Self {
        let unit = LINEAR_RUS * f64::from(pages_per_ru);
        let edge = |i| unit * ((f64::from(i) / PER_DOUBLING).exp2() - 1.0);
        Bins { unit, edges: (0..=BINS as u32).map(edge).collect() }
    }

    /// Returns the bin of an age; the last bin has no upper limit.
    #[inline]
    pub fn of(&self, age: f64) -> usize {
        (((1.0 + age / self.unit).log2() * PER_DOUBLING) as usize).min(BINS - 1)
    }
}

/// The expected state of a reclaim unit after a wait.
#[derive(Clone, Copy, Debug)]
pub struct Prospect {
    /// Host pages written during the wait.
    pub wait: f64,
    /// Valid pages at its end.
    pub valid: f64,
    /// Integral of the valid pages over the wait.
    pub lived: f64,
}

/// The lifetimes of the pages of one class.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Curve {
    /// Pages invalidated at each age, decayed.
    dead: Vec<f64>,
    /// Valid pages times the host pages written meanwhile, at each age, decayed.
    exposure: Vec<f64>,
    /// Share of the valid pages invalidated per host page.
    pub hazard: Vec<f64>,
    /// Integral of the hazard up to each edge.
    pub summed: Vec<f64>,
    /// Share of pages still valid at each edge.
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
    /// Returns whether all tables have the right length.
    pub fn is_whole(&self) -> bool {
        let bins = [&self.dead, &self.exposure, &self.hazard];
        let edges = [&self.summed, &self.survival, &self.lived];
        bins.iter().all(|of| of.len() == BINS) && edges.iter().all(|of| of.len() == BINS + 1)
    }

    /// Returns a curve without observations.
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

    /// Returns what the curve would have counted if all lifetimes had been `time` times as long. `from` are its bins,
    /// `to` those of the result, which must be refreshed before use.
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

    /// Counts `died` pages invalidated evenly between two ages, of `valid` pages on average.
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

    /// Decays the counts, and derives hazard and survival from them. `whole` is the prior where little was seen.
    pub fn refresh(&mut self, bins: &Bins, fade: f64, whole: Option<&Curve>) {
        let (mut dead, mut exposure, mut used) = (0.0, 0.0, 0.0);
        for bin in 0..BINS {
            self.dead[bin] *= fade;
            self.exposure[bin] *= fade;
            dead += self.dead[bin];
            exposure += self.exposure[bin];
            used += f64::from(u8::from(self.exposure[bin] > 0.0));
        }
        // Nothing seen: a constant hazard, which amounts to greedy.
        let mean = if dead > 0.0 { dead / exposure } else { 1.0 / bins.edges[BINS] };
        let prior = (PRIOR * exposure / used.max(1.0)).max(LEAST_PRIOR);
        for bin in 0..BINS {
            let usual = whole.map_or(mean, |whole| whole.hazard[bin]);
            let hazard = (self.dead[bin] + prior * usual) / (self.exposure[bin] + prior);
            self.hazard[bin] = hazard;
        }
        self.integrate(bins);
    }

    /// Decays the counts, and derives hazard and survival from them alone. Where nothing was seen, the hazard is that
    /// of `whole` if it saw something there, or of the previous age.
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

    /// Passes to `see` what is expected of `valid` pages of this age, for increasing waits up to `horizon`: at every
    /// bin at first, then ever more sparsely.
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
