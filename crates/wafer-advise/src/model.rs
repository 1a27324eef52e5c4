//! Groups by calculation: the clusters that can share a handle with the least relocation.
//!
//! # Method
//! Lifetimes of a cluster follow a Weibull distribution with its mean and spread. (The standard deviation
//! of the logarithm of a Weibull variable of shape `c` is 1.28 / `c`: 1 is exponential, large shapes are
//! nearly constant.) A group's reclaim units are collected `t` after they were written, oldest first. Pages
//! that live longer than `t` are then relocated, and again after each further `t`. A group that writes `h`
//! pages per host page therefore appends `h (1 + S(t) + S(2t) + ...)` pages, where `S` is the share of
//! longer lives, and occupies `t` times as many pages. For one exponential cluster this is the known result
//! for first-in-first-out collection (Desnoyers, "Analytic models of SSD write performance", 2014). Groups
//! share the drive as under greedy collection: each is collected at the same share of valid pages.
//!
//! The two clusters whose union costs least are joined until few enough are left. Then single clusters
//! change groups while that reduces the cost. The model only proposes groups to simulate: drives that
//! relocate all groups to one reclaim unit deviate from it, and so do other collection policies.

use wafer_device::Geometry;

use super::lives::{EXPONENTIAL, Life};

/// Number of ages at which survival is computed.
const STEPS: usize = 96;
/// Bisection steps for the share of valid pages at which groups are collected.
const HALVINGS: usize = 24;

/// The relocation cost of clusters that share handles.
pub(super) struct Model {
    /// Ages in geometric progression.
    ages: Vec<f64>,
    /// Host and relocated pages of each cluster.
    clusters: Vec<Rates>,
    /// Pages of the drive, and of a reclaim unit.
    physical: f64,
    unit: f64,
}

#[derive(Clone)]
struct Rates {
    host: f64,
    relocated: Vec<f64>,
}

impl Rates {
    fn nothing() -> Self {
        Rates { host: 0.0, relocated: vec![0.0; STEPS] }
    }

    fn add(&mut self, other: &Rates) {
        self.host += other.host;
        for (sum, more) in self.relocated.iter_mut().zip(&other.relocated) {
            *sum += more;
        }
    }

    /// Returns the appended pages and the space they occupy, if collected at the youngest age at which
    /// at most the share `valid` is valid.
    fn at(&self, valid: f64, ages: &[f64]) -> (f64, f64) {
        let most = self.host * valid / (1.0 - valid);
        let step = self.relocated.partition_point(|r| *r > most);
        if step == 0 || step == STEPS {
            let step = step.min(STEPS - 1);
            let appended = self.host + self.relocated[step];
            return (appended, appended * ages[step]);
        }
        let (before, after) = (self.relocated[step - 1], self.relocated[step]);
        let part = (before - most) / (before - after).max(1e-300);
        let age = ages[step - 1] * (ages[step] / ages[step - 1]).powf(part);
        (self.host + most, (self.host + most) * age)
    }
}

/// Returns Gamma(1 + x) for 0 <= x <= 3 (Abramowitz and Stegun 6.1.36).
fn gamma_plus_one(x: f64) -> f64 {
    const B: [f64; 8] = [
        -0.577_191_652,
        0.988_205_891,
        -0.897_056_937,
        0.918_206_857,
        -0.756_704_078,
        0.482_199_394,
        -0.193_527_818,
        0.035_868_343,
    ];
    if x > 1.0 {
        return x * gamma_plus_one(x - 1.0);
    }
    1.0 + x * B.iter().rev().fold(0.0, |sum, b| sum * x + b)
}

/// Returns the sum of the survival at all multiples of `age`, for lives of this mean and shape.
fn survivals(age: f64, mean: f64, shape: f64) -> f64 {
    let scale = mean / gamma_plus_one(1.0 / shape);
    if age < 0.01 * scale {
        // As an integral: the mean divided by the step, minus half of the first term.
        return mean / age - 0.5;
    }
    let mut sum = 0.0;
    for multiple in 1..=1000 {
        let share = (-(f64::from(multiple) * age / scale).powf(shape)).exp();
        sum += share;
        if share < 1e-6 {
            break;
        }
    }
    sum
}

impl Model {
    /// Returns the model of clusters whose lifetimes were learned over `clock` host pages.
    pub(super) fn new(clusters: &[Life], clock: f64, geometry: &Geometry) -> Self {
        let unit = f64::from(geometry.pages_per_ru);
        let longest = clusters.iter().map(Life::mean).fold(unit, f64::max);
        let ratio = (4.0 * longest / (unit / 64.0)).powf(1.0 / (STEPS - 1) as f64);
        let ages: Vec<f64> = (0..STEPS).map(|i| unit / 64.0 * ratio.powi(i as i32)).collect();
        let rates = clusters
            .iter()
            .map(|life| {
                let mean = life.mean();
                let shape = (EXPONENTIAL / life.spread().max(0.05)).clamp(0.4, 24.0);
                // Pages written only once do not count towards the rate.
                let host = (life.writes / clock.max(1.0)).min(life.space / mean);
                let relocated = ages.iter().map(|t| host * survivals(*t, mean, shape)).collect();
                Rates { host, relocated }
            })
            .collect();
        let physical = f64::from(geometry.ru_count) * unit;
        Model { ages, clusters: rates, physical, unit }
    }

    /// Returns the write amplification of groups.
    fn cost(&self, groups: &[Rates]) -> f64 {
        // Each group, and relocation, has a half-full open reclaim unit.
        let space = self.physical - 0.5 * self.unit * (groups.len() + 1) as f64;
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..HALVINGS {
            let valid = 0.5 * (low + high);
            let taken: f64 = groups.iter().map(|g| g.at(valid, &self.ages).1).sum();
            if taken > space {
                low = valid;
            } else {
                high = valid;
            }
        }
        let host: f64 = groups.iter().map(|g| g.host).sum();
        groups.iter().map(|g| g.at(high, &self.ages).0).sum::<f64>() / host.max(1e-300)
    }

    fn rates(&self, members: impl Iterator<Item = usize>) -> Rates {
        members.fold(Rates::nothing(), |mut sum, member| {
            sum.add(&self.clusters[member]);
            sum
        })
    }

    /// Returns the group of each cluster, for each number of groups in `counts` that is reached.
    pub(super) fn groups(&self, counts: &[usize]) -> Vec<Vec<u16>> {
        let mut of: Vec<usize> = (0..self.clusters.len()).collect();
        let mut groups = self.clusters.clone();
        let mut found = Vec::new();
        loop {
            if counts.contains(&groups.len()) {
                found.push(self.improved(of.clone(), groups.len()));
            }
            if groups.len() <= 2 {
                return found;
            }
            let mut best = (f64::INFINITY, 0, 1);
            for a in 0..groups.len() {
                for b in a + 1..groups.len() {
                    let mut joined = groups.clone();
                    let other = joined.swap_remove(b);
                    joined[a].add(&other);
                    let cost = self.cost(&joined);
                    if cost < best.0 {
                        best = (cost, a, b);
                    }
                }
            }
            let (_, a, b) = best;
            let other = groups.swap_remove(b);
            groups[a].add(&other);
            let last = groups.len();
            for group in &mut of {
                if *group == b {
                    *group = a;
                } else if *group == last {
                    *group = b;
                }
            }
        }
    }

    /// Moves clusters to other groups while that reduces the cost.
    fn improved(&self, mut of: Vec<usize>, count: usize) -> Vec<u16> {
        let groups = |of: &[usize]| -> Vec<Rates> {
            (0..count).map(|g| self.rates((0..of.len()).filter(|m| of[*m] == g))).collect()
        };
        let mut cost = self.cost(&groups(&of));
        for _ in 0..4 {
            let before = cost;
            for member in 0..of.len() {
                for group in 0..count {
                    let was = of[member];
                    if group == was || !of.iter().enumerate().any(|(m, g)| *g == was && m != member)
                    {
                        continue;
                    }
                    of[member] = group;
                    let now = self.cost(&groups(&of));
                    if now < cost - 1e-9 {
                        cost = now;
                    } else {
                        of[member] = was;
                    }
                }
            }
            if cost > before - 1e-6 {
                break;
            }
        }
        of.into_iter().map(|group| group as u16).collect()
    }
}
