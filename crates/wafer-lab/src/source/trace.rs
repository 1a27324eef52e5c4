//! Traces: requests recorded elsewhere, in any format that wafer-workload reads.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use wafer_workload::trace::{Scan, Trace, TraceError, TraceOptions, TraceStream, TraceTarget};

use super::{Built, Kind, Source, SourceTarget, Workload};
use crate::LabError;
use crate::config::{Layers, one_line};

pub(super) const KIND: Kind = Kind { keys: &["trace", "traces"], parse };

/// A trace with the options of its own.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct TraceFile {
    /// The file.
    pub file: PathBuf,
    /// How it is played.
    #[serde(flatten)]
    pub options: TraceOptions,
}

/// One or several traces, merged by time.
#[derive(Clone, Debug)]
pub struct TraceSource {
    traces: Vec<TraceFile>,
    /// Where relative paths of placement maps start.
    folder: PathBuf,
    /// Each trace is scanned once, for all runs together.
    scans: OnceLock<Vec<Arc<Scan>>>,
    /// Placement identifiers of the first trace's requests, in their order.
    placements: Option<Arc<[u16]>>,
}

fn refused(error: TraceError) -> LabError {
    LabError::Workload(one_line(&error.to_string()))
}

impl TraceSource {
    /// Traces with their options. Relative paths of placement maps start at `folder`.
    pub fn new(traces: Vec<TraceFile>, folder: &Path) -> Self {
        TraceSource { traces, folder: folder.to_owned(), scans: OnceLock::new(), placements: None }
    }

    /// Traces with the same `KEY=VALUE` options, as the command line gives them.
    ///
    /// # Errors
    /// When an option is unknown or its value cannot be understood.
    pub fn from_options(files: &[PathBuf], assignments: &[String]) -> Result<Self, LabError> {
        let mut layers = Layers::from_text("--trace-set", "")?;
        layers.set_all(assignments).map_err(name_option)?;
        let options: TraceOptions = layers.read().map_err(name_option)?;
        let file = |file: &PathBuf| TraceFile { file: file.clone(), options: options.clone() };
        Ok(TraceSource::new(files.iter().map(file).collect(), Path::new("")))
    }

    /// The keys of a `[workload]` table as text, without its head; `label` names it in messages. Relative
    /// paths start at `folder`.
    ///
    /// # Errors
    /// When a key is unknown or a value cannot be understood.
    pub fn from_text(label: &str, text: &str, folder: &Path) -> Result<Self, LabError> {
        source(Layers::from_text(label, text)?, folder)
    }

    /// What one pass over each trace finds; the first call reads them all.
    ///
    /// # Errors
    /// When a trace cannot be read, its format is unknown, or it is damaged and its options strict.
    pub fn scans(&self) -> Result<&[Arc<Scan>], LabError> {
        if let Some(scans) = self.scans.get() {
            return Ok(scans);
        }
        let mut scans = Vec::new();
        for trace in &self.traces {
            let scan = Scan::of(&trace.file, &trace.options, &|_| true).map_err(refused)?;
            scans.push(Arc::new(scan.ok_or(LabError::Cancelled)?));
        }
        Ok(self.scans.get_or_init(|| scans))
    }

    /// The same traces with other ways of placing; what the scans found stays.
    pub(crate) fn again(&self, traces: Vec<TraceFile>) -> Self {
        TraceSource { traces, ..self.clone() }
    }

    /// Gives the requests of the first trace these placement identifiers, one for each in their order,
    /// reads and all; 0xFFFF is none. They stand where the trace's own would.
    #[must_use]
    pub fn with_placements(self, placements: Arc<[u16]>) -> Self {
        TraceSource { placements: Some(placements), ..self }
    }

    /// The traces.
    pub fn traces(&self) -> &[TraceFile] {
        &self.traces
    }
}

/// Options of traces come from `--trace-set`, not from `--set`.
fn name_option(error: LabError) -> LabError {
    match error {
        LabError::Config { place, reason } => {
            let place = place.replace("--set", "--trace-set");
            LabError::config(place.replace("--trace-trace-set", "--trace-set"), reason)
        }
        other => other,
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

    fn text(&self) -> String {
        #[derive(Serialize)]
        struct Table<'a> {
            traces: &'a [TraceFile],
        }
        toml::to_string(&Table { traces: &self.traces }).unwrap_or_default()
    }

    fn build(&self, target: &SourceTarget<'_>) -> Result<Built, LabError> {
        if target.pace.is_some() {
            let reason = "traces are merged by their own times; use speed";
            return Err(LabError::config("--pace", reason));
        }
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
        let scans = self.scans()?;
        let traces: Vec<Trace> = (self.traces.iter().zip(scans))
            .enumerate()
            .map(|(number, (t, scan))| Trace {
                scan: scan.clone(),
                options: t.options.clone(),
                placements: self.placements.clone().filter(|_| number == 0),
            })
            .collect();
        let stream = TraceStream::new(&traces, &play).map_err(refused)?;
        Ok(Built {
            total_bytes: stream.total_bytes(),
            memory_bytes: stream.memory_bytes(),
            notices: stream.notices().to_vec(),
            stream: Box::new(stream),
            ignored: Vec::new(),
        })
    }
}

/// `trace = "FILE"` with its options beside it, or `traces = [{ file = "FILE", ... }, ...]`.
fn parse(table: Layers, folder: &Path, _: &Path) -> Result<Workload, LabError> {
    source(table, folder).map(Workload::new)
}

fn source(mut table: Layers, folder: &Path) -> Result<TraceSource, LabError> {
    let beside = |file: PathBuf| folder.join(file);
    let traces = if table.has("trace") {
        let file = table.take_string("trace")?.unwrap_or_default();
        vec![TraceFile { file: beside(file.into()), options: table.read()? }]
    } else {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Several {
            traces: Vec<toml::Table>,
        }
        let several: Several = table.read()?;
        let mut traces = Vec::new();
        for (number, mut one) in several.traces.into_iter().enumerate() {
            let at = format!("traces[{number}]");
            let file = match one.remove("file") {
                Some(toml::Value::String(file)) => beside(file.into()),
                _ => return Err(table.error(&at, "file: missing, or no string")),
            };
            let options = TraceOptions::deserialize(toml::Value::Table(one))
                .map_err(|e| table.error(&at, &one_line(e.message())))?;
            traces.push(TraceFile { file, options });
        }
        if traces.is_empty() {
            return Err(table.error("traces", "no traces"));
        }
        traces
    };
    Ok(TraceSource::new(traces, folder))
}
