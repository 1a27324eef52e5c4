//! Detects, between comparisons, that the device relocates far more than its miniatures predict.

use serde::{Deserialize, Serialize};
use wafer_interface::Counters;

/// Number of windows between two comparisons.
const WINDOWS: u64 = 4;
/// Number of checks per window. A failing policy can relocate the whole device while the host writes a hundredth as
/// much.
const CHECKS: u64 = 8;
/// Ratio to the media writes of another arrangement above which the device writes too much.
const TOO_MANY: f64 = 1.5;

/// The counts at the start of the window.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Guard {
    /// Host pages of the miniatures, and pages relocated by each.
    pub(super) host: u64,
    pub(super) relocated: Vec<u64>,
    /// Host pages and relocated pages of the device.
    own: (u64, u64),
    /// Host pages of the miniatures at the last check.
    pub(super) checked: u64,
    /// Host pages of the miniatures before which the guard does not act, because the initial cost of a change is not
    /// representative.
    rests: u64,
}

impl Guard {
    /// Creates a guard that does not act for the first `rests` host pages of the miniatures.
    pub(super) fn new(miniatures: usize, rests: u64) -> Guard {
        Guard { host: 0, relocated: vec![0; miniatures], own: (0, 0), checked: 0, rests }
    }

    /// Returns the host pages of the miniatures at the next check. `interval` is the number between comparisons.
    pub(super) fn due(&self, interval: u64) -> u64 {
        self.checked + (interval / WINDOWS / CHECKS).max(1)
    }

    /// Pauses the guard after a change at this many host pages of the miniatures.
    pub(super) fn rest(&mut self, now: u64, interval: u64) {
        self.rests = self.rests.max(now + interval);
    }

    /// Returns which of `others` to change to, if the device has written too much compared with it even for a whole
    /// window. `expected` is the number of pages that an arrangement relocates per host page, by earlier observations;
    /// `sampled` is the number of device pages per page of a miniature.
    pub(super) fn check(
        &mut self,
        device: &Counters,
        miniatures: &[Counters],
        (interval, sampled): (u64, u64),
        others: impl Iterator<Item = usize>,
        expected: impl Fn(usize) -> f64,
    ) -> Option<usize> {
        let window = (interval / WINDOWS).max(1);
        let host = miniatures[0].host_pages;
        self.checked = host;
        // The counters of the device may have been reset since then.
        let own = device.host_pages.saturating_sub(self.own.0);
        let relocated = device.relocated_pages.saturating_sub(self.own.1);
        let written = (own + relocated) as f64 / own.max(window * sampled) as f64;
        // An arrangement that did well before may do badly now.
        let since = (host - self.host).max(window) as f64;
        let other = |at: usize| {
            let now = (miniatures[at].relocated_pages - self.relocated[at]) as f64 / since;
            1.0 + now.max(expected(at))
        };
        let best = others.map(|at| (at, other(at))).min_by(|a, b| a.1.total_cmp(&b.1));
        if host - self.host >= window {
            self.host = host;
            self.own = (device.host_pages, device.relocated_pages);
            self.relocated = miniatures.iter().map(|of| of.relocated_pages).collect();
        }
        let (at, least) = best?;
        (host >= self.rests && written > TOO_MANY * least).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(host_pages: u64, relocated_pages: u64) -> Counters {
        Counters { host_pages, relocated_pages, ..Counters::default() }
    }

    /// Checks after each of 64 steps of four miniature pages, and returns the steps with a change. In the last
    /// `failing` steps, the device relocates `pages` pages for each host page.
    fn changes(failing: u64, pages: u64, rests: u64) -> Vec<u64> {
        const INTERVAL: u64 = 4 * 32;
        let mut guard = Guard::new(2, rests);
        let (mut device, mut small) = (counts(0, 0), [counts(0, 0), counts(0, 0)]);
        let mut changes = Vec::new();
        for step in 1..=64 {
            device.host_pages += 8;
            device.relocated_pages += if step > 64 - failing { 8 * pages } else { 8 };
            for miniature in &mut small {
                miniature.host_pages += 4;
                miniature.relocated_pages += 4;
            }
            assert_eq!(guard.due(INTERVAL), 4 * step);
            let found = guard.check(&device, &small, (INTERVAL, 2), [1].into_iter(), |_| 1.0);
            if found.is_some() {
                assert_eq!(found, Some(1));
                changes.push(step);
            }
        }
        changes
    }

    #[test]
    fn a_device_like_its_miniatures_keeps_its_arrangement() {
        assert!(changes(0, 0, 0).is_empty());
        assert!(changes(32, 2, 0).is_empty(), "not more than one and a half times as much");
    }

    #[test]
    fn failing_shows_once_it_is_more_than_a_whole_window_may_cost() {
        // A window has eight steps, or 64 pages of the device, for which writing 192 is too much. Here, each step
        // writes 72.
        assert_eq!(changes(16, 8, 0)[0], 64 - 16 + 3);
        assert_eq!(changes(16, 200, 0)[0], 64 - 16 + 1);
        // With 32 per step, the window has to end first.
        assert_eq!(changes(16, 3, 0)[0], 64 - 16 + 7);
    }

    #[test]
    fn it_rests() {
        assert_eq!(changes(16, 200, 4 * 52)[0], 52);
        let mut guard = Guard::new(1, 7);
        guard.rest(3, 2);
        assert_eq!(guard.rests, 7);
        guard.rest(9, 2);
        assert_eq!(guard.rests, 11);
    }
}
