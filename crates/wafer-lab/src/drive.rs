//! The device as runs use it: with an observer that counts events, and placement indices resolved.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wafer_core::{Command, Device, FdpEvent, NsId, Observer, Placement, RuId};
use wafer_workload::CommandStream;

/// FDP events of a run by type, preconditioning left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Events {
    /// 0x00: reclaim units given up before they were full.
    pub ru_not_fully_written: u64,
    /// 0x03: writes with a placement identifier that their namespace does not have.
    pub invalid_placement_identifier: u64,
    /// 0x80: collections that moved data.
    pub media_reallocated: u64,
    /// 0x81: segments written in another reclaim group than the one named.
    pub implicitly_modified_ruh: u64,
}

impl Events {
    /// Events of all types.
    pub fn total(&self) -> u64 {
        let Events {
            ru_not_fully_written,
            invalid_placement_identifier,
            media_reallocated,
            implicitly_modified_ruh,
        } = self;
        ru_not_fully_written
            + invalid_placement_identifier
            + media_reallocated
            + implicitly_modified_ruh
    }
}

/// Events that a [`View`](crate::View) has at most.
pub(crate) const NEWEST: usize = 40;

/// What a run sees of its device: events, and attribution if it is asked for, which costs speed.
#[derive(Debug, Default)]
pub(crate) struct Watch<const ATTRIBUTION: bool> {
    pub(crate) events: Events,
    /// The newest since they were taken last, the oldest first.
    pub(crate) newest: VecDeque<FdpEvent>,
}

impl<const ATTRIBUTION: bool> Observer for Watch<ATTRIBUTION> {
    const ATTRIBUTION: bool = ATTRIBUTION;

    fn event(&mut self, event: &FdpEvent) {
        let events = &mut self.events;
        let count = match event {
            FdpEvent::RuNotFullyWritten { .. } => &mut events.ru_not_fully_written,
            FdpEvent::InvalidPlacementIdentifier { .. } => &mut events.invalid_placement_identifier,
            FdpEvent::MediaReallocated { .. } => &mut events.media_reallocated,
            FdpEvent::ImplicitlyModifiedRuh { .. } => &mut events.implicitly_modified_ruh,
        };
        *count += 1;
        if self.newest.len() == NEWEST {
            self.newest.pop_front();
        }
        self.newest.push_back(*event);
    }
}

/// How often reclaim units were erased, preconditioning included.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wear {
    /// Erases of the reclaim unit erased least.
    pub least: u32,
    /// Erases of the one erased most.
    pub most: u32,
    /// Mean over all.
    pub mean: f64,
}

/// The device of a run.
pub(crate) type Drive<const ATTRIBUTION: bool> = Device<Watch<ATTRIBUTION>>;

pub(crate) fn wear<O: Observer>(drive: &Device<O>) -> Wear {
    let count = drive.geometry().ru_count;
    let erases = || (0..count).map(|ru| drive.erase_count(RuId(ru)));
    Wear {
        least: erases().min().unwrap_or(0),
        most: erases().max().unwrap_or(0),
        mean: erases().map(f64::from).sum::<f64>() / f64::from(count.max(1)),
    }
}

/// The placement identifiers behind the indices that a workload uses: its `plids` count through the
/// Reclaim Unit Handle Status of the namespace, which lists every group of every handle.
pub(crate) struct Placements(Option<Vec<Vec<Placement>>>);

/// No namespace has it: beyond every list, and not the absence of a directive.
const UNKNOWN: Placement = Placement(u16::MAX - 1);

impl Placements {
    /// With one reclaim group index and identifier are the same; some streams know the identifiers.
    pub(crate) fn of<O: Observer>(
        drive: &Device<O>,
        stream: &(impl CommandStream + ?Sized),
    ) -> Self {
        let geometry = drive.geometry();
        if geometry.groups == 1 || stream.has_identifiers() {
            return Placements(None);
        }
        let namespaces = 0..geometry.namespaces.len() as u8;
        Placements(Some(namespaces.map(|n| drive.placements(NsId(n))).collect()))
    }

    pub(crate) fn resolve(&self, batch: &mut [Command]) {
        let Some(tables) = &self.0 else { return };
        for command in batch.iter_mut().filter(|c| c.placement != Placement::NONE) {
            let table = tables.get(usize::from(command.namespace.0));
            let found = table.and_then(|t| t.get(usize::from(command.placement.0)));
            command.placement = found.copied().unwrap_or(UNKNOWN);
        }
    }
}
