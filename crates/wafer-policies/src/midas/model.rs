//! Predicts what a chain of groups relocates from how long pages stay valid: the paper's Markov chain (MCAM), and the
//! search for the chain that relocates least.
//!
//! Time is counted in host pages written to the device. Pages that are written at the rate w and stay for a time t take
//! w t pages of space, and w S(t) of them move on, where S is the share still valid after t. That is the rate at which
//! the next group is written. The last groups of all chains form one pool, which is collected greedily: its utilisation
//! u gives the valid share v of its victims as for uniform traffic, u = (v - 1) / ln v (closed form T3), and it
//! relocates v / (1 - v) pages for each page that enters.

use wafer_survival::{BINS, Bins, Curve};

/// Groups that hosts write to: short-lived data, and all other data.
pub(super) const HEADS: usize = 2;
/// Groups of a chain: those, and four for relocated data.
pub(super) const GROUPS: usize = HEADS + 4;
/// Maximum utilisation of a pool; a fuller one hardly yields space.
const FULLEST: f64 = 0.985;
/// Bins of age between times to try.
const STEP: usize = 4;
/// Number of passes over each chain.
const ROUNDS: usize = 3;
/// Minimum share by which a change of a plan must reduce relocation.
const LEAST_GAIN: f64 = 0.002;

/// The lifetimes of a handle's pages.
pub(super) struct Life<'a> {
    pub(super) bins: &'a Bins,
    pub(super) all: &'a Curve,
    pub(super) heads: &'a [Curve; HEADS],
    /// Pages written for each host page of the device.
    pub(super) writes: [f64; HEADS],
    /// Groups that may have a time, and their current times.
    pub(super) may: [bool; GROUPS],
    pub(super) times: [Option<f64>; GROUPS],
}

/// A group with a time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Part {
    /// Host pages written to the device during that time, and pages of space that the group takes.
    pub(super) time: f64,
    pub(super) pages: f64,
    /// Share of its pages that is valid when they leave.
    pub(super) leaving: f64,
}

/// How long pages stay in each group; `None` for a last group, which is collected greedily.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Plan {
    times: [Option<f64>; GROUPS],
    pub(super) parts: [Option<Part>; GROUPS],
    sums: Sums,
}

/// For one chain or all: space and valid pages of the groups with a time, and pages relocated by them and pages
/// entering the pool per host page.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sums {
    pages: f64,
    valid: f64,
    relocated: f64,
    entering: f64,
}

impl Sums {
    fn plus(self, other: Sums) -> Sums {
        Sums {
            pages: self.pages + other.pages,
            valid: self.valid + other.valid,
            relocated: self.relocated + other.relocated,
            entering: self.entering + other.entering,
        }
    }

    fn times(self, by: f64) -> Sums {
        let Sums { pages, valid, relocated, entering } = self;
        Sums {
            pages: pages * by,
            valid: valid * by,
            relocated: relocated * by,
            entering: entering * by,
        }
    }

    /// Returns the pages relocated per host page, given `pages` of space and `valid` valid pages.
    fn cost(&self, pages: f64, valid: f64) -> f64 {
        let (space, held) = (pages - self.pages, (valid - self.valid).max(0.0));
        if space <= 0.0 || held > FULLEST * space {
            return f64::INFINITY;
        }
        let v = greedy_victims(held / space);
        self.relocated + self.entering * v / (1.0 - v)
    }
}

/// Returns the valid share of greedy's victims at a utilisation, by bisection of u = (v - 1) / ln v.
fn greedy_victims(utilisation: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..40 {
        let v: f64 = f64::midpoint(low, high);
        if (v - 1.0) / v.ln() < utilisation { low = v } else { high = v }
    }
    low
}

impl Life<'_> {
    /// Returns the share of pages valid at an age, and the integral of that share up to it.
    fn at(&self, curve: &Curve, age: f64) -> (f64, f64) {
        let bin = self.bins.of(age);
        let (start, end) = (self.bins.edges[bin], self.bins.edges[bin + 1]);
        let within = ((age - start) / (end - start)).clamp(0.0, 1.0);
        let between = |of: &[f64]| of[bin] + (of[bin + 1] - of[bin]) * within;
        ((-between(&curve.summed)).exp(), between(&curve.lived))
    }

    /// Returns the current times of groups that may have one and that others feed.
    fn allowed(&self) -> [Option<f64>; GROUPS] {
        let mut times = [None; GROUPS];
        for group in 0..GROUPS {
            if self.may[group] && self.feeds(&times, group) {
                times[group] = self.times[group];
            }
        }
        times
    }

    /// Returns whether a group gets pages, given these times: a group of relocated data needs the one before it.
    fn feeds(&self, times: &[Option<f64>; GROUPS], group: usize) -> bool {
        match group {
            0..HEADS => self.writes[group] > 0.0,
            HEADS => times[..HEADS].iter().any(Option::is_some),
            _ => times[group - 1].is_some(),
        }
    }

    /// Returns the plan that follows from the times.
    fn fill(&self, times: [Option<f64>; GROUPS]) -> Plan {
        let mut plan = Plan { times, ..Plan::default() };
        let (mut rate, mut ages) = (0.0, 0.0);
        for (group, time) in times.into_iter().enumerate().take(HEADS) {
            let written = self.writes[group];
            match time {
                None => plan.sums.entering += written,
                Some(time) => {
                    let (leaving, lived) = self.at(&self.heads[group], time);
                    plan.add(group, written, time, leaving, lived);
                    rate += written * leaving;
                    ages += written * leaving * time;
                }
            }
        }
        let mut age = if rate > 0.0 { ages / rate } else { 0.0 };
        for (group, time) in times.into_iter().enumerate().skip(HEADS) {
            let Some(time) = time.filter(|_| rate > 0.0) else { break };
            let (now, then) = (self.at(self.all, age), self.at(self.all, age + time));
            let leaving = then.0 / now.0.max(1e-9);
            plan.add(group, rate, time, leaving, (then.1 - now.1) / now.0.max(1e-9));
            (rate, age) = (rate * leaving, age + time);
        }
        plan.sums.entering += rate;
        plan
    }
}

impl Plan {
    fn add(&mut self, group: usize, rate: f64, time: f64, leaving: f64, lived: f64) {
        let pages = rate * time;
        self.parts[group] = Some(Part { time, pages, leaving });
        let valid = rate * lived;
        let relocated = rate * leaving;
        self.sums = self.sums.plus(Sums { pages, valid, relocated, entering: 0.0 });
    }
}

/// Returns the plan of each chain that relocates least, found by changing the current times one group after the other.
/// Closed reclaim units have `pages` pages, `valid` of them valid.
pub(super) fn search(lives: &[Option<Life<'_>>], pages: f64, valid: f64) -> Vec<Plan> {
    let mut plans: Vec<Plan> = (lives.iter())
        .map(|life| life.as_ref().map_or_else(Plan::default, |life| life.fill(life.allowed())))
        .collect();
    let mut total = plans.iter().fold(Sums::default(), |sum, plan| sum.plus(plan.sums));
    let mut cost = total.cost(pages, valid);
    for _ in 0..ROUNDS {
        let before = cost;
        for (life, plan) in lives.iter().zip(&mut plans) {
            let Some(life) = life else { continue };
            for group in 0..GROUPS {
                if !life.may[group] || !life.feeds(&plan.times, group) {
                    continue;
                }
                for edge in (0..BINS).step_by(STEP) {
                    let mut times = plan.times;
                    times[group] = (edge > 0).then(|| life.bins.edges[edge]);
                    let tried = life.fill(times);
                    let sums = total.plus(plan.sums.times(-1.0)).plus(tried.sums);
                    let costs = sums.cost(pages, valid);
                    if costs < cost * (1.0 - LEAST_GAIN) || cost.is_infinite() && costs.is_finite()
                    {
                        (*plan, total, cost) = (tried, sums, costs);
                    }
                }
            }
        }
        if cost >= before * (1.0 - LEAST_GAIN) {
            break;
        }
    }
    plans
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGES: f64 = 1e5;

    #[test]
    fn victims_solve_the_closed_form() {
        for v in [0.1, 0.5, 0.9_f64] {
            assert!((greedy_victims((v - 1.0) / v.ln()) - v).abs() < 1e-9, "{v}");
        }
    }

    /// Returns the curve of pages with exponential lifetimes, given as shares and mean lifetimes.
    fn curve(bins: &Bins, parts: &[(f64, f64)]) -> Curve {
        let alive =
            |t: f64| parts.iter().map(|(share, life)| share * (-t / life).exp()).sum::<f64>();
        let mut curve = Curve::new();
        for edge in bins.edges.windows(2) {
            let (now, then) = (alive(edge[0]), alive(edge[1]));
            let mean = f64::midpoint(now, then);
            // Enough to leave something to count at every age.
            let count = 1e9 / mean.max(1e-12);
            curve.count(bins, edge[0], edge[1], (now - then) * count, mean * count);
        }
        curve.refresh_as_seen(bins, 1.0, None);
        curve
    }

    /// Returns the plan for one class of such pages, its cost, and the cost of greedy.
    fn planned(parts: &[(f64, f64)]) -> (Plan, f64, f64) {
        let bins = Bins::new(100);
        let all = curve(&bins, parts);
        let heads = [Curve::new(), all.clone()];
        let (writes, may, times) = ([0.0, 1.0], [true; GROUPS], [None; GROUPS]);
        let life = Life { bins: &bins, all: &all, heads: &heads, writes, may, times };
        let valid = 0.88 * PAGES;
        let greedy = life.fill(times).sums.cost(PAGES, valid);
        let [plan] = <[Plan; 1]>::try_from(search(&[Some(life)], PAGES, valid)).unwrap();
        let cost = plan.sums.cost(PAGES, valid);
        (plan, cost, greedy)
    }

    #[test]
    fn pages_that_all_live_alike_need_no_groups() {
        let (_, cost, greedy) = planned(&[(1.0, 0.88 * PAGES)]);
        assert!(cost > 0.97 * greedy, "{cost} {greedy}");
    }

    #[test]
    fn short_lives_are_waited_for_and_what_is_left_moves_on() {
        // Nine tenths of the writes go to a hundredth of the pages.
        let (plan, cost, greedy) = planned(&[(0.9, 0.0098 * PAGES), (0.1, 8.7 * PAGES)]);
        let part = plan.parts[1].unwrap();
        let alive = |t: f64| 0.9 * (-t / (0.0098 * PAGES)).exp() + 0.1 * (-t / (8.7 * PAGES)).exp();
        assert!((part.leaving - alive(part.time)).abs() < 0.01, "{part:?}");
        assert!((part.pages - part.time).abs() < 1e-6 && cost < 0.3 * greedy, "{cost} {greedy}");
    }

    #[test]
    fn a_plan_that_leaves_the_pool_no_space_has_no_cost() {
        let sums = Sums { pages: 0.2 * PAGES, ..Sums::default() };
        assert!(sums.cost(PAGES, 0.88 * PAGES).is_infinite());
    }
}
