//! What can be seen of a drive from outside, at one moment.

use std::sync::Arc;

use serde::Serialize;
use wafer_core::{Counters, HandleCounters, Owner, RgId, RuId, RuhId};

use super::events::{EventClass, EventRecord, TYPES};
use super::{Drive, Namespace};

/// The drive at one moment. Costs microseconds under the lock, and a walk over the reclaim units only
/// where [`Drive::reclaim_units`] is asked for.
#[derive(Clone, Debug, Serialize)]
pub struct DriveSnapshot {
    /// Seconds since the drive was made.
    pub uptime_seconds: f64,
    /// Whether FDP is enabled.
    pub fdp: bool,
    /// Counters since the FDP configuration was set: what log page 0x22 shows.
    pub counters: Counters,
    /// Counters over the life of the drive: what SMART shows.
    pub lifetime: Counters,
    /// Read and compare commands of hosts.
    pub read_commands: u64,
    /// Write commands of hosts.
    pub write_commands: u64,
    /// Each reclaim unit handle.
    pub handles: Vec<HandleSnapshot>,
    /// Relocated data of all initially isolated handles, where there is such.
    pub gc: Option<HandleCounters>,
    /// Free reclaim units of each group.
    pub free_rus: Vec<usize>,
    /// Reclaim units in all.
    pub ru_count: u32,
    /// Pages of a reclaim unit.
    pub pages_per_ru: u32,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Logical capacity, bytes.
    pub capacity_bytes: u64,
    /// Namespaces.
    pub namespaces: Vec<NamespaceSnapshot>,
    /// FDP events logged so far, by event type.
    pub events: Vec<(u8, u64)>,
    /// Names of the hosts that were ever connected.
    pub hosts: Vec<String>,
}

/// One reclaim unit handle.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct HandleSnapshot {
    /// Its counters.
    pub counters: HandleCounters,
    /// 0 unused, 1 host specified, 2 controller specified.
    pub usage: u8,
    /// RUAMW of group 0, pages.
    pub available_pages: u32,
}

/// One namespace.
#[derive(Clone, Debug, Serialize)]
pub struct NamespaceSnapshot {
    /// NSID.
    pub nsid: u32,
    /// Capacity, bytes.
    pub bytes: u64,
    /// Bytes of a logical block.
    pub lba_bytes: u64,
    /// Reclaim unit handles.
    pub handles: Vec<u16>,
}

/// Reclaim units: for each its state (0 free, 1 open, 2 closed) and its valid pages.
#[derive(Clone, Debug, Serialize)]
pub struct RuCounts {
    /// States.
    pub state: Vec<u8>,
    /// Whose data each holds: the number of a handle, one more than the last for relocated data of all
    /// initially isolated handles, -1 where it is free.
    pub owner: Vec<i32>,
    /// Valid pages.
    pub valid: Vec<u32>,
    /// Times erased.
    pub erases: Vec<u32>,
}

impl Drive {
    /// The drive as it is now.
    pub fn snapshot(&self) -> DriveSnapshot {
        let usage = self.handle_usage();
        let namespaces = self.namespaces().into_iter().flatten().map(shown).collect();
        let inner = self.lock();
        let device = &inner.device;
        let geometry = device.geometry();
        DriveSnapshot {
            uptime_seconds: self.started.elapsed().as_secs_f64(),
            fdp: inner.config.fdp,
            counters: device.counters(),
            lifetime: inner.lifetime(),
            read_commands: inner.read_commands,
            write_commands: inner.write_commands,
            handles: (device.handle_counters().iter().enumerate())
                .map(|(at, counters)| HandleSnapshot {
                    counters: *counters,
                    usage: usage.get(at).copied().unwrap_or(0),
                    available_pages: device.available_pages(RgId(0), RuhId(at as u16)),
                })
                .collect(),
            gc: device.gc_counters(),
            free_rus: (0..geometry.groups).map(|g| device.free_rus(RgId(g))).collect(),
            ru_count: geometry.ru_count,
            pages_per_ru: geometry.pages_per_ru,
            page_bytes: geometry.page_bytes,
            capacity_bytes: geometry.logical_bytes(),
            namespaces,
            events: TYPES.iter().map(|t| t.0).zip(inner.events.logged).collect(),
            hosts: inner.hosts.clone(),
        }
    }

    /// Every reclaim unit. Takes the lock for a time that grows with their number.
    pub fn reclaim_units(&self) -> RuCounts {
        let inner = self.lock();
        let device = &inner.device;
        let all = || (0..device.geometry().ru_count).map(RuId);
        RuCounts {
            state: all()
                .map(|ru| match device.owner(ru) {
                    None => 0,
                    Some(_) if device.is_closed(ru) => 2,
                    Some(_) => 1,
                })
                .collect(),
            owner: all()
                .map(|ru| match device.owner(ru) {
                    None => -1,
                    Some(Owner::Handle(handle)) => i32::from(handle.0),
                    Some(Owner::Gc) => i32::from(device.geometry().handles),
                })
                .collect(),
            valid: all().map(|ru| device.valid_pages(ru)).collect(),
            erases: all().map(|ru| device.erase_count(ru)).collect(),
        }
    }

    /// Logged FDP events of a class, the oldest first.
    pub fn events(&self, class: EventClass) -> Vec<EventRecord> {
        self.lock().events.events(class).copied().collect()
    }

    /// Checks what always holds of the device; slow.
    ///
    /// # Errors
    /// What does not hold.
    pub fn check_invariants(&self) -> Result<(), String> {
        self.lock().device.check_invariants()
    }
}

fn shown(namespace: Arc<Namespace>) -> NamespaceSnapshot {
    NamespaceSnapshot {
        nsid: namespace.nsid,
        bytes: namespace.bytes,
        lba_bytes: namespace.lba_bytes(),
        handles: namespace.handles.iter().map(|h| h.0).collect(),
    }
}
