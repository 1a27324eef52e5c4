//! The one interface of everything that writes: a stream of commands.

use wafer_core::Command;

/// A source of commands, pulled in batches by whoever drives the device.
///
/// Deterministic: the same construction arguments give the same commands, however they are
/// batched. A stream owns its random numbers.
pub trait CommandStream: Send {
    /// Appends up to `max` commands to `out`; fewer than `max` (possibly none) only at its end.
    fn fill(&mut self, out: &mut Vec<Command>, max: usize);
}
