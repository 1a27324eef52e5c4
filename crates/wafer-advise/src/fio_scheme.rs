//! A placement map with as few ranges as fio reads.

use wafer_trace::PlaceMap;

use super::lives::Life;

/// Maximum number of ranges that fio reads from a `dp_scheme` file.
pub(super) const MOST: usize = 32;

/// Neighbouring ranges of a namespace that get one handle.
struct Run {
    namespace: u8,
    first: u64,
    end: u64,
    /// The handles that the map gives to parts of the run, and the lives there.
    parts: Vec<(u16, Life)>,
}

impl Run {
    /// Returns the handle that misplaces least, and the weight of what it misplaces. As elsewhere, data weighs as much
    /// as the geometric mean of its writes and its space.
    fn handle(&self) -> (u16, f64) {
        let weight = |life: &Life| (life.writes * life.space).sqrt();
        let all: f64 = self.parts.iter().map(|(_, life)| weight(life)).sum();
        let most = self.parts.iter().max_by(|a, b| weight(&a.1).total_cmp(&weight(&b.1)));
        most.map_or((0, 0.0), |(handle, life)| (*handle, all - weight(life)))
    }

    /// Returns how much more is misplaced if both get one handle.
    fn cost(&self, next: &Run) -> f64 {
        let ((ours, misplaced), (theirs, more)) = (self.handle(), next.handle());
        if ours == theirs { 0.0 } else { self.joined(next).handle().1 - misplaced - more }
    }

    fn joined(&self, next: &Run) -> Run {
        let mut parts = self.parts.clone();
        for (handle, life) in &next.parts {
            match parts.iter_mut().find(|(other, _)| other == handle) {
                Some((_, sum)) => sum.add(life),
                None => parts.push((*handle, *life)),
            }
        }
        Run { namespace: self.namespace, first: self.first, end: next.end, parts }
    }
}

/// Returns the map if fio can read it. Otherwise, joins neighbouring ranges until it can, always the two that misplace
/// least when joined. `lives` are those of granules of `granule` blocks.
pub(super) fn readable(map: &PlaceMap, lives: &[Life], granule: u64) -> PlaceMap {
    if map.len() <= MOST {
        return map.clone();
    }
    let mut runs: Vec<Run> = map
        .ranges()
        .map(|(namespace, first, end, handle)| {
            let mut life = Life::default();
            let end_granule = (end.div_ceil(granule) as usize).min(lives.len());
            lives[(first / granule) as usize..end_granule].iter().for_each(|part| life.add(part));
            Run { namespace, first, end, parts: vec![(handle, life)] }
        })
        .collect();
    while runs.len() > MOST {
        let costs: Vec<f64> = runs.windows(2).map(|pair| pair[0].cost(&pair[1])).collect();
        // Several at a time while there are many: the last ones, which matter most, are joined one by one.
        let mut left = runs.len() - MOST;
        let mut sorted = costs.clone();
        let (_, limit, _) = sorted.select_nth_unstable_by(left / 8, f64::total_cmp);
        let mut rest = runs.into_iter().zip(costs.into_iter().map(Some).chain([None])).peekable();
        runs = Vec::new();
        while let Some((run, cost)) = rest.next() {
            let joins = left > 0 && cost.is_some_and(|cost| cost <= *limit);
            match rest.next_if(|_| joins) {
                Some((next, _)) => {
                    runs.push(run.joined(&next));
                    left -= 1;
                }
                None => runs.push(run),
            }
        }
    }
    let mut joined = PlaceMap::default();
    for run in &runs {
        joined.add(run.namespace, run.first, run.end, run.handle().0);
    }
    joined
}
