//! When the host reaps completions: `iodepth_low` and `iodepth_batch_complete_min`.
//!
//! As in fio (`wait_for_completions`): once `iodepth` commands are in flight, the host waits for several completions
//! at a time, and submits again when few enough remain. Without these options it reaps every command as it completes.

use wafer_fio::job::Reaping;

/// The completions of a job that are unreaped, or reaped while their slots stay empty.
#[derive(Clone, Debug)]
pub(crate) struct Reaper {
    rule: Reaping,
    unreaped: u32,
    /// Reaped, but their slots stay empty until few enough are in flight.
    held: u32,
    waits: bool,
    /// All completions reaped so far.
    reaped: u64,
}

impl Reaper {
    pub(crate) fn new(rule: Reaping) -> Self {
        Reaper { rule, unreaped: 0, held: 0, waits: false, reaped: 0 }
    }

    /// Returns whether the host waits for completions.
    pub(crate) fn waits(&self) -> bool {
        self.waits
    }

    /// Returns how many completions the host has reaped.
    pub(crate) fn reaped(&self) -> u64 {
        self.reaped
    }

    /// Records a completion.
    pub(crate) fn completed(&mut self) {
        self.unreaped += 1;
    }

    /// Reaps what the host can, with `in_flight` commands in flight of at most `depth`. Returns the number of queue
    /// slots that become free.
    pub(crate) fn reap(&mut self, in_flight: u32, depth: u32) -> u32 {
        self.waits |= in_flight + self.unreaped >= depth;
        while self.waits {
            if self.unreaped < self.rule.least.min(in_flight + self.unreaped) {
                return 0;
            }
            self.take(self.unreaped);
            self.waits = in_flight + self.unreaped > self.rule.low;
        }
        if in_flight == 0 {
            // Before a pause, the host waits for all.
            self.take(self.unreaped);
        }
        std::mem::take(&mut self.held)
    }

    fn take(&mut self, completions: u32) {
        self.unreaped -= completions;
        self.held += completions;
        self.reaped += u64::from(completions);
    }
}
