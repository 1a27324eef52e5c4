//! The one interface of everything that writes: a stream of commands.

use wafer_core::Command;

/// A source of commands, pulled in batches by whoever drives the device.
///
/// Deterministic: the same construction arguments give the same commands, however they are
/// batched. A stream owns its random numbers.
pub trait CommandStream: Send {
    /// Appends up to `max` commands to `out`; fewer than `max` (possibly none) only at its end.
    fn fill(&mut self, out: &mut Vec<Command>, max: usize);

    /// What the application behind the stream counted so far: hit ratios, its own write
    /// amplification. Nothing for a stream without an application.
    fn figures(&self) -> Vec<Figure> {
        Vec::new()
    }
}

/// A figure that an application counts of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Whose, where several applications share a device; empty for the only one.
    pub tenant: String,
    /// Name in lower case with underscores, such as "hit_ratio".
    pub name: String,
    /// Value.
    pub value: f64,
    /// Unit; empty for a ratio.
    pub unit: String,
    /// One line on what it means.
    pub meaning: String,
}
