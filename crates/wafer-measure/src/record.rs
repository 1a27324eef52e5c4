//! The record of a measurement.

use std::time::SystemTime;

use wafer_interface::Counters;
use wafer_record::host::Host;
use wafer_record::record::{Performance, Provenance, rfc3339};
use wafer_record::{Kind, Measured, Record, Source, Summary, Timeline};

use super::Tracker;

/// A measurement, without its readings.
#[derive(Clone, Debug)]
pub struct Session {
    /// Name of the record.
    pub name: String,
    /// Commit that the program was built from.
    pub git: String,
    /// Start time.
    pub started: SystemTime,
    /// The drive, and how its counters were read.
    pub measured: Measured,
}

/// Returns the record of a measurement.
pub fn record(session: Session, tracker: &Tracker) -> Record {
    let total = tracker.total();
    let reports_erases = session.measured.source == Source::Fdp;
    let samples = &tracker.samples;
    let (host_bytes, media_bytes) = (total.host_bytes, total.media_bytes);
    let waf = Counters { host_bytes, media_bytes, ..Counters::default() }.waf();
    let provenance = Provenance {
        kind: Kind::Measured,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        git: Some(session.git),
        device: session.measured.device.clone(),
        started: Some(rfc3339(session.started)),
        host: Some(Host::this()),
        measured: Some(session.measured),
        ..Provenance::default()
    };
    let summary = Summary {
        host_bytes,
        media_bytes,
        erased_bytes: reports_erases.then_some(total.erased_bytes),
        waf,
        ..Summary::default()
    };
    let timeline = Timeline {
        seconds: samples.iter().map(|s| (s.seconds * 1e3).round() / 1e3).collect(),
        host_bytes: samples.iter().map(|s| s.host_bytes).collect(),
        media_bytes: samples.iter().map(|s| s.media_bytes).collect(),
        erased_bytes: match reports_erases {
            true => samples.iter().map(|s| s.erased_bytes).collect(),
            false => Vec::new(),
        },
        ..Timeline::default()
    };
    let mut record = Record {
        performance: Performance { wall_seconds: total.seconds, ..Performance::default() },
        ..Record::new(session.name, provenance, summary, timeline)
    };
    record.complete();
    record
}
