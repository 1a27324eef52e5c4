//! Death times from the future, for a bound on placement.

use wafer_device::Geometry;
use wafer_interface::Op;

use super::log::Log;

/// The death time of each page write, if the traffic repeats forever.
pub(super) struct DeathTimes {
    /// Lifetime of each page write in order, in pages written; saturating.
    pub(super) remaining: Vec<u32>,
    /// Index into `remaining` of each command's first page.
    pub(super) first: Vec<u32>,
}

impl DeathTimes {
    pub(super) fn of(log: &Log, geometry: &Geometry) -> Self {
        let mut remaining: Vec<u32> = Vec::with_capacity(log.pages as usize);
        let mut first = Vec::with_capacity(log.commands.len());
        // The page write whose data each page holds: its number + 1.
        let mut holds = vec![0u32; geometry.logical_pages as usize];
        // Time at which each page is first written or deallocated in a pass.
        let mut earliest = vec![u32::MAX; geometry.logical_pages as usize];
        let most = u64::from(u32::MAX) - 1;
        let mut clock = 0u64;
        for command in &log.commands {
            first.push(remaining.len() as u32);
            for page in log.device_pages(command, geometry) {
                let page = page as usize;
                if page >= holds.len() {
                    if command.op == Op::Write {
                        remaining.push(u32::MAX);
                    }
                    continue;
                }
                if holds[page] > 0 {
                    let born = u64::from(holds[page] - 1);
                    remaining[born as usize] = clock.saturating_sub(born).min(most) as u32;
                }
                earliest[page] = earliest[page].min(clock.min(most) as u32);
                if command.op == Op::Write {
                    remaining.push(u32::MAX);
                    clock += 1;
                    holds[page] = remaining.len() as u32;
                } else {
                    holds[page] = 0;
                }
            }
        }
        // Pages valid at the end are invalidated in the next pass.
        for (page, held) in holds.iter().enumerate().filter(|(_, h)| **h > 0) {
            let born = u64::from(held - 1);
            let death = clock + u64::from(earliest[page]);
            remaining[born as usize] = death.saturating_sub(born).min(most) as u32;
        }
        DeathTimes { remaining, first }
    }

    /// Returns class bounds of remaining lifetime to try: equal parts of the writes, equal ratios, steps
    /// of one reclaim unit, and equal widths.
    pub(super) fn classes(
        &self,
        handles: usize,
        geometry: &Geometry,
    ) -> Vec<(&'static str, Vec<u64>)> {
        let mut sorted: Vec<u32> = self
            .remaining
            .iter()
            .step_by((self.remaining.len() / 1_000_000).max(1))
            .copied()
            .collect();
        sorted.sort_unstable();
        let at = |share: f64| {
            u64::from(sorted[((share * sorted.len() as f64) as usize).min(sorted.len() - 1)])
        };
        let parts = (1..handles).map(|i| at(i as f64 / handles as f64)).collect();
        let (low, high) = (at(0.02).max(1) as f64, at(0.98).max(2) as f64);
        let ratio = |i: usize| low * (high / low).powf(i as f64 / handles as f64);
        let ratios = (1..handles).map(|i| ratio(i) as u64).collect();
        let step = u64::from(geometry.pages_per_ru);
        let steps = (1..handles as u64).map(|i| i * step).collect();
        // Equal widths over most of the range.
        let widths = (1..handles).map(|i| (high * i as f64 / handles as f64) as u64).collect();
        vec![
            ("equal parts", parts),
            ("equal ratios", ratios),
            ("steps of a reclaim unit", steps),
            ("equal widths", widths),
        ]
    }
}
