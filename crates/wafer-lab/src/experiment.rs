//! An experiment: a device, what is written to it, how much, and the seed. From a file, from
//! options, or from a file with options over it.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::config::{Layers, ResolvedDevice, base_layers, resolve};
use crate::files::read_text;
use crate::source::{self, TraceSource, Workload};
use crate::validate::Checks;
use crate::{LabError, Precondition, Volume};

/// Points of a timeline unless told otherwise.
pub const DEFAULT_SAMPLES: usize = 1000;

/// One run, ready.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Name for tables and files.
    pub name: String,
    /// The device.
    pub device: ResolvedDevice,
    /// What is written to it.
    pub workload: Workload,
    /// Host bytes to write; none: until the workload ends.
    pub volume: Option<Volume>,
    /// Shares of the bytes of jobs that run at the same time, `JOB=SHARE,...`.
    pub pace: Option<String>,
    /// CSV file whose columns `pace` may name.
    pub pace_from: Option<PathBuf>,
    /// Where the experiment file sets `pace`, for messages; none when an option does.
    pub pace_place: Option<String>,
    /// Seed of everything random.
    pub seed: u64,
    /// Points of the timeline at most.
    pub samples: usize,
    /// State of the device at the start.
    pub precondition: Precondition,
    /// Keep track of whose invalidations cause relocations of whose data.
    pub attribution: bool,
    /// Table of published WAF to print beside ours.
    pub compare: Option<PathBuf>,
    /// Where it is held against that table; only from a file.
    pub checks: Option<Checks>,
}

/// An experiment whose workload has been read and can be run.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The experiment.
    pub experiment: Experiment,
    /// Options of the job file without effect on what is written.
    pub ignored: Vec<crate::record::IgnoredOption>,
    /// What is worth telling before the run, a line each.
    pub notices: Vec<String>,
    /// Bytes of memory that the run takes, device and workload.
    pub memory_bytes: u64,
    /// Bytes that the workload writes, if it ends by itself; none where its own clock or the volume
    /// ends it.
    pub total_bytes: Option<u64>,
}

/// What the command line gives; each value overrides the file's.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Profile name or file.
    pub device: Option<String>,
    /// `KEY=VALUE` for the device.
    pub set: Vec<String>,
    /// Job file.
    pub fio: Option<PathBuf>,
    /// Traces, instead of a job file.
    pub traces: Vec<PathBuf>,
    /// `KEY=VALUE` for all traces.
    pub trace_set: Vec<String>,
    /// Host bytes to write.
    pub volume: Option<Volume>,
    /// Shares of jobs.
    pub pace: Option<String>,
    /// CSV file with shares.
    pub pace_from: Option<PathBuf>,
    /// Seed.
    pub seed: Option<u64>,
    /// Points of the timeline.
    pub samples: Option<usize>,
    /// State of the device at the start.
    pub precondition: Option<Precondition>,
    /// Keep attribution, also where the file does not ask for it.
    pub attribution: bool,
    /// Table of published WAF.
    pub compare: Option<PathBuf>,
}

impl Options {
    /// The workload that the options name, if they do.
    fn workload(&self) -> Result<Option<Workload>, LabError> {
        match (&self.fio, self.traces.as_slice()) {
            (Some(_), [_, ..]) => Err(LabError::config("--trace", "give this or --fio, not both")),
            (None, []) if !self.trace_set.is_empty() => {
                Err(LabError::config("--trace-set", "there is no --trace to set it for"))
            }
            (None, []) => Ok(None),
            (Some(fio), []) => Workload::fio(fio).map(Some),
            (None, traces) => {
                Ok(Some(Workload::new(TraceSource::from_options(traces, &self.trace_set)?)))
            }
        }
    }
}

/// An experiment file, all but its `device`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExperimentFile {
    /// One line on what the experiment is for; for readers of the file.
    #[serde(default)]
    #[expect(dead_code, reason = "for readers of the file")]
    description: Option<String>,
    /// Host bytes to write, counted from the run's first write: multiples of the logical capacity
    /// (`"25x"`) or a size (`"2TiB"`). Default: until the jobs end.
    volume: Option<Volume>,
    /// Shares of the bytes of jobs that run at the same time, `"JOB=SHARE,..."`. Default: a closed
    /// loop from queue depths, block sizes and the device's service times.
    pace: Option<String>,
    /// CSV file, relative to the experiment file, whose columns `pace` may name.
    pace_from: Option<PathBuf>,
    /// Seed of everything random. Default 0.
    seed: Option<u64>,
    /// Points of the timeline at most, at least 2. Default 1000.
    samples: Option<usize>,
    /// State of the device before the counters start: `"fresh"` (default), `"sequential"` (one
    /// sequential fill), `"random:N"` (N logical capacities of single-page writes at independent
    /// uniform addresses), `"load"` (applications load their data), or several of them in this order,
    /// joined by `+`.
    precondition: Option<Precondition>,
    /// Whether to record whose invalidations cause relocations of whose data, for `wafer explain`:
    /// costs about 15 % of speed. Default false.
    attribution: Option<bool>,
    /// CSV file of published WAF, relative to the experiment file, to print beside ours: columns
    /// `volume` (multiples of the logical capacity) and `waf`, or `host_bytes` and `media_bytes`.
    compare: Option<PathBuf>,
    /// Volumes and tolerances of `wafer validate`.
    validate: Option<Checks>,
}

impl Experiment {
    /// The experiment of a file, with options over it.
    pub fn from_file(path: &Path, options: &Options) -> Result<Self, LabError> {
        Self::from_text(path, &read_text(path)?, options)
    }

    /// As [`Experiment::from_file`] from the text of a file, which need not exist: `path` names it in
    /// messages, and relative paths start at its folder.
    ///
    /// # Errors
    /// What the text says wrongly, with line and key.
    pub fn from_text(path: &Path, text: &str, options: &Options) -> Result<Self, LabError> {
        let label = path.display().to_string();
        let mut layers = Layers::from_text(&label, text)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let device = device_of_file(&mut layers, folder, options)?;
        let workload = match options.workload()? {
            Some(workload) => {
                layers.remove("workload");
                layers.remove("tenants");
                workload
            }
            None => source::of_file(&mut layers, folder, path)?,
        };
        let file: ExperimentFile = layers.read()?;
        if file.samples.is_some_and(|samples| samples < 2) {
            return Err(layers.error("samples", "at least 2"));
        }
        if let Some(Err((key, reason))) = file.validate.as_ref().map(Checks::check) {
            return Err(layers.error(key, &reason));
        }
        let beside = |path: PathBuf| folder.join(path);
        Ok(Experiment {
            name: stem(path),
            device,
            workload,
            volume: options.volume.or(file.volume),
            pace_place: match (&options.pace, &file.pace) {
                (None, Some(_)) => Some(layers.place("pace")),
                _ => None,
            },
            pace: options.pace.clone().or(file.pace),
            pace_from: options.pace_from.clone().or(file.pace_from.map(beside)),
            seed: options.seed.or(file.seed).unwrap_or(0),
            samples: options.samples.or(file.samples).unwrap_or(DEFAULT_SAMPLES),
            precondition: options.precondition.or(file.precondition).unwrap_or_default(),
            attribution: options.attribution || file.attribution.unwrap_or(false),
            compare: options.compare.clone().or(file.compare.map(beside)),
            checks: file.validate,
        })
    }

    /// The experiment of options alone.
    pub fn from_options(options: &Options) -> Result<Self, LabError> {
        let missing = |option: &str, what: &str| {
            LabError::config(option, format!("missing; give {what}, or an experiment file"))
        };
        let device = options.device.as_deref().ok_or_else(|| missing("--device", "a device"))?;
        let workload = options
            .workload()?
            .ok_or_else(|| missing("--fio", "a job file, or a trace with --trace"))?;
        let device = crate::load_device(device, &options.set)?;
        Ok(Self::of(device, workload, options))
    }

    /// An experiment of a device and a workload at hand; of the options, those count that say
    /// neither.
    pub fn of(device: ResolvedDevice, workload: Workload, options: &Options) -> Self {
        Experiment {
            name: format!(
                "{}-{}",
                stem(Path::new(&device.name)),
                stem(Path::new(&workload.path()))
            ),
            device,
            workload,
            volume: options.volume,
            pace: options.pace.clone(),
            pace_from: options.pace_from.clone(),
            pace_place: None,
            seed: options.seed.unwrap_or(0),
            samples: options.samples.unwrap_or(DEFAULT_SAMPLES),
            precondition: options.precondition.unwrap_or_default(),
            attribution: options.attribution,
            compare: options.compare.clone(),
            checks: None,
        }
    }

    /// The volume in bytes.
    pub fn volume_bytes(&self) -> Option<u64> {
        Some(self.volume?.bytes(self.device.logical_bytes()))
    }

    /// Prepares the workload without running it, so that its errors come before anything runs.
    /// Refuses what does not fit into memory.
    pub fn check(self) -> Result<Checked, LabError> {
        let device_bytes = self.device.geometry.memory_bytes();
        self.check_memory(device_bytes)?;
        self.check_memory(device_bytes + source::memory_bytes(&self)?)?;
        let built = source::build(&self)?;
        let memory_bytes = device_bytes + built.memory_bytes;
        self.check_memory(memory_bytes)?;
        Ok(Checked {
            ignored: built.ignored,
            notices: built.notices,
            memory_bytes,
            total_bytes: built.total_bytes,
            experiment: self,
        })
    }

    /// Bytes of memory that the run takes, on whatever machine it will run.
    ///
    /// # Errors
    /// What the workload cannot do on this device.
    pub fn needed_memory(&self) -> Result<u64, LabError> {
        Ok(self.device.geometry.memory_bytes() + source::build(self)?.memory_bytes)
    }

    fn check_memory(&self, needed: u64) -> Result<(), LabError> {
        let what = format!("{} on device {}", self.name, self.device.name);
        refuse_if_short(what, needed, crate::host::available_memory())
    }

    /// The same experiment with another seed.
    pub fn with_seed(&self, seed: u64) -> Self {
        Experiment { seed, ..self.clone() }
    }
}

/// Refuses a run that needs more memory than there is.
pub(crate) fn refuse_if_short(
    what: String,
    needed: u64,
    available: Option<u64>,
) -> Result<(), LabError> {
    match available {
        Some(available) if needed > available => Err(LabError::Memory { what, needed, available }),
        _ => Ok(()),
    }
}

/// `device = "warp"`, or `[device]` with `profile` and overrides.
fn device_of_file(
    layers: &mut Layers,
    folder: &Path,
    options: &Options,
) -> Result<ResolvedDevice, LabError> {
    if let Some(device) = &options.device {
        layers.remove("device");
        return crate::load_device(device, &options.set);
    }
    let named = if layers.has("device.profile") { "device.profile" } else { "device" };
    let place = layers.clone();
    let unknown = |reason: String| place.error(named, &reason);
    let missing = layers.error("device", "missing; give a profile's name or a table");
    let malformed = layers.error("device", "expected a profile's name or a table");
    let (name, upper) = match layers.split_off("device").ok_or(missing)? {
        Err(toml::Value::String(name)) => (name, None),
        Err(_) => return Err(malformed),
        Ok(mut table) => match table.take_string("profile")? {
            Some(name) => (name, Some(table)),
            // The whole device is here.
            None => return resolve("device", table, &options.set),
        },
    };
    let mut base = base_layers(&name, folder, unknown)?;
    if let Some(upper) = upper {
        base.lay(upper);
    }
    resolve(&name, base, &options.set)
}

fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(|| "run".to_owned(), |stem| stem.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_does_not_fit_is_refused_with_the_estimate() {
        let check = |available| refuse_if_short("a on device b".into(), 3 << 30, available);
        let error = check(Some(1 << 30)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a on device b needs 3.0 GiB of memory, 1.0 GiB are available"
        );
        assert!(error.is_usage());
        assert!(check(Some(3 << 30)).is_ok() && check(None).is_ok());
    }
}
