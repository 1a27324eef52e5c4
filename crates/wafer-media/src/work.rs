//! The time that the parts of a drive spent working.

use crate::time::Time;

/// A kind of work of a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Programs data of the host.
    HostProgram,
    /// Programs relocated data.
    GcProgram,
    /// Programs metadata of the drive.
    MetadataProgram,
    /// Reads data to relocate or fold, the rest of a partly written page, or a part of the map.
    BackgroundRead,
    /// Erases a block.
    Erase,
    /// Reads for a host.
    HostRead,
    /// Programs data that leaves the SLC cache.
    FoldProgram,
}

/// All kinds of work, in the order of [`DieTimes`].
pub const WORKS: [Work; 7] = [
    Work::HostProgram,
    Work::GcProgram,
    Work::MetadataProgram,
    Work::BackgroundRead,
    Work::Erase,
    Work::HostRead,
    Work::FoldProgram,
];

/// Time that dies spent on each kind of work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DieTimes(pub [Time; WORKS.len()]);

impl DieTimes {
    pub(crate) fn add(&mut self, work: Work, length: Time) {
        self.0[work as usize] += length;
    }

    /// Returns these times minus `other`, at least 0.
    pub(crate) fn less(&self, other: &DieTimes) -> DieTimes {
        let mut rest = *self;
        rest.0.iter_mut().zip(other.0).for_each(|(own, other)| *own = own.saturating_sub(other));
        rest
    }

    /// Returns the time of one kind of work.
    pub fn of(&self, work: Work) -> Time {
        self.0[work as usize]
    }

    /// Returns the time of all work.
    pub fn busy(&self) -> Time {
        self.0.iter().sum()
    }
}

/// The work of the media since counting began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MediaCounts {
    /// Time of all dies together, by kind of work.
    pub dies: DieTimes,
    /// Bytes over the channels.
    pub channel_bytes: u64,
    /// Bytes over the link, both directions.
    pub link_bytes: u64,
    /// Bytes of metadata programmed.
    pub metadata_bytes: u64,
    /// Reads that the write buffer served.
    pub buffer_reads: u64,
    /// Blocks erased.
    pub erases: u64,
}

/// A part of the latency of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Part {
    /// Controller and driver: fixed time and the wait for the controller.
    Controller,
    /// The link, and the wait for it.
    Link,
    /// The wait for room in the write buffer.
    Buffer,
    /// The wait until garbage collection lets the host write.
    Pacing,
    /// The wait for other reads of the die.
    Reads,
    /// The wait for a program of host data.
    HostProgram,
    /// The wait for a program of relocated data.
    GcProgram,
    /// The wait for a program of metadata.
    MetadataProgram,
    /// The wait for a background read, such as one of garbage collection or of a partly written page.
    BackgroundRead,
    /// The wait for an erase.
    Erase,
    /// The read from the cells.
    Cells,
    /// The channel, and the wait for it.
    Channel,
    /// The wait for a program of data that leaves the SLC cache.
    FoldProgram,
    /// The read of a part of the map, with all its waits.
    Map,
}

/// Names of the parts, in order.
pub const PARTS: [(Part, &str); 14] = [
    (Part::Controller, "controller"),
    (Part::Link, "link"),
    (Part::Buffer, "write buffer"),
    (Part::Pacing, "pacing of gc"),
    (Part::Reads, "other reads"),
    (Part::HostProgram, "host programs"),
    (Part::GcProgram, "gc programs"),
    (Part::MetadataProgram, "metadata programs"),
    (Part::BackgroundRead, "gc reads"),
    (Part::Erase, "erases"),
    (Part::Cells, "cells"),
    (Part::Channel, "channel"),
    (Part::FoldProgram, "folds"),
    (Part::Map, "map"),
];

/// The parts of a request's latency, nanoseconds; they add up to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts(pub [Time; PARTS.len()]);

impl Parts {
    /// Adds to a part.
    pub fn add(&mut self, part: Part, time: Time) {
        self.0[part as usize] += time;
    }

    pub(crate) fn wait_for(&mut self, work: Work, time: Time) {
        let part = match work {
            Work::HostProgram => Part::HostProgram,
            Work::GcProgram => Part::GcProgram,
            Work::MetadataProgram => Part::MetadataProgram,
            Work::BackgroundRead => Part::BackgroundRead,
            Work::Erase => Part::Erase,
            Work::HostRead => Part::Reads,
            Work::FoldProgram => Part::FoldProgram,
        };
        self.add(part, time);
    }

    /// Returns the sum of the parts.
    pub fn total(&self) -> Time {
        self.0.iter().sum()
    }
}
