//! The one interface of everything that writes: a stream of commands.

use wafer_core::{Command, NsId, Placement};

/// A source of commands, pulled in batches by whoever drives the device.
///
/// Deterministic: the same construction arguments give the same commands, however they are
/// batched. A stream owns its random numbers.
pub trait CommandStream: Send {
    /// Appends up to `max` commands to `out`; fewer than `max` (possibly none) only at its end, or before an
    /// update where [`Self::heed_updates`] was called.
    ///
    /// An application that was not loaded with [`Self::fill_load`] loads first.
    fn fill(&mut self, out: &mut Vec<Command>, max: usize);

    /// Appends up to `max` commands of an application's load: the data that it has before its work
    /// begins. Fewer than `max` only when it is loaded; none for a stream without a load.
    fn fill_load(&mut self, _out: &mut Vec<Command>, _max: usize) {}

    /// [`Self::fill`] with the time of each command's arrival, nanoseconds from a common start,
    /// appended to `times`; a request of several commands stays whole and may exceed `max`. False,
    /// and nothing appended, for a stream that knows no times.
    fn fill_timed(&mut self, _out: &mut Vec<Command>, _times: &mut Vec<u64>, _max: usize) -> bool {
        false
    }

    /// Says that whoever pulls asks for [`Self::take_update`] after each [`Self::fill`], which then ends
    /// early before a reclaim unit update.
    fn heed_updates(&mut self) {}

    /// A reclaim unit update (I/O Management Send) that comes before the next command.
    fn take_update(&mut self) -> Option<(NsId, Placement)> {
        None
    }

    /// Whether placements are placement identifiers of the device that the stream was made for, rather than
    /// indices into the list of those that a namespace has. With one reclaim group they are the same.
    fn has_identifiers(&self) -> bool {
        false
    }

    /// Commands that the host keeps in flight: weighs streams against each other in a closed loop.
    fn queue_depth(&self) -> u32 {
        1
    }

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

impl Figure {
    /// A figure of an application that does not know of tenants.
    pub fn new(name: &str, value: f64, unit: &str, meaning: &str) -> Self {
        Figure {
            tenant: String::new(),
            name: name.to_owned(),
            value,
            unit: unit.to_owned(),
            meaning: meaning.to_owned(),
        }
    }
}
