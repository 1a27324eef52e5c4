//! Traces in any format that wafer-trace reads.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use schemars::{JsonSchema as _, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::json;
use wafer_trace::{Scan, Trace, TraceOptions, TraceStream, TraceTarget};

use super::interface::{Built, Host, Kind, Source, SourceTarget, Workload, depth_fault};
use super::scans::{Stamp, scan};
use crate::error::LabError;
use wafer_config::{Files, Layers, schema as schemas};

pub(super) const KIND: Kind = Kind { keys: &["trace", "traces"], beside: &[], parse, schema };

/// Options that select what is read from a trace, as opposed to how it is replayed.
const READING: [&str; 5] = ["from", "to", "volume", "strict", "format"];

/// A trace with its options.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct TraceFile {
    /// The file.
    pub file: PathBuf,
    /// Options for the file.
    #[serde(flatten)]
    pub options: TraceOptions,
}

/// One or several traces, merged by time.
#[derive(Clone, Debug)]
pub struct TraceSource {
    traces: Vec<TraceFile>,
    /// The folder that paths of placement maps are relative to.
    folder: PathBuf,
    /// The last scan of each trace, shared by all runs while the files do not change.
    scans: Arc<Mutex<Vec<Arc<Scan>>>>,
    /// Placement identifiers of the first trace's requests, in order, and the file that had these requests.
    placements: Option<(Arc<[u16]>, Option<Stamp>)>,
}

impl TraceSource {
    /// Returns traces with their options. Relative paths of placement maps start at `folder`.
    pub fn new(traces: Vec<TraceFile>, folder: &Path) -> Self {
        TraceSource { traces, folder: folder.to_owned(), scans: Arc::default(), placements: None }
    }

    /// Returns traces with the same `KEY=VALUE` options.
    ///
    /// # Errors
    /// An option is unknown or its value is invalid.
    pub fn from_options(files: &[PathBuf], assignments: &[String]) -> Result<Self, LabError> {
        let options = options(&Layers::of_traces(assignments)?)?;
        let file = |file: &PathBuf| TraceFile { file: file.clone(), options: options.clone() };
        Ok(TraceSource::new(files.iter().map(file).collect(), Path::new("")))
    }

    /// Like [`Self::from_options`], for traces that are read but not replayed.
    ///
    /// # Errors
    /// As there, or an option applies only to replay.
    pub fn to_read(files: &[PathBuf], assignments: &[String]) -> Result<Self, LabError> {
        let source = TraceSource::from_options(files, assignments)?;
        let keys = assignments.iter().map(|a| a.split('=').next().unwrap_or("").trim());
        match keys.into_iter().find(|key| !READING.contains(key)) {
            Some(key) => {
                let reason =
                    "applies to replaying a trace; expected from, to, volume, strict or format";
                Err(LabError::config(format!("--trace-set {key}"), reason))
            }
            None => Ok(source),
        }
    }

    /// Reads the keys of a `[workload]` table from text without its header; `label` names it in messages.
    /// Relative paths start at `folder`.
    ///
    /// # Errors
    /// A key is unknown or a value is invalid.
    pub fn from_text(label: &str, text: &str, folder: &Path) -> Result<Self, LabError> {
        source(Layers::from_text(label, text)?, &Files::new(folder, None))
    }

    /// Returns the scan of each trace. The first call reads all traces, and later ones those that have changed.
    ///
    /// # Errors
    /// A trace cannot be read, its format is unknown, or it is damaged and its options are strict.
    pub fn scans(&self) -> Result<Vec<Arc<Scan>>, LabError> {
        let scans = self.traces.iter().map(|trace| scan(&trace.file, &trace.options));
        let scans = scans.collect::<Result<Vec<_>, _>>()?;
        self.scans.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&scans);
        Ok(scans)
    }

    /// Returns the same traces with different options for placement, keeping the scans.
    pub fn again(&self, traces: Vec<TraceFile>) -> Self {
        TraceSource { traces, ..self.clone() }
    }

    /// Replaces the placement identifiers of the first trace, one for each request in order, including reads; 0xFFFF is
    /// none.
    #[must_use]
    pub fn with_placements(self, placements: Arc<[u16]>) -> Self {
        let stamp = self.traces.first().and_then(|trace| Stamp::of(&trace.file));
        TraceSource { placements: Some((placements, stamp)), ..self }
    }

    /// Checks that the first trace still has the requests whose placement identifiers were given.
    fn check_placements(&self) -> Result<(), LabError> {
        let (Some((_, stamp)), Some(trace)) = (&self.placements, self.traces.first()) else {
            return Ok(());
        };
        if *stamp == Stamp::of(&trace.file) {
            return Ok(());
        }
        let reason = "has changed since its requests were given placement identifiers";
        Err(LabError::config(trace.file.display().to_string(), reason))
    }

    /// Returns the number of commands that all traces together keep in flight; `None` if they are paced by time.
    fn queue_depth(&self) -> Option<u32> {
        self.traces.iter().map(|trace| trace.options.queue_depth).sum()
    }

    /// Returns the traces.
    pub fn traces(&self) -> &[TraceFile] {
        &self.traces
    }
}

impl Source for TraceSource {
    fn kind(&self) -> &'static str {
        "trace"
    }

    fn path(&self) -> String {
        let paths: Vec<String> = self.traces.iter().map(|t| t.file.display().to_string()).collect();
        paths.join(", ")
    }

    fn files(&self) -> Vec<PathBuf> {
        let rules = self.traces.iter().filter_map(|trace| trace.options.placement.file());
        let rules = rules.map(|file| self.folder.join(file));
        self.traces.iter().map(|trace| trace.file.clone()).chain(rules).collect()
    }

    fn text(&self) -> String {
        #[derive(Serialize)]
        struct Table<'a> {
            traces: &'a [TraceFile],
        }
        toml::to_string(&Table { traces: &self.traces }).unwrap_or_default()
    }

    fn build(&self, target: &SourceTarget<'_>) -> Result<Built, LabError> {
        target.refuse_pace("traces are merged by their own times; use `speed`")?;
        let geometry = &target.device.geometry;
        let play = TraceTarget {
            namespace_bytes: geometry.namespace_bytes(),
            namespace_handles: (geometry.namespace_handles.iter())
                .map(|handles| handles.len() as u16 * geometry.groups)
                .collect(),
            page_bytes: geometry.page_bytes,
            until_volume: target.until_volume,
            folder: &self.folder,
        };
        self.check_placements()?;
        let scans = self.scans()?;
        let traces: Vec<Trace> = (self.traces.iter().zip(&scans))
            .enumerate()
            .map(|(number, (t, scan))| Trace {
                scan: scan.clone(),
                options: t.options.clone(),
                placements: self
                    .placements
                    .as_ref()
                    .filter(|_| number == 0)
                    .map(|(all, _)| all.clone()),
            })
            .collect();
        let stream = TraceStream::new(&traces, &play)?;
        let mut notices = stream.notices().to_vec();
        if target.timed && self.queue_depth().is_none() {
            notices.extend(scans.iter().filter_map(|scan| scan.out_of_order()));
            let (timed, untimed): (Vec<_>, Vec<_>) = scans.iter().partition(|s| s.has_times());
            let how = match timed.is_empty() {
                true => "`queue_depth` requests, 1 by default, are in flight",
                false => "all its requests come at the start; give all traces `queue_depth`",
            };
            let told = |scan: &Arc<Scan>| format!("{}: without times; {how}", scan.path.display());
            notices.extend(untimed.into_iter().map(told));
        }
        Ok(Built {
            host: Host { queue_depth: self.queue_depth(), think_time_ns: 0 },
            jobs: Vec::new(),
            total_bytes: stream.total_bytes(),
            memory_bytes: stream.memory_bytes(),
            notices,
            stream: Box::new(stream),
            ignored: Vec::new(),
        })
    }
}

/// Reads `trace = "FILE"` with its options alongside, or `traces = [{ file = "FILE", ... }, ...]`.
fn parse(table: Layers, files: &Files, _: &Path) -> Result<Workload, LabError> {
    source(table, files).map(Workload::new)
}

/// Returns the schemas of a table with a trace and its options, and of one with a list of traces.
fn schema(generator: &mut SchemaGenerator) -> Vec<Schema> {
    let file = json!({
        "description": "A trace, relative to the experiment file or in a data folder.",
        "type": "string", "format": "path",
    });
    let options = TraceOptions::json_schema(generator);
    let several = json!({
        "description": "Traces, merged by time.", "type": "array",
        "items": schemas::merged(schemas::table_with("file", file.clone()), &options),
    });
    let mut one = schemas::merged(schemas::table_with("trace", file), &options);
    one.insert("description".to_owned(), "A trace with its options.".into());
    let mut several = schemas::table_with("traces", several);
    several.insert("description".to_owned(), "Several traces.".into());
    vec![
        schemas::define(generator, "workload-trace", one),
        schemas::define(generator, "workload-traces", several),
    ]
}

/// Reads and checks the options of a trace.
fn options(table: &Layers) -> Result<TraceOptions, LabError> {
    let options: TraceOptions = table.read()?;
    options.check().map_err(|(key, reason)| table.error(key, &reason))?;
    if let Some((key, reason)) = depth_fault(options.queue_depth) {
        return Err(table.error(key, reason).into());
    }
    Ok(options)
}

fn source(mut table: Layers, files: &Files) -> Result<TraceSource, LabError> {
    let traces = if table.has("trace") {
        let place = table.place("trace");
        let file = table.take_string("trace")?.unwrap_or_default();
        vec![TraceFile { file: files.data(place, file.as_ref())?, options: options(&table)? }]
    } else {
        /// Nothing may accompany the list.
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Nothing {}
        let place = table.clone();
        let expected = |_| place.error("traces", "expected a list of tables");
        let list = table.split_off_list("traces").transpose().map_err(expected)?;
        let _: Nothing = table.read()?;
        let mut traces = Vec::new();
        for (number, mut one) in list.into_iter().flatten().enumerate() {
            let at = place.place(&format!("traces[{number}]"));
            let file = one.take_string("file")?;
            let file = file.ok_or_else(|| one.error("file", "missing; it has no default"))?;
            let file = files.data(at, file.as_ref())?;
            traces.push(TraceFile { file, options: options(&one)? });
        }
        if traces.is_empty() {
            return Err(place.error("traces", "no traces").into());
        }
        let by_depth = |trace: &TraceFile| trace.options.queue_depth.is_some();
        if let Some(number) = traces.iter().position(|one| by_depth(one) != by_depth(&traces[0])) {
            let reason = "give `queue_depth` to all traces or to none";
            return Err(place.error(&format!("traces[{number}]"), reason).into());
        }
        traces
    };
    Ok(TraceSource::new(traces, &files.folder))
}
