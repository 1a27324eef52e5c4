//! What the device shows to its policy and to its observer.

use std::sync::{Arc, Mutex};

use wafer_device::policy::{RuView, VictimPolicy};
use wafer_interface::Features;
use wafer_interface::{Closed, Collection, FdpEvent, Observer, RuId};
use wafer_oracle::{Asked, Candidate, Event, View};

/// Records everything that an observer receives; `attribution` says whether it wants attribution.
#[derive(Default)]
pub(crate) struct Heard {
    pub(crate) attribution: bool,
    pub(crate) events: Vec<Event>,
}

impl Heard {
    pub(crate) fn with_attribution() -> Self {
        Heard { attribution: true, events: Vec::new() }
    }
}

impl Observer for Heard {
    fn wants_attribution(&self) -> bool {
        self.attribution
    }

    fn collected(&mut self, collection: &Collection) {
        self.events.push(Event::Collected(*collection));
    }

    fn closed(&mut self, closed: &Closed) {
        self.events.push(Event::Closed(*closed));
    }

    fn event(&mut self, event: &FdpEvent) {
        self.events.push(Event::Fdp(*event));
    }
}

/// What the device requested of a policy.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<Asked>>>);

impl Log {
    pub(crate) fn take(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    fn add(&self, asked: Asked) {
        self.0.lock().unwrap().push(asked);
    }
}

/// Wraps a policy, and records what it saw and chose.
pub(crate) struct Witness {
    policy: Box<dyn VictimPolicy>,
    features: Features,
    log: Log,
}

impl Witness {
    pub(crate) fn new(policy: Box<dyn VictimPolicy>, log: Log) -> Box<Self> {
        Box::new(Witness { policy, features: Features::default(), log })
    }

    fn view(&mut self, rus: &mut RuView<'_>, writer: u16) -> View {
        rus.features(&mut self.features);
        let seen = &self.features;
        let candidates: Vec<Candidate> = rus
            .candidates()
            .zip(&seen.since_invalidation)
            .map(|((ru, valid), since_invalidation)| Candidate {
                ru,
                valid,
                age: rus.age(ru),
                closed_order: rus.closed_order(ru),
                owner: rus.owner(ru),
                generation: rus.generation(ru),
                host_class: rus.host_class(ru),
                death: rus.death_time(ru),
                erases: rus.erases(ru),
                since_invalidation: *since_invalidation,
            })
            .collect();
        // The features hold the same as arrays.
        assert_eq!(seen.handles * candidates.len(), seen.origins.len());
        assert!(candidates.iter().map(|c| c.ru.0).eq(seen.ru.iter().copied()));
        assert!(candidates.iter().map(|c| c.valid).eq(seen.valid.iter().copied()));
        assert!(candidates.iter().map(|c| c.age).eq(seen.age.iter().copied()));
        assert!(candidates.iter().map(|c| c.generation).eq(seen.generation.iter().copied()));
        assert!(candidates.iter().map(|c| c.erases).eq(seen.erases.iter().copied()));
        let least = candidates.iter().min_by_key(|c| c.valid).map(|c| c.ru);
        assert_eq!(rus.least_valid(), least);
        View {
            group: rus.range.clone(),
            candidates,
            origins: self.features.origins.clone(),
            unit_pages: rus.pages_per_ru,
            now: rus.now,
            forced: rus.forced,
            classes: rus.classes,
            writer,
        }
    }
}

impl VictimPolicy for Witness {
    fn select(&mut self, rus: &mut RuView<'_>) -> Option<RuId> {
        let view = self.view(rus, 0);
        let choice = self.policy.select(rus);
        self.log.add(Asked::Victim(view, choice));
        choice
    }

    fn destination(&mut self, victim: RuId, rus: &mut RuView<'_>) -> Option<u8> {
        let writer = rus.writer.0;
        let view = self.view(rus, writer);
        let choice = self.policy.destination(victim, rus);
        self.log.add(Asked::Class(view, victim, choice));
        choice
    }
}
