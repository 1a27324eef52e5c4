//! What a policy sees, and what the device requests of it.
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
    /// The owner of its data.
    pub owner: Owner,
    /// How often its data was relocated, as far as generations are kept apart.
    pub generation: u8,
    /// The class of the data that a host wrote, if the device separates.
    pub host_class: u8,
    /// When its data is expected to be overwritten.
    pub death: Option<u64>,
    /// Erase count.
    pub erases: u32,
    /// Host pages written to the device since the policy first saw the present number of valid pages.
    pub since_invalidation: u64,
}

/// The reclaim units of one group, as a policy sees them.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Numbers of the reclaim units of the group.
    pub group: Range<u32>,
    /// The closed ones, in order of number.
    pub candidates: Vec<Candidate>,
    /// Fraction of the pages of each candidate that each handle originally wrote, row by row.
    pub origins: Vec<f32>,
    /// Number of pages of a reclaim unit.
    pub unit_pages: u32,
    /// Host pages written to the device.
    pub now: u64,
    /// Whether space is needed now.
    pub forced: bool,
    /// Number of classes among which a policy may choose for relocated data.
    pub classes: u8,
    /// The handle for which a collection runs; 0 while the victim is chosen.
    pub writer: u16,
}

/// A request to a policy, and its answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    /// The next victim.
    Victim(View, Option<RuId>),
    /// The class for the relocated data of a victim.
    Class(View, RuId, Option<u8>),
}

/// A victim policy, like `wafer_device::policy::VictimPolicy` of the device.
pub trait Policy {
    /// Returns the next victim; `None` leaves the choice to the device, or skips background collection.
    fn select(&mut self, view: &View, random: &mut Random) -> Option<RuId>;

    /// Returns the class for the relocated data of a victim; `None` follows the configuration.
    fn destination(&mut self, _victim: RuId, _view: &View, _random: &mut Random) -> Option<u8> {
        None
    }
}

/// Repeats the answers of the device's policy; for policies that learn.
#[derive(Clone, Debug, Default)]
pub struct Replay(Arc<Mutex<VecDeque<Asked>>>);

impl Replay {
    /// Adds what the device requested of its policy, with the answers.
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
    /// When it was first seen in this state.
    pub(crate) at: u64,
}
