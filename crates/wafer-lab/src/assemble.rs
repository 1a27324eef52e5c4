//! The record of a run.

use std::time::SystemTime;

use wafer_interface::{Counters, Figure};
use wafer_record::record::{FigureRecord, IgnoredOption, Performance, SteadyRecord, Summary};
use wafer_record::{
    ArrangementRecord, AttributionRecord, Events, Published, ReclaimUnits, Record, TimeRecord,
    Timeline, Wear,
};

use wafer_experiment::Experiment;
use wafer_experiment::memory::peak_rss_bytes;

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

/// Creates the record of a run.
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
