//! The device of a run, with an observer that counts events.

use crate::clock::Instant;
use std::collections::VecDeque;

use wafer_device::Device;
use wafer_interface::{FdpEvent, MediaWork, Observer};
use wafer_record::{Event, Events, Live, ReclaimUnits, Snapshot, TimeRecord, Wear};

use crate::control::Stage;

/// Maximum number of events in a [`Snapshot`].
const NEWEST: usize = 40;

/// The observer of a run. It counts events and, on request because they slow the run, observes attribution and media
/// work.
#[derive(Debug)]
pub(crate) struct Watch {
    /// Whether the device keeps attribution.
    attribution: bool,
    pub(crate) events: Events,
    /// Number of events in earlier stages.
    earlier: u64,
    /// The newest events since the last snapshot, oldest first.
    unseen: VecDeque<FdpEvent>,
    /// The newest events before that snapshot, oldest first.
    seen: VecDeque<Event>,
    /// Media work of the last commands, if wanted.
    pub(crate) work: Vec<MediaWork>,
    /// Whether media work is wanted, which it is once a clock has started.
    pub(crate) wants_work: bool,
    /// Start of the run. Events have no time of their own; they get that of the first snapshot that includes them.
    started: Instant,
}

impl Watch {
    /// Creates the observer of a device, with or without attribution.
    pub(crate) fn new(attribution: bool) -> Self {
        Watch {
            attribution,
            events: Events::default(),
            earlier: 0,
            unseen: VecDeque::new(),
            seen: VecDeque::new(),
            work: Vec::new(),
            wants_work: false,
            started: Instant::now(),
        }
    }

    /// Begins the next stage: event counts restart at zero, numbering continues.
    pub(crate) fn restart(&mut self) {
        self.earlier += std::mem::take(&mut self.events).total();
    }

    /// Returns the newest events, numbered over the life of the run.
    fn newest(&mut self, seconds: f64) -> Vec<Event> {
        let before = (self.earlier + self.events.total()).saturating_sub(self.unseen.len() as u64);
        for (number, event) in (before + 1..).zip(self.unseen.drain(..)) {
            if self.seen.len() == NEWEST {
                self.seen.pop_front();
            }
            self.seen.push_back(Event::of(number, seconds, &event));
        }
        self.seen.iter().cloned().collect()
    }
}

impl Observer for Watch {
    fn wants_attribution(&self) -> bool {
        self.attribution
    }

    #[inline(always)]
    fn wants_media(&self) -> bool {
        self.wants_work
    }

    fn media(&mut self, work: &MediaWork) {
        self.work.push(*work);
    }

    fn event(&mut self, event: &FdpEvent) {
        self.events.count(event);
        if self.unseen.len() == NEWEST {
            self.unseen.pop_front();
        }
        self.unseen.push_back(*event);
    }
}

pub(crate) type Drive = Device<Watch>;

/// Returns a snapshot of the device of a run, with the model time in seconds and the results so far if it has a clock.
/// Visits all reclaim units.
pub(crate) fn snapshot(
    device: &mut Drive,
    stage: Stage,
    clock: Option<(f64, TimeRecord)>,
) -> Snapshot {
    let units = ReclaimUnits::of(device);
    // In a run with a clock, rates are those of the drive, not of the simulation.
    let (seconds, time) = match clock {
        Some((seconds, time)) => (seconds, Some(time)),
        None => (device.observer().started.elapsed().as_secs_f64(), None),
    };
    Snapshot {
        seconds,
        counters: device.counters(),
        handles: Snapshot::keyed(device.handle_counters(), device.gc_counters()),
        live: Live {
            state: match stage {
                Stage::Preconditioning => "preconditioning",
                Stage::Running => "running",
            }
            .to_owned(),
            free_open_closed: units.free_open_closed(),
            event_counts: device.observer().events.by_name(),
            events: device.observer_mut().newest(seconds),
            ..Live::default()
        },
        wear: Some(Wear::of(device)),
        reclaim_units: Some(units),
        time,
    }
}

#[cfg(test)]
mod tests {
    use wafer_interface::{RgId, RuhId};

    use super::*;

    #[test]
    fn events_are_numbered_over_the_life_of_a_run() {
        let mut watch = Watch::new(false);
        let event = FdpEvent::MediaReallocated { group: RgId(0), handle: Some(RuhId(2)), pages: 7 };
        let look = |watch: &mut Watch, events: u64, seconds: f64| -> Vec<Event> {
            (0..events).for_each(|_| watch.event(&event));
            watch.newest(seconds)
        };
        look(&mut watch, 3, 0.5);
        // A hundred events since then, of which the newest are kept.
        let numbers: Vec<u64> = look(&mut watch, 100, 1.0).iter().map(|e| e.number).collect();
        assert_eq!(numbers, (64..=103).collect::<Vec<_>>());
        // Counting restarts after preconditioning, numbering continues.
        watch.restart();
        let events = look(&mut watch, 2, 1.5);
        let last = events.last().unwrap();
        assert_eq!(
            (last.number, last.seconds, last.kind.as_str()),
            (105, 1.5, "media reallocated")
        );
        assert_eq!(last.text, "reclaim group 0, handle 2, 7 pages");
        assert_eq!(watch.events.by_name()[2], ("media reallocated".to_owned(), 2));
    }
}
