//! The operator's actions against the server.

use std::collections::BTreeMap;

/// The operator's actions against the server, with their weights.
pub(crate) const EVENTS: [(Event, u64); 8] = [
    (Event::Kill, 5),
    (Event::KillAtStart, 2),
    (Event::Restart, 3),
    (Event::Errors, 6),
    (Event::FullDisk, 4),
    (Event::FewDescriptors, 3),
    (Event::Drop, 6),
    (Event::Idlers, 3),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    Kill,
    KillAtStart,
    Restart,
    Errors,
    FullDisk,
    FewDescriptors,
    Drop,
    Idlers,
}

impl Event {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Event::Kill => "kill -9",
            Event::KillAtStart => "kill -9 while it starts",
            Event::Restart => "SIGTERM and restart",
            Event::Errors => "I/O errors and torn writes of the files",
            Event::FullDisk => "full disk",
            Event::FewDescriptors => "no more descriptors",
            Event::Drop => "connection dropped",
            Event::Idlers => "64 idle connections",
        }
    }
}

/// Number of events of each kind.
pub(crate) type Events = BTreeMap<Event, u64>;
