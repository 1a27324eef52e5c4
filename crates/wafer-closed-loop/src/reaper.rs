//! When the host takes notice of completions: `iodepth_low`, `iodepth_batch_complete_min` and `_max`.
//!
//! As fio does (`wait_for_completions`): it looks once `iodepth` commands are in flight, waits for so many completions at a
//! time, and submits again when few enough are left. Without these options it looks whenever a command completes.

use wafer_fio::job::Reaping;

/// The completions of a job that the host has not taken notice of.
#[derive(Clone, Debug)]
pub(crate) struct Reaper {
    rule: Reaping,
    /// Commands that have completed, unseen.
    completed: u32,
    /// Those seen whose places stay empty until few enough are in flight.
    seen: u32,
    waits: bool,
    /// All that the host has ever taken notice of.
    reaped: u64,
}

impl Reaper {
    pub(crate) fn new(rule: Reaping) -> Self {
        Reaper { rule, completed: 0, seen: 0, waits: false, reaped: 0 }
    }

    /// Returns whether the host waits for completions.
    pub(crate) fn waits(&self) -> bool {
        self.waits
    }

    /// Returns the completions that the host has taken notice of.
    pub(crate) fn reaped(&self) -> u64 {
        self.reaped
    }

    /// Notes that a command has completed.
    pub(crate) fn completed(&mut self) {
        self.completed += 1;
    }

    /// Looks for completions beside so many commands that are in flight, of `depth` that may be. Returns the places of the
    /// queue that become free.
    pub(crate) fn look(&mut self, in_flight: u32, depth: u32) -> u32 {
        self.waits |= in_flight + self.completed >= depth;
        while self.waits {
            if self.completed < self.rule.least.min(in_flight + self.completed) {
                return 0;
            }
            let seen = self.completed.min(self.rule.most);
            self.see(seen);
            self.waits = in_flight + self.completed > self.rule.low;
        }
        if in_flight == 0 {
            // Before a pause the host waits for all.
            self.see(self.completed);
        }
        std::mem::take(&mut self.seen)
    }

    fn see(&mut self, completions: u32) {
        self.completed -= completions;
        self.seen += completions;
        self.reaped += u64::from(completions);
    }
}
