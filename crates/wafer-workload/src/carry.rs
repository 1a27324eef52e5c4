//! What was generated beyond the end of a batch and waits for the next one.

use wafer_core::Command;

/// Commands that wait.
#[derive(Clone, Debug, Default)]
pub(crate) struct Carry {
    waiting: Vec<Command>,
    taken: usize,
}

impl Carry {
    /// Moves what waits to `out`, until it has `end`.
    pub(crate) fn take(&mut self, out: &mut Vec<Command>, end: usize) {
        let n = (self.waiting.len() - self.taken).min(end.saturating_sub(out.len()));
        out.extend_from_slice(&self.waiting[self.taken..self.taken + n]);
        self.taken += n;
    }

    /// Keeps what `out` has beyond `end`. Nothing may wait any more.
    pub(crate) fn keep(&mut self, out: &mut Vec<Command>, end: usize) {
        if out.len() > end {
            assert_eq!(self.taken, self.waiting.len(), "commands would be lost");
            self.waiting.clear();
            self.taken = 0;
            self.waiting.extend_from_slice(&out[end..]);
            out.truncate(end);
        }
    }
}
