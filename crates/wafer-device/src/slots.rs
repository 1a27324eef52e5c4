//! The numbers of the open reclaim units of a device.

use crate::geometry::Geometry;
use crate::layout::Layout;
use wafer_interface::{Owner, RuhId};
use wafer_policies::Contents;

/// The numbering of slots within a group: `handles` for hosts, one for relocated data of initially isolated handles,
/// for each handle one for each separated generation of its relocated data, and those of further classes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slots {
    pub(crate) handles: u32,
    pub(crate) generations: u32,
    /// Number of classes of host writes; the slots of all but the first come last.
    pub(crate) classes: u32,
    pub(crate) per_group: u32,
}

impl Slots {
    pub(crate) fn new(geometry: &Geometry, layout: &Layout) -> Self {
        let handles = u32::from(geometry.handles);
        let generations = u32::from(layout.relocation.generations());
        Self::of(handles, generations, layout.host_classes())
    }

    /// Returns the numbering for these generations and classes of each handle.
    pub(crate) fn of(handles: u32, generations: u32, classes: u32) -> Self {
        Slots { handles, generations, classes, per_group: handles * (classes + generations) + 1 }
    }

    pub(crate) fn shared_gc(self) -> u32 {
        self.handles
    }

    /// Returns the slot of a handle's relocated data; generations count from 0.
    pub(crate) fn own_gc(self, handle: u32, generation: u32) -> u32 {
        self.handles + 1 + handle * self.generations + generation
    }

    /// Returns the first slot of the host classes after the first.
    fn classed(self) -> u32 {
        self.handles * (1 + self.generations) + 1
    }

    /// Returns the slot of a class, from that of class 0, in any group.
    pub(crate) fn class_slot(self, home: u32, class: u8) -> u32 {
        if class == 0 {
            return home;
        }
        let (group, handle) = (home / self.per_group, home % self.per_group);
        let within = handle * (self.classes - 1) + u32::from(class) - 1;
        group * self.per_group + self.classed() + within
    }

    /// Returns the kind of data of a slot, in any group.
    pub(crate) fn contents(self, slot: u32) -> Contents {
        let slot = slot % self.per_group;
        let of = |handle: u32| Owner::Handle(RuhId(handle as u16));
        let (owner, generation, class) = if slot < self.handles {
            (of(slot), 0, 0)
        } else if slot == self.shared_gc() {
            (Owner::Gc, 1, 0)
        } else if let Some(at) = slot.checked_sub(self.classed()) {
            (of(at / (self.classes - 1)), 0, at % (self.classes - 1) + 1)
        } else {
            let at = slot - self.handles - 1;
            (of(at / self.generations), at % self.generations + 1, 0)
        };
        Contents { owner, generation: generation as u8, class: class as u8 }
    }
}
