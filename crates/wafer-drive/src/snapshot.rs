//! Momentary counters and state of a drive, for log pages and monitoring.

use std::sync::Arc;

use wafer_device::Device;
use wafer_interface::{Counters, HandleCounters, Observer, RgId, RuId};
use wafer_record::{
    DriveState, Event, Live, NamespaceState, ReclaimUnits, Snapshot, Summary, Wear, event_name,
};

use super::events::{EventClass, EventRecord, TYPES};
use super::{Drive, Inner, Life, Namespace};

/// Maximum number of events in a snapshot.
const NEWEST: usize = 40;

/// The counters of a drive at one moment. Reading them takes microseconds under the lock.
#[derive(Clone, Debug)]
pub struct DriveCounters {
    /// Time since the drive was opened, seconds.
    pub uptime_seconds: f64,
    /// Counters since the FDP configuration was set, as log page 0x22 reports them.
    pub counters: Counters,
    /// Counters over the life of the drive, as SMART reports them.
    pub lifetime: Counters,
    /// The other SMART counts over the life of the drive.
    pub life: Life,
    /// Counters of each reclaim unit handle.
    pub handles: Vec<HandleCounters>,
    /// Counters of the reclaim unit that GC fills for all initially isolated handles, if there is one.
    pub gc: Option<HandleCounters>,
    /// Logical capacity, bytes.
    pub capacity_bytes: u64,
}

impl Drive {
    /// Returns the current counters, or those of the last record while the journal cannot take any, so that a restart
    /// never yields less than hosts have read.
    pub fn counters(&self) -> DriveCounters {
        let mut inner = self.lock();
        let life = self.told_life(&mut inner);
        match &inner.frozen {
            Some(frozen) => DriveCounters {
                uptime_seconds: self.uptime().as_secs_f64(),
                ..DriveCounters::clone(frozen)
            },
            None => DriveCounters { life, ..self.counters_of(&inner) },
        }
    }

    pub(crate) fn counters_of(&self, inner: &Inner) -> DriveCounters {
        let device = &inner.device;
        DriveCounters {
            uptime_seconds: self.uptime().as_secs_f64(),
            counters: device.counters(),
            lifetime: inner.lifetime(),
            life: inner.recorded_life().map_or(self.life(inner), |told| told.told(inner.life)),
            handles: device.handle_counters().to_vec(),
            gc: device.gc_counters(),
            capacity_bytes: device.geometry().logical_bytes(),
        }
    }

    /// Returns the current state of the drive without its reclaim units. Walks over them under the lock to count the
    /// open ones.
    pub fn snapshot(&self) -> Snapshot {
        let (now, time) = (self.counters(), self.latencies());
        let namespaces = self.namespaces().into_iter().flatten().map(state).collect();
        let inner = self.lock();
        let mut events: Vec<&EventRecord> = [EventClass::Host, EventClass::Controller]
            .into_iter()
            .flat_map(|class| inner.events.events(class))
            .collect();
        events.sort_by_key(|event| event.timestamp.0);
        let (held, logged) = (events.len() as u64, inner.events.logged.iter().sum::<u64>());
        let older = events.len().saturating_sub(NEWEST);
        let newest = events.iter().enumerate().skip(older).map(|(i, event)| Event {
            // The rings drop the oldest events, so the number of the newest is the number of events logged.
            number: (logged + i as u64 + 1).saturating_sub(held),
            seconds: event.timestamp.0 as f64 / 1e3,
            kind: event_name(event.event_type),
            text: words(event),
        });
        let wear = Wear::of(&inner.device);
        let counted = TYPES.iter().map(|t| event_name(t.0)).zip(inner.events.logged);
        Snapshot {
            seconds: now.uptime_seconds,
            counters: now.counters,
            handles: Snapshot::keyed(&now.handles, now.gc),
            live: Live {
                state: match (wear.read_only, inner.config.fdp) {
                    (true, _) => "read-only",
                    (false, true) => "serving",
                    (false, false) => "serving, FDP disabled",
                }
                .to_owned(),
                free_open_closed: free_open_closed(&inner.device, wear.retired),
                connections: Vec::new(),
                event_counts: counted.collect(),
                events: newest.collect(),
                drive: Some(DriveState {
                    fdp: inner.config.fdp,
                    enabled_events: inner.events.enabled().map(|t| event_name(t.0)).collect(),
                    lifetime: Summary::from(&now.lifetime),
                    read_commands: now.life.read_commands,
                    write_commands: now.life.write_commands,
                    flushes: None,
                    namespaces,
                    hosts: inner.hosts.clone(),
                }),
            },
            wear: Some(wear),
            reclaim_units: None,
            time,
        }
    }

    /// Returns the reclaim units. Holds the lock for a time that grows with their number.
    pub fn reclaim_units(&self) -> ReclaimUnits {
        ReclaimUnits::of(&self.lock().device)
    }

    /// Returns the logged FDP events of a class, oldest first.
    pub fn events(&self, class: EventClass) -> Vec<EventRecord> {
        self.lock().events.events(class).copied().collect()
    }

    /// Checks the invariants of the device, which is slow.
    ///
    /// # Errors
    /// The violated invariant.
    pub fn check_invariants(&self) -> Result<(), String> {
        self.lock().device.check_invariants()
    }
}

/// Returns the number of free reclaim units.
pub(crate) fn free(device: &Device<impl Observer>) -> u64 {
    (0..device.geometry().groups).map(|g| device.free_rus(RgId(g)) as u64).sum()
}

fn free_open_closed(device: &Device<impl Observer>, retired: u64) -> [u64; 3] {
    let geometry = device.geometry();
    let free = free(device);
    let open = |ru: &RuId| device.owner(*ru).is_some() && !device.is_closed(*ru);
    let open = (0..geometry.ru_count).map(RuId).filter(open).count() as u64;
    [free, open, u64::from(geometry.ru_count).saturating_sub(free + open + retired)]
}

fn words(event: &EventRecord) -> String {
    let mut parts = Vec::new();
    if let Some(namespace) = event.namespace {
        parts.push(format!("namespace {}", u32::from(namespace.0) + 1));
    }
    if let Some(placement) = event.placement {
        parts.push(format!("placement identifier {}", placement.0));
    }
    if let Some((group, handle)) = event.location {
        parts.push(format!("reclaim group {group}, handle {handle}"));
    }
    if event.pages > 0 {
        parts.push(format!("{} pages", event.pages));
    }
    parts.join(", ")
}

fn state(namespace: Arc<Namespace>) -> NamespaceState {
    NamespaceState {
        nsid: namespace.nsid,
        bytes: namespace.bytes,
        lba_bytes: namespace.lba_bytes(),
        handles: namespace.handles.iter().map(|h| h.0).collect(),
    }
}
