//! Unmodified fio job files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use wafer_closed_loop::ClosedLoop;
use wafer_fio::job::Submission;
use wafer_fio::{JobSpec, Mixer, MixerOptions, Pace, WorkloadError};
use wafer_fio_file::{JobFile, Jobs, Target};
use wafer_record::files::read_text;
use wafer_record::record::{IgnoredOption, JobRecord};

use super::fio_jobs;
use super::interface::{Built, Host, Kind, Source, SourceTarget, TimedJob, Workload};
use super::pace_table;
use crate::error::LabError;
use wafer_config::{Files, Layers, schema as schemas};

pub(super) const KIND: Kind = Kind { keys: &["fio", INLINE], beside: &[], parse, schema };

/// The key of jobs inside an experiment file, which also serves as the extension of their path.
const INLINE: &str = "fio_text";

/// A fio job file: `fio` or `fio_text`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WorkloadFile {
    /// A fio job file, relative to the experiment file.
    #[schemars(extend("format" = "path"))]
    fio: Option<PathBuf>,
    /// The text of a fio job file.
    fio_text: Option<String>,
    /// Values of `${NAME}` in the job file. Names that are not listed come from the environment.
    #[serde(default)]
    variables: BTreeMap<String, String>,
}

/// A fio job file.
#[derive(Clone, Debug)]
pub struct FioSource {
    /// Path of the file; relative paths in it start at its folder.
    pub path: PathBuf,
    /// Text of the file.
    pub text: String,
}

impl FioSource {
    /// Reads a job file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(path: &Path) -> Result<Self, LabError> {
        Ok(FioSource::new(path, &read_text(path)?))
    }

    /// Returns the text of a job file, including the files that it includes.
    ///
    /// # Errors
    /// A file cannot be read, or is not a job file.
    pub fn whole_text(path: &Path) -> Result<String, LabError> {
        Ok(JobFile::read(path)?.text().to_owned())
    }

    /// Creates a source from text. Environment variables `${NAME}` are replaced, so that a record has the jobs as run.
    pub fn new(path: &Path, text: &str) -> Self {
        FioSource { path: path.to_owned(), text: Self::with_values(text) }
    }

    /// Returns a text with every environment variable `${NAME}` replaced by its value.
    fn with_values(text: &str) -> String {
        let mut replaced = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, from)) = rest.split_once("${")
            && let Some((name, after)) = from.split_once('}')
        {
            replaced += before;
            match wafer_fio_file::environment(name).filter(|value| !value.contains(['\n', '\r'])) {
                Some(value) => replaced += &value,
                // The reader of the file reports it with its line.
                None => replaced += &rest[before.len()..rest.len() - after.len()],
            }
            rest = after;
        }
        replaced + rest
    }

    /// Resolves the jobs of the file for a device.
    fn resolved(&self, target: &SourceTarget<'_>) -> Result<Jobs, LabError> {
        let geometry = &target.device.geometry;
        let target = Target {
            namespace_bytes: geometry.namespace_bytes(),
            namespace_handles: (geometry.namespace_handles.iter())
                .map(|handles| handles.len() as u16 * geometry.groups)
                .collect(),
            page_bytes: geometry.page_bytes,
        };
        Ok(JobFile::parse(&self.text, &self.path).and_then(|file| file.resolve(&target))?)
    }
}

impl Source for FioSource {
    fn kind(&self) -> &'static str {
        "fio"
    }

    fn files(&self) -> Vec<PathBuf> {
        let file = JobFile::parse(&self.text, &self.path);
        let included = file.iter().flat_map(|file| file.included().iter().cloned());
        let inline = self.path.extension().is_some_and(|extension| extension == INLINE);
        (!inline).then(|| self.path.clone()).into_iter().chain(included).collect()
    }

    fn path(&self) -> String {
        self.path.display().to_string()
    }

    fn text(&self) -> String {
        // Includes are expanded, so a record, or a copy for another process, needs no other file.
        let file = JobFile::parse(&self.text, &self.path);
        file.map_or_else(|_| self.text.clone(), |file| Self::with_values(file.text()))
    }

    fn details(&self, target: &SourceTarget<'_>) -> Result<String, LabError> {
        Ok(format!("{:?}", self.resolved(target)?.jobs))
    }

    fn jobs(&self, target: &SourceTarget<'_>) -> Result<Vec<JobRecord>, LabError> {
        Ok(fio_jobs::records(&self.resolved(target)?.jobs, target.device))
    }

    fn build(&self, target: &SourceTarget<'_>) -> Result<Built, LabError> {
        let jobs = self.resolved(target)?;
        let refused = |error| refused(target, error);
        let options = MixerOptions {
            seed: target.seed,
            service: target.device.config.service.clone(),
            pace: pace(target)?,
            until_volume: target.until_volume,
            without_reads: target.without_reads && target.pace.is_none(),
        };
        let ignored = ignored(&jobs);
        let mut notices: Vec<String> = fio_jobs::overlap(&jobs).into_iter().collect();
        if target.timed {
            target.refuse_pace("with a clock the shares of the jobs follow from the drive")?;
            notices.extend(jobs.without_engine.as_ref().map(|job| {
                format!(
                    "job {job} sets no ioengine and keeps its iodepth in flight; fio's default engine (psync) has one \
                     command in flight"
                )
            }));
            let job = |job: &JobSpec| TimedJob {
                name: job.name.clone(),
                ramp: (job.ramp_time * 1e9).round() as u64,
                replaces: None,
                sync: job.sync,
            };
            let searches = jobs.jobs.iter().any(|job| job.latency_target.is_some());
            let mut timed: Vec<TimedJob> = jobs.jobs.iter().map(job).collect();
            if searches {
                let results = timed.iter().enumerate();
                let results: Vec<TimedJob> = results
                    .map(|(at, job)| TimedJob { ramp: 0, replaces: Some(at), ..job.clone() })
                    .collect();
                timed.extend(results);
            }
            let jobs =
                ClosedLoop::new(jobs.jobs, target.seed, target.until_volume).map_err(refused)?;
            return Ok(Built {
                host: Host::default(),
                total_bytes: None,
                memory_bytes: jobs.memory_bytes(),
                stream: Box::new(jobs),
                jobs: timed,
                ignored,
                notices,
            });
        }
        let without_effect = |job: &JobSpec| {
            let latency = job.latency_target.map(|_| "latency_target");
            let steady = job.steady_state.map(|_| "steadystate");
            let reaping = job.reaping.map(|_| "iodepth_low or iodepth_batch_complete");
            let offload = (job.submission == Submission::Offload).then_some("io_submit_mode");
            let fsync = (job.fsync > 0).then_some("fsync");
            let end = job.end_fsync.then_some("end_fsync");
            let sync = job.sync.then_some("sync");
            let cycles = (job.thinkcycles > 0).then_some("thinkcycles");
            let options =
                [latency, steady, reaping, offload, fsync, end, sync, cycles].into_iter().flatten();
            let told = options.map(|option| {
                format!("job `{}`: {option} has no effect without a clock", job.name)
            });
            told.collect::<Vec<_>>()
        };
        notices.extend(jobs.jobs.iter().flat_map(without_effect));
        let mixer = Mixer::new(jobs.jobs, &options).map_err(refused)?;
        Ok(Built {
            host: Host::default(),
            jobs: Vec::new(),
            total_bytes: mixer.total_bytes(),
            memory_bytes: mixer.memory_bytes(),
            stream: Box::new(mixer),
            ignored,
            notices,
        })
    }
}

fn schema(generator: &mut SchemaGenerator) -> Vec<Schema> {
    let table = WorkloadFile::json_schema(generator);
    vec![schemas::define(generator, "workload-fio", table)]
}

fn parse(table: Layers, files: &Files, path: &Path) -> Result<Workload, LabError> {
    let file: WorkloadFile = table.clone().read()?;
    let missing =
        |name: &String| table.error("variables", &format!("the job file has no ${{{name}}}"));
    let (path, mut text) = match (file.fio, file.fio_text) {
        (Some(fio), _) => {
            let path = files.beside(fio);
            let text = read_text(&path)?;
            (path, text)
        }
        (None, text) => (path.with_extension(INLINE), text.unwrap_or_default()),
    };
    // Values are replaced in the text, so that a record has the jobs as they ran.
    for (name, value) in &file.variables {
        let place = format!("${{{name}}}");
        if !text.contains(&place) {
            return Err(missing(name).into());
        }
        text = text.replace(&place, value);
    }
    Ok(Workload::new(FioSource::new(&path, &text)))
}

fn ignored(jobs: &Jobs) -> Vec<IgnoredOption> {
    let told = |option: &wafer_fio_file::IgnoredOption| IgnoredOption {
        option: option.name.to_owned(),
        file: option.file.display().to_string(),
        line: option.line,
        reason: option.reason.to_owned(),
    };
    jobs.ignored.iter().map(told).collect()
}

/// Converts the error of a workload, adding the place of the shares if they are at fault.
fn refused(target: &SourceTarget<'_>, error: WorkloadError) -> LabError {
    match error {
        WorkloadError::Pace(reason) => target.pace_error(reason),
        error => LabError::Jobs(error),
    }
}

/// Returns the shares of the jobs.
fn pace(target: &SourceTarget<'_>) -> Result<Pace, LabError> {
    let pace = Pace::parse(target.pace.unwrap_or_default(), target.pace_from.is_some())
        .map_err(|error| refused(target, error))?;
    match target.pace_from {
        None => Ok(pace),
        Some(path) if pace.columns().is_empty() => {
            let path = path.display();
            let reason = format!("no share names a column of {path}, as NAME=COLUMN");
            Err(refused(target, WorkloadError::Pace(reason)))
        }
        Some(path) => {
            let table = pace_table::read(path, pace.columns())?;
            Ok(pace.with_table(table))
        }
    }
}
