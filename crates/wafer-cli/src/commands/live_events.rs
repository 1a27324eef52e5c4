//! FDP events on live pages, in words.

use std::collections::VecDeque;

use wafer_core::FdpEvent;
use wafer_lab::View;
use wafer_live::Event;

/// FDP events that a state carries at most.
pub(crate) const EVENTS: usize = 40;

/// Names of the types of FDP events (NVMe Base 2.1, FDP Events log page), by number.
const TYPES: [(u8, &str); 6] = [
    (0x00, "reclaim unit not fully written"),
    (0x01, "reclaim unit time limit exceeded"),
    (0x02, "reset modified handles"),
    (0x03, "invalid placement identifier"),
    (0x80, "media reallocated"),
    (0x81, "implicitly modified handle"),
];

/// The name of a type.
pub(crate) fn kind(number: u8) -> String {
    let known = TYPES.iter().find(|(n, _)| *n == number);
    known.map_or_else(|| format!("type {number:#04x}"), |(_, name)| (*name).to_owned())
}

/// The newest events of a run, numbered over its life: preconditioning and running, which count
/// each from zero.
#[derive(Default)]
pub(crate) struct RunEvents {
    /// Events of stages that are over.
    earlier: u64,
    /// Events of this stage when they were last looked at.
    seen: u64,
    newest: VecDeque<Event>,
}

impl RunEvents {
    /// Takes what is new in a view, `seconds` after the run began: a run has no clock of its own.
    pub(crate) fn take(&mut self, view: &View, seconds: f64) {
        let total = view.events.total();
        if total < self.seen {
            self.earlier += self.seen;
        }
        self.seen = total;
        let before = (self.earlier + total).saturating_sub(view.newest_events.len() as u64);
        for (number, event) in (before + 1..).zip(&view.newest_events) {
            if self.newest.len() == EVENTS {
                self.newest.pop_front();
            }
            let (kind, text) = (kind(event.event_type()), words(event));
            self.newest.push_back(Event { number, seconds, kind, text });
        }
    }

    /// The newest, the oldest first.
    pub(crate) fn newest(&self) -> Vec<Event> {
        self.newest.iter().cloned().collect()
    }
}

/// How many events of each type a run has had in this stage; none before the first.
pub(crate) fn counts(view: &View) -> Vec<(String, u64)> {
    let events = &view.events;
    if events.total() == 0 {
        return Vec::new();
    }
    [
        (0x00, events.ru_not_fully_written),
        (0x03, events.invalid_placement_identifier),
        (0x80, events.media_reallocated),
        (0x81, events.implicitly_modified_ruh),
    ]
    .map(|(number, count)| (kind(number), count))
    .to_vec()
}

fn words(event: &FdpEvent) -> String {
    match event {
        FdpEvent::RuNotFullyWritten { group, handle, unwritten_pages } => {
            format!("reclaim group {group}, handle {handle}, {unwritten_pages} pages")
        }
        FdpEvent::InvalidPlacementIdentifier { namespace, placement } => {
            let namespace = u32::from(namespace.0) + 1;
            format!("namespace {namespace}, placement identifier {}", placement.0)
        }
        FdpEvent::MediaReallocated { group, handle: Some(handle), pages } => {
            format!("reclaim group {group}, handle {handle}, {pages} pages")
        }
        FdpEvent::MediaReallocated { group, handle: None, pages } => {
            format!("reclaim group {group}, relocated data, {pages} pages")
        }
        FdpEvent::ImplicitlyModifiedRuh { group, handle, used } => {
            format!("reclaim group {group}, handle {handle}, written to group {used}")
        }
    }
}

#[cfg(test)]
mod tests {
    use wafer_core::{Counters, Placement, RgId, RuhId};
    use wafer_lab::{Events, ReclaimUnits, Stage};

    use super::*;

    fn view(stage: Stage, reallocated: u64, newest: usize) -> View {
        let event = FdpEvent::MediaReallocated { group: RgId(0), handle: Some(RuhId(2)), pages: 7 };
        View {
            stage,
            counters: Counters::default(),
            handles: Vec::new(),
            gc: None,
            reclaim_units: ReclaimUnits {
                count: 0,
                stride: 1,
                pages: 256,
                owners: Vec::new(),
                owner: Vec::new(),
                valid: Vec::new(),
                erases: Vec::new(),
                open: Vec::new(),
            },
            events: Events { media_reallocated: reallocated, ..Events::default() },
            newest_events: vec![event; newest],
        }
    }

    #[test]
    fn events_are_numbered_over_the_life_of_a_run() {
        let mut events = RunEvents::default();
        events.take(&view(Stage::Preconditioning, 3, 3), 0.5);
        // A hundred since, of which the view has the newest.
        events.take(&view(Stage::Preconditioning, 103, 40), 1.0);
        let numbers = |events: &RunEvents| -> Vec<u64> {
            events.newest().iter().map(|event| event.number).collect()
        };
        assert_eq!(numbers(&events), (64..=103).collect::<Vec<_>>());
        // The counters begin again after the preconditioning.
        events.take(&view(Stage::Running, 2, 2), 1.5);
        assert_eq!(numbers(&events), (66..=105).collect::<Vec<_>>());
        let last = events.newest().pop().unwrap();
        assert_eq!((last.seconds, last.kind.as_str()), (1.5, "media reallocated"));
        assert_eq!(last.text, "reclaim group 0, handle 2, 7 pages");
    }

    #[test]
    fn counts_by_type() {
        assert_eq!(counts(&view(Stage::Running, 0, 0)), []);
        let counts = counts(&view(Stage::Running, 9, 1));
        assert!(counts.contains(&("media reallocated".to_owned(), 9)), "{counts:?}");
        let invalid = FdpEvent::InvalidPlacementIdentifier {
            namespace: wafer_core::NsId(1),
            placement: Placement(77),
        };
        assert_eq!(words(&invalid), "namespace 2, placement identifier 77");
    }
}
