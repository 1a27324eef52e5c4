//! What a policy sees, and what it is asked.
//!
//! Source: `docs/reference/device-model.md`, "Victims".

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use wafer_interface::{Owner, RuId};

use crate::random::Random;

/// A closed reclaim unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Its number.
    pub ru: RuId,
    /// Valid pages.
    pub valid: u32,
    /// Host pages written to the device since it was closed.
    pub age: u64,
    /// Its position in the order of closing.
    pub closed_order: u64,
    /// Whose data it holds.
    pub owner: Owner,
    /// How often its data was moved, as far as that is kept apart.
    pub generation: u8,
    /// The class of what a host wrote, where the device separates.
    pub host_class: u8,
    /// When its data is expected to be overwritten.
    pub death: Option<u64>,
    /// Times erased.
    pub erases: u32,
    /// Host pages written to the device since a policy was first shown fewer valid pages than before.
    pub since_invalidation: u64,
}

/// The reclaim units of one group, as a policy sees them.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Numbers of the reclaim units of the group.
    pub group: Range<u32>,
    /// The closed ones, in order of number.
    pub candidates: Vec<Candidate>,
    /// Share of the pages of each candidate that each handle wrote first, row by row.
    pub origins: Vec<f32>,
    /// Pages of a reclaim unit.
    pub unit_pages: u32,
    /// Host pages written to the device.
    pub now: u64,
    /// Whether space is needed.
    pub forced: bool,
    /// Classes among which a policy may choose for relocated data.
    pub classes: u8,
    /// The handle for which a collection is made; 0 while the victim is chosen.
    pub writer: u16,
}

/// A question to a policy, and its answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    /// The next victim.
    Victim(View, Option<RuId>),
    /// The class for the relocated data of a victim.
    Class(View, RuId, Option<u8>),
}

/// Chooses victims, as `wafer_device::policy::VictimPolicy` does for the device.
pub trait Policy {
    /// Returns the next victim; `None` leaves the choice to the device, or background collection undone.
    fn select(&mut self, view: &View, random: &mut Random) -> Option<RuId>;

    /// Returns the class for the relocated data of a victim; `None`: as the configuration says.
    fn destination(&mut self, _victim: RuId, _view: &View, _random: &mut Random) -> Option<u8> {
        None
    }
}

/// Repeats the answers that a policy of the device gave; for policies that learn.
#[derive(Clone, Debug, Default)]
pub struct Replay(Arc<Mutex<VecDeque<Asked>>>);

impl Replay {
    /// Adds what the device asked its policy.
    pub fn add(&self, asked: &[Asked]) {
        self.0.lock().expect("no panic before").extend(asked.iter().cloned());
    }

    fn next(&self) -> Option<Asked> {
        self.0.lock().expect("no panic before").pop_front()
    }
}

impl Policy for Replay {
    fn select(&mut self, _: &View, _: &mut Random) -> Option<RuId> {
        let Some(Asked::Victim(_, victim)) = self.next() else {
            panic!("the device did not ask for a victim here")
        };
        victim
    }

    fn destination(&mut self, _: RuId, _: &View, _: &mut Random) -> Option<u8> {
        let Some(Asked::Class(_, _, class)) = self.next() else {
            panic!("the device did not ask for a destination here")
        };
        class
    }
}

/// The contents and valid pages of a reclaim unit when a policy last saw it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) closed_order: Option<u64>,
    pub(crate) valid: u32,
    /// When it was first seen so.
    pub(crate) at: u64,
}
