//! The record of a run.

use std::time::SystemTime;

use wafer_interface::{Counters, Figure};
use wafer_record::host::{Host, peak_rss_bytes};
use wafer_record::record::{
    FigureRecord, IgnoredOption, Performance, Provenance, SteadyRecord, Summary, WorkloadRecord,
    rfc3339,
};
use wafer_record::{
    ArrangementRecord, AttributionRecord, Events, Kind, Published, ReclaimUnits, Record,
    TimeRecord, Timeline, Wear,
};

use crate::experiment::Experiment;
use wafer_config::ResolvedDevice;

/// The results of a run.
pub(crate) struct Outcome<'a> {
    pub(crate) experiment: &'a Experiment,
    pub(crate) started: SystemTime,
    pub(crate) counters: Counters,
    pub(crate) events: Events,
    pub(crate) wear: Wear,
    pub(crate) arrangements: Vec<ArrangementRecord>,
    pub(crate) attribution: Option<AttributionRecord>,
    pub(crate) figures: Vec<Figure>,
    pub(crate) timeline: Timeline,
    pub(crate) time: Option<TimeRecord>,
    pub(crate) reclaim_units: ReclaimUnits,
    pub(crate) published: Vec<Published>,
    pub(crate) wall_seconds: f64,
    pub(crate) precondition_seconds: f64,
    pub(crate) steady: Option<SteadyRecord>,
    pub(crate) ignored: Vec<IgnoredOption>,
}

/// Makes the record of a run.
pub(crate) fn assemble(outcome: Outcome<'_>) -> Record {
    let Outcome { experiment, counters, .. } = outcome;
    let per_second = |pages: u64| Some(pages as f64 / outcome.wall_seconds.max(1e-9));
    let summary = Summary {
        events: Some(outcome.events),
        wear: Some(outcome.wear),
        ..Summary::from(&counters)
    };
    let provenance = experiment.provenance(outcome.started, outcome.ignored);
    let mut record = Record {
        application: outcome.figures.into_iter().map(FigureRecord::from).collect(),
        arrangements: outcome.arrangements,
        attribution: outcome.attribution,
        digest: Some(outcome.timeline.digest()),
        time: outcome.time,
        steady: outcome.steady,
        reclaim_units: Some(outcome.reclaim_units),
        published: outcome.published,
        performance: Performance {
            wall_seconds: outcome.wall_seconds,
            precondition_seconds: Some(outcome.precondition_seconds),
            host_pages_per_second: per_second(counters.host_pages),
            media_pages_per_second: per_second(counters.host_pages + counters.relocated_pages),
            peak_rss_bytes: Some(peak_rss_bytes()),
        },
        ..Record::new(experiment.name.clone(), provenance, summary, outcome.timeline)
    };
    record.complete();
    record
}

/// Returns the provenance of a record of a device, started at `started`.
pub fn provenance(device: &ResolvedDevice, kind: Kind, started: SystemTime) -> Provenance {
    Provenance {
        kind,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        git: Some(crate::GIT.to_owned()),
        config: serde_json::to_value(&device.config).ok(),
        geometry: Some(device.geometry_record()),
        device: device.name.clone(),
        started: Some(rfc3339(started)),
        host: Some(Host::this()),
        ..Provenance::default()
    }
}

impl Experiment {
    /// Returns the provenance of a run of this experiment.
    pub fn provenance(&self, started: SystemTime, ignored: Vec<IgnoredOption>) -> Provenance {
        let workload = WorkloadRecord {
            kind: self.workload.kind().to_owned(),
            path: self.workload.path(),
            text: self.workload.text(),
            volume: self.volume,
            pace: self.pace.clone(),
            pace_from: self.pace_from.as_deref().map(|path| path.display().to_string()),
            precondition: self.precondition,
            ignored,
            jobs: self.workload.jobs(&self.target()).unwrap_or_default(),
        };
        Provenance {
            workload: Some(workload),
            seed: Some(self.seed),
            ..provenance(&self.device, Kind::Simulated, started)
        }
    }
}
