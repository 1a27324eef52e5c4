//! How long pages of a class stay valid after their reclaim unit was closed: hazard by age.

/// Bins of age.
pub(super) const BINS: usize = 256;
/// Bins for each doubling of the age.
const PER_DOUBLING: f64 = 12.0;
/// Reclaim units of host writes up to which bins are equally wide.
const LINEAR_RUS: f64 = 4.0;
/// A survival of e^-25 is none.
const MOST_HAZARD: f64 = 25.0;
/// Pages of the frailty law that say: all alike.
const LEAST_SPREAD: f64 = 1e9;
/// A bin is drawn towards the mean of its class as if it had seen this much more, in mean bins.
const PRIOR: f64 = 0.5;

/// Ages, in host pages, at which bins begin: evenly at first, then in proportion to the age, so that
/// 256 of them reach from one reclaim unit to the longest life on the largest drive.
#[derive(Clone, Debug)]
pub(super) struct Bins {
    unit: f64,
    pub(super) edges: Vec<f64>,
}

impl Bins {
    pub(super) fn new(pages_per_ru: u32) -> Self {
        let unit = LINEAR_RUS * f64::from(pages_per_ru);
        let edge = |i| unit * ((f64::from(i) / PER_DOUBLING).exp2() - 1.0);
        Bins { unit, edges: (0..=BINS as u32).map(edge).collect() }
    }

    pub(super) fn of(&self, age: f64) -> usize {
        (((1.0 + age / self.unit).log2() * PER_DOUBLING) as usize).min(BINS - 1)
    }
}

/// The lives of the pages of one class.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    /// Pages that became invalid at an age, fading.
    dead: Vec<f64>,
    /// Valid pages times host pages written meanwhile, fading.
    exposure: Vec<f64>,
    /// Share of the valid pages that becomes invalid per host page.
    pub(super) hazard: Vec<f64>,
    /// Integral of the hazard up to each edge.
    pub(super) summed: Vec<f64>,
    /// Share of pages valid at each edge, and its integral.
    pub(super) survival: Vec<f64>,
    pub(super) lived: Vec<f64>,
    /// Shape of the gamma law of frailty, in pages; and what it is derived from, fading.
    pub(super) shape: f64,
    spread: f64,
    squares: f64,
}

impl Curve {
    pub(super) fn new() -> Self {
        Curve {
            dead: vec![0.0; BINS],
            exposure: vec![0.0; BINS],
            hazard: vec![0.0; BINS],
            summed: vec![0.0; BINS + 1],
            survival: vec![1.0; BINS + 1],
            lived: vec![0.0; BINS + 1],
            shape: LEAST_SPREAD,
            spread: 0.0,
            squares: 0.0,
        }
    }

    pub(super) fn raw(&self, i: usize) -> (f64, f64) { (self.dead[i], self.exposure[i]) }

    /// Integral of the hazard between two ages.
    pub(super) fn between(&self, bins: &Bins, from: f64, to: f64) -> f64 {
        self.summed_at(bins, to) - self.summed_at(bins, from)
    }

    fn summed_at(&self, bins: &Bins, age: f64) -> f64 {
        let bin = bins.of(age);
        let within = (age - bins.edges[bin]) / (bins.edges[bin + 1] - bins.edges[bin]);
        self.summed[bin] + (self.summed[bin + 1] - self.summed[bin]) * within.min(1.0)
    }

    /// Takes note of how many pages died and how many should have.
    pub(super) fn sample(&mut self, died: f64, mean: f64) {
        self.spread += (died - mean) * (died - mean) - mean;
        self.squares += mean * mean;
    }

    /// Counts `died` pages, evenly between two ages, of `valid` on average.
    pub(super) fn count(&mut self, bins: &Bins, from: f64, to: f64, died: f64, valid: f64) {
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

    /// Lets counts fade, and derives hazard and survival from them.
    pub(super) fn refresh(&mut self, bins: &Bins, fade: f64, whole: Option<&Curve>, few: f64) {
        let (mut dead, mut exposure, mut used) = (0.0, 0.0, 0.0);
        for bin in 0..BINS {
            self.dead[bin] *= fade;
            self.exposure[bin] *= fade;
            dead += self.dead[bin];
            exposure += self.exposure[bin];
            used += f64::from(u8::from(self.exposure[bin] > 0.0));
        }
        if exposure <= 0.0 && whole.is_none() {
            return;
        }
        self.spread *= fade;
        self.squares *= fade;
        if self.squares > 0.0 {
            self.shape = (self.squares / self.spread.max(0.0)).clamp(1.0, LEAST_SPREAD);
        }
        let (mean, prior) = (dead / exposure, PRIOR * exposure / f64::max(used, 1.0));
        for bin in 0..BINS {
            let width = bins.edges[bin + 1] - bins.edges[bin];
            let hazard = match whole {
                None => (self.dead[bin] + prior * mean) / (self.exposure[bin] + prior),
                Some(whole) => {
                    let prior = prior.max(few);
                    (self.dead[bin] + prior * whole.hazard[bin]) / (self.exposure[bin] + prior)
                }
            };
            let step = hazard * width;
            self.hazard[bin] = hazard;
            self.summed[bin + 1] = (self.summed[bin] + step).min(MOST_HAZARD);
            self.survival[bin + 1] = (-self.summed[bin + 1]).exp();
            let (before, after) = (self.survival[bin], self.survival[bin + 1]);
            let mean_alive = if step > 1e-6 { (before - after) / step } else { before };
            self.lived[bin + 1] = self.lived[bin] + mean_alive * width;
        }
    }
}

/// What is expected of a reclaim unit after some waiting.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prospect {
    /// Host pages written meanwhile.
    pub(crate) wait: f64,
    /// Pages valid then.
    pub(crate) valid: f64,
    /// Integral of the valid pages over the waiting.
    pub(crate) lived: f64,
}

impl Curve {
    /// What is expected of `valid` pages of this age, at increasing times of waiting up to `horizon`:
    /// every bin at first, then ever fewer.
    pub(super) fn prospects(
        &self,
        bins: &Bins,
        age: f64,
        valid: f64,
        frailty: f64,
        horizon: f64,
        mut see: impl FnMut(Prospect),
    ) {
        let bin = bins.of(age);
        if bin == BINS - 1 {
            return;
        }
        // Integrated over bins: survival S = exp(-frailty * summed), its integral step by step.
        let before = self.summed_at(bins, age);
        let (mut edge, mut steps) = (bin + 1, 0);
        let (mut at, mut alive, mut lived) = (age, valid, 0.0);
        while edge < BINS {
            let wait = bins.edges[edge] - age;
            if wait > horizon {
                return;
            }
            let hazard = frailty * (self.summed[edge] - before);
            let then = valid * (-hazard).exp();
            // Exponential in between: the logarithmic mean.
            let ratio = then / alive;
            let mean = if ratio > 0.99 {
                (alive + then) / 2.0
            } else if ratio > 1e-9 {
                (then - alive) / ratio.ln()
            } else {
                alive / 20.0
            };
            lived += mean * (bins.edges[edge] - at);
            see(Prospect { wait, valid: then, lived });
            if hazard >= MOST_HAZARD {
                return;
            }
            (at, alive) = (bins.edges[edge], then);
            steps += 1;
            edge += 1 << (steps / 4).min(3);
        }
    }
}
