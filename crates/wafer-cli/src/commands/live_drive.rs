//! The live page of a drive that hosts use, `wafer serve --http`.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use wafer_lab::record::{GeometryRecord, rfc3339};
use wafer_lab::{HandleKey, LabError, MOST_RECLAIM_UNITS, ReclaimUnits, ResolvedDevice};
use wafer_live::{Config, Connection, Event, LiveSource, Server, Snapshot};
use wafer_target::controller::Subsystem;
use wafer_target::drive::{EventClass, EventRecord};

use super::live_events::{EVENTS, kind};
use crate::args::HttpArgs;
use crate::output;

/// Time between two states of the page.
const INTERVAL: Duration = Duration::from_millis(500);

struct DriveSource {
    subsystem: Arc<Subsystem>,
    provenance: Value,
}

/// Serves the page of a drive, where it was asked for.
pub(crate) fn of_drive(
    args: &HttpArgs,
    device: &ResolvedDevice,
    subsystem: &Arc<Subsystem>,
    quiet: bool,
) -> anyhow::Result<Option<Server>> {
    let Some(listen) = args.http else { return Ok(None) };
    let provenance = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "started": rfc3339(SystemTime::now()),
        "device": device.name,
        "config": device.config,
        "geometry": GeometryRecord::of(device),
        "seed": null,
    });
    let source = Arc::new(DriveSource { subsystem: subsystem.clone(), provenance });
    let config = Config { listen, token: args.http_token.clone(), interval: INTERVAL };
    let server = wafer_live::serve(source, &config)
        .map_err(|e| LabError::config("--http", e.to_string()))?;
    output::notice(quiet, &format!("live page: {}", server.url));
    Ok(Some(server))
}

/// What an event says, in words.
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

impl LiveSource for DriveSource {
    fn name(&self) -> String {
        self.subsystem.options.nqn.clone()
    }

    fn provenance(&self) -> Value {
        self.provenance.clone()
    }

    fn snapshot(&self) -> Snapshot {
        let drive = &self.subsystem.drive;
        let now = drive.snapshot();
        let mut events = drive.events(EventClass::Host);
        events.extend(drive.events(EventClass::Controller));
        events.sort_by_key(|event| event.timestamp.0);
        let logged: u64 = now.events.iter().map(|(_, count)| count).sum();
        let older = events.len().saturating_sub(EVENTS);
        let held = events.len() as u64;
        let newest = events.iter().enumerate().skip(older).map(|(i, event)| Event {
            // The rings forget the oldest: the newest is the number of all that were logged.
            number: (logged + i as u64 + 1).saturating_sub(held),
            seconds: event.timestamp.0 as f64 / 1e3,
            kind: kind(event.event_type),
            text: words(event),
        });
        let connections = self.subsystem.controller_infos().into_iter().map(|c| Connection {
            peer: format!("controller {}", c.cntlid),
            host: c.hostnqn,
            queues: u32::try_from(c.io_queues).unwrap_or(u32::MAX),
            commands: c.commands,
        });
        let free: u64 = now.free_rus.iter().map(|free| *free as u64).sum();
        let open = drive.reclaim_units().state.iter().filter(|state| **state == 1).count() as u64;
        Snapshot {
            state: if now.fdp { "serving" } else { "serving, FDP disabled" }.to_owned(),
            counters: now.counters,
            handles: now.handles.iter().map(|h| h.counters).collect(),
            gc: now.gc,
            reclaim_units: [free, open, u64::from(now.ru_count).saturating_sub(free + open)],
            connections: connections.collect(),
            event_counts: now
                .events
                .iter()
                .map(|(number, count)| (kind(*number), *count))
                .collect(),
            events: newest.collect(),
        }
    }

    fn reclaim_units(&self) -> Option<ReclaimUnits> {
        let drive = &self.subsystem.drive;
        let all = drive.reclaim_units();
        let handles = drive.snapshot().handles.len() as i32;
        let pages = self.provenance["geometry"]["pages_per_ru"].as_u64()?;
        let count = u32::try_from(all.owner.len()).ok()?;
        let stride = count.div_ceil(MOST_RECLAIM_UNITS).max(1);
        let listed = || (0..all.owner.len()).step_by(stride as usize);
        let mut numbers: Vec<i32> = listed().map(|i| all.owner[i]).filter(|o| *o >= 0).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let key = |number: &i32| match *number {
            number if number == handles => HandleKey::Gc,
            number => HandleKey::Handle(number as u16),
        };
        let place = |owner: i32| numbers.binary_search(&owner).map_or(-1, |at| at as i32);
        Some(ReclaimUnits {
            count,
            stride,
            pages: u32::try_from(pages).ok()?,
            owners: numbers.iter().map(key).collect(),
            owner: listed().map(|i| place(all.owner[i])).collect(),
            valid: listed().map(|i| all.valid[i]).collect(),
            erases: listed().map(|i| all.erases[i]).collect(),
            open: listed()
                .enumerate()
                .filter(|(_, i)| all.state[*i] == 1)
                .map(|(at, _)| at as u32)
                .collect(),
        })
    }
}
