//! The policies without memory: they use only what they see.
//!
//! Source: `docs/reference/policies.md` and the papers named there. Of the P pages of a reclaim unit V are valid, and u
//! = V / P. At a tie the first candidate wins, unless the rule says otherwise.

use std::cmp::Reverse;

use wafer_device::GcConfig;
use wafer_interface::RuId;

use crate::policy::{Candidate, Policy, View};
use crate::random::Random;

/// Returns the policy that a configuration names, if it is one of these.
pub fn named(gc: &GcConfig) -> Option<Box<dyn Policy>> {
    let (choices, window) = (gc.choices, gc.window);
    Some(match gc.policy.as_str() {
        "greedy" => rule(|view, _| view.candidates.iter().min_by_key(|c| c.valid)),
        "fifo" => rule(|view, _| view.candidates.iter().min_by_key(|c| c.closed_order)),
        "random" => rule(draw),
        "d-choices" => rule(move |view, random| {
            let drawn: Vec<_> = (0..choices).filter_map(|_| draw(view, random)).collect();
            drawn.into_iter().min_by_key(|c| c.valid)
        }),
        "windowed-greedy" => rule(move |view, _| windowed(view, window)),
        "2r" => rule(|view, _| two_regions(view)),
        "cost-benefit" => rule(|view, _| cost_benefit(view)),
        "cost-age-time" => rule(|view, _| cost_age_time(view)),
        _ => return None,
    })
}

struct Rule<F>(F);

impl<F> Policy for Rule<F>
where
    F: for<'a> FnMut(&'a View, &mut Random) -> Option<&'a Candidate>,
{
    fn select(&mut self, view: &View, random: &mut Random) -> Option<RuId> {
        self.0(view, random).map(|candidate| candidate.ru)
    }
}

fn rule<F>(choose: F) -> Box<dyn Policy>
where
    F: for<'a> FnMut(&'a View, &mut Random) -> Option<&'a Candidate> + 'static,
{
    Box::new(Rule(choose))
}

/// Draws a candidate uniformly: the first of at most 64 random numbers of the group that names one. If none does, one
/// of the list of candidates.
fn draw<'a>(view: &'a View, random: &mut Random) -> Option<&'a Candidate> {
    for _ in 0..64 {
        let drawn = RuId(view.group.start + random.below(view.group.len() as u32));
        if let Some(candidate) = view.candidates.iter().find(|c| c.ru == drawn) {
            return Some(candidate);
        }
    }
    let count = view.candidates.len() as u32;
    (count > 0).then(|| &view.candidates[random.below(count) as usize])
}

/// Returns the candidate with the fewest valid pages among the fraction closed first, at least one; at a tie, the
/// older.
fn windowed(view: &View, window: f64) -> Option<&Candidate> {
    let mut oldest: Vec<_> = view.candidates.iter().collect();
    oldest.sort_by_key(|c| c.closed_order);
    let count = (oldest.len() as f64 * window) as usize;
    oldest.into_iter().take(count.max(1)).min_by_key(|c| c.valid)
}

/// Returns the oldest of the first 7/10 with u below 0.50, else below 0.55, and so on.
fn two_regions(view: &View) -> Option<&Candidate> {
    let mut oldest: Vec<_> = view.candidates.iter().collect();
    oldest.sort_by_key(|c| c.closed_order);
    oldest.truncate((oldest.len() * 7 / 10).max(1));
    // Twentieths: u < n / 20.
    let below = |c: &&Candidate, n: u64| u64::from(c.valid) * 20 < n * u64::from(view.unit_pages);
    (10..=21).find_map(|n| oldest.iter().copied().find(|c| below(c, n)))
}

/// Returns the candidate with the largest (1 - u) (age + 1) / u, compared as fractions of integers; without valid pages
/// first.
fn cost_benefit(view: &View) -> Option<&Candidate> {
    view.candidates.iter().max_by(|a, b| {
        let gain = |c: &Candidate| u128::from(view.unit_pages - c.valid) * u128::from(c.age + 1);
        let (left, right) = (gain(a) * u128::from(b.valid), gain(b) * u128::from(a.valid));
        let empty = (a.valid == 0).cmp(&(b.valid == 0));
        // At a tie, `max_by` takes the last.
        empty.then(left.cmp(&right)).then(Reverse(a.ru).cmp(&Reverse(b.ru)))
    })
}

/// Returns the candidate with the smallest u / (1 - u) (erases + 1) / (age + 1); without valid pages first. Computed in
/// this order, as rounding breaks ties.
fn cost_age_time(view: &View) -> Option<&Candidate> {
    let score = |c: &Candidate| {
        let (valid, pages) = (f64::from(c.valid), f64::from(view.unit_pages));
        valid / (pages - valid) * f64::from(c.erases + 1) / (c.age + 1) as f64
    };
    view.candidates.iter().min_by(|a, b| score(a).total_cmp(&score(b)))
}
