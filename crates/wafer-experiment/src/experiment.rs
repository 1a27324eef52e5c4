//! Experiments: a device, a workload, a volume and a seed, from a file, from options, or from a file that options
//! override.

mod file;

use std::path::{Path, PathBuf};

pub use file::{DEFAULT_SAMPLES, SAMPLES, schema};
use wafer_device::DeviceConfig;
use wafer_interface::TimingConfig;
use wafer_record::files::read_text;
use wafer_record::{Precondition, Volume};

use self::file::ExperimentFile;
use crate::checks::Checks;
use crate::error::LabError;
use crate::memory::refuse_if_short;
use crate::source::{self, Built, SourceTarget, Workload};
use wafer_config::Place;
use wafer_config::schema::names;
use wafer_config::{Files, Layers, ResolvedDevice, base_layers, load_device, resolve};

/// A specification of a run.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Name for tables and files.
    pub name: String,
    /// The device.
    pub device: ResolvedDevice,
    /// The workload.
    pub workload: Workload,
    /// Host bytes to write; `None`: until the workload ends.
    pub volume: Option<Volume>,
    /// Shares of the bytes of jobs that run at the same time, `JOB=SHARE,...`.
    pub pace: Option<String>,
    /// CSV file whose columns `pace` may name.
    pub pace_from: Option<PathBuf>,
    /// Where the experiment file sets `pace`; `None` if an option does.
    pub pace_place: Option<Place>,
    /// Random seed.
    pub seed: u64,
    /// Maximum number of timeline samples.
    pub samples: usize,
    /// State of the device at the start.
    pub precondition: Precondition,
    /// Whether to record attribution of relocations to handles.
    pub attribution: bool,
    /// Whether the run has a clock.
    pub timed: bool,
    /// Table of published WAF to compare with.
    pub compare: Option<PathBuf>,
    /// Volumes and tolerances of that comparison; only from a file.
    pub checks: Option<Checks>,
}

/// An experiment whose workload has been read and can be run.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The experiment.
    pub experiment: Experiment,
    /// Options of the job file that do not affect what is written.
    pub ignored: Vec<wafer_record::record::IgnoredOption>,
    /// Notes for the user before the run, one line each.
    pub notices: Vec<String>,
    /// Bytes of memory that the run takes, device and workload.
    pub memory_bytes: u64,
    /// Bytes that the workload writes if it ends on its own; `None` if its run time or the volume ends it.
    pub total_bytes: Option<u64>,
}

/// Multiples of the capacity above which a run without a volume is probably not intended.
const MANY_VOLUMES: u64 = 100;

/// Options of a caller; each value overrides that of the experiment file.
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
    /// Maximum number of timeline samples.
    pub samples: Option<usize>,
    /// State of the device at the start.
    pub precondition: Option<Precondition>,
    /// Whether to record attribution even if the file does not.
    pub attribution: bool,
    /// Whether the run has a clock; `None`: as the file says.
    pub timed: Option<bool>,
    /// Table of published WAF.
    pub compare: Option<PathBuf>,
    /// Folder with traces and other data, searched first.
    pub data_dir: Option<PathBuf>,
}

impl Options {
    /// Checks the values that options share with files; the errors name the option.
    fn check(&self, device: &ResolvedDevice) -> Result<(), LabError> {
        if self.pace.as_deref().is_some_and(|pace| pace.trim().is_empty()) {
            return Err(LabError::argument("pace", "names no job"));
        }
        let volume = self.volume.map_or(Ok(()), |volume| check_volume(volume, device));
        volume.map_err(|reason| LabError::argument("volume", reason))
    }

    /// Returns the workload that the options name, if any.
    fn workload(&self) -> Result<Option<Workload>, LabError> {
        match (&self.fio, self.traces.as_slice()) {
            (Some(_), [_, ..]) => {
                Err(LabError::argument("trace", "give a trace or a job file, not both"))
            }
            (_, []) if !self.trace_set.is_empty() => {
                Err(LabError::argument("trace_set", "there is no trace to set it for"))
            }
            (None, []) => Ok(None),
            (Some(fio), []) => Workload::fio(fio).map(Some),
            (None, traces) => Workload::traces(traces, &self.trace_set).map(Some),
        }
    }
}

/// Maximum multiples of the logical capacity that a run may write: years on a real drive.
const MOST_VOLUMES: f64 = 1e6;

/// Refuses a volume that no run could reach.
fn check_volume(volume: Volume, device: &ResolvedDevice) -> Result<(), String> {
    let most = MOST_VOLUMES * device.logical_bytes() as f64;
    match volume.bytes(device.logical_bytes()) as f64 <= most {
        true => Ok(()),
        false => Err(format!("{volume} is more than {MOST_VOLUMES} times the capacity")),
    }
}

impl Experiment {
    /// Reads an experiment file; options override it.
    pub fn from_file(path: &Path, options: &Options) -> Result<Self, LabError> {
        Self::from_text(path, &read_text(path)?, options)
    }

    /// Like [`Experiment::from_file`], from the text of a file that need not exist: `path` names it in messages, and
    /// relative paths start at its folder.
    ///
    /// # Errors
    /// The text is invalid; the message names line and key.
    pub fn from_text(path: &Path, text: &str, options: &Options) -> Result<Self, LabError> {
        let label = path.display().to_string();
        let mut layers = Layers::from_text(&label, text)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let files = Files::new(folder, options.data_dir.as_deref());
        if let Some(key) = names::<DeviceConfig>().iter().find(|key| layers.has(key)) {
            let reason = format!(
                "a key of the device; write `device = {{ profile = \"NAME\", {key} = ... }}`"
            );
            return Err(layers.error(key, &reason).into());
        }
        let known = [
            ["device", "workload", "tenants"].map(String::from).to_vec(),
            names::<ExperimentFile>(),
        ];
        layers.refuse_others(&known.concat())?;
        let device = device_of_file(&mut layers, folder, options)?;
        options.check(&device)?;
        let workload = match options.workload()? {
            Some(workload) => {
                layers.remove("workload");
                layers.remove("tenants");
                workload
            }
            None => source::of_file(&mut layers, &files, path)?,
        };
        let file: ExperimentFile = layers.read()?;
        if file.samples.is_some_and(|samples| !SAMPLES.contains(&samples)) {
            let reason = format!("expected {} to {}", SAMPLES.start(), SAMPLES.end());
            return Err(layers.error("samples", &reason).into());
        }
        if let (None, Some(volume)) = (options.volume, file.volume) {
            check_volume(volume, &device).map_err(|reason| layers.error("volume", &reason))?;
        }
        if file.pace.as_deref().is_some_and(|pace| pace.trim().is_empty()) {
            return Err(layers.error("pace", "names no job").into());
        }
        if let Some(Err((key, reason))) = file.validate.as_ref().map(Checks::check) {
            return Err(layers.error(key, &reason).into());
        }
        let beside = |path: PathBuf| folder.join(path);
        Ok(Experiment {
            name: stem(path),
            device,
            workload,
            volume: options.volume.or(file.volume),
            pace_place: match (&options.pace, &options.pace_from, &file.pace) {
                (None, _, Some(_)) => Some(layers.place("pace")),
                (None, None, None) => Some(layers.place("pace_from")),
                _ => None,
            },
            pace: options.pace.clone().or(file.pace),
            pace_from: options.pace_from.clone().or(file.pace_from.map(beside)),
            seed: options.seed.or(file.seed).unwrap_or(0),
            samples: options.samples.or(file.samples).unwrap_or(DEFAULT_SAMPLES),
            precondition: options.precondition.or(file.precondition).unwrap_or_default(),
            attribution: options.attribution || file.attribution.unwrap_or(false),
            timed: options.timed.or(file.time).unwrap_or(false),
            compare: options.compare.clone().or(file.compare.map(beside)),
            checks: file.validate,
        })
    }

    /// Creates an experiment from options alone.
    pub fn from_options(options: &Options) -> Result<Self, LabError> {
        let missing = |name| LabError::argument(name, "missing; it has no default");
        let device = options.device.as_deref().ok_or_else(|| missing("device"))?;
        let workload = options.workload()?.ok_or_else(|| missing("workload"))?;
        let device = load_device(device, &options.set)?;
        options.check(&device)?;
        Ok(Self::of(device, workload, options))
    }

    /// Creates an experiment from a device and a workload; options that name either are ignored.
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
            timed: options.timed.unwrap_or(false),
            compare: options.compare.clone(),
            checks: None,
        }
    }

    /// Returns the files that the run reads.
    pub fn files(&self) -> Vec<PathBuf> {
        let optional = [&self.pace_from, &self.compare].into_iter().flatten().cloned();
        let device = std::iter::once(self.device.name.clone().into());
        self.workload.files().into_iter().chain(optional).chain(device).collect()
    }

    /// Returns the volume in bytes.
    pub fn volume_bytes(&self) -> Option<u64> {
        Some(self.volume?.bytes(self.device.logical_bytes()))
    }

    /// Returns a note if the run ends late, only by the runtime of its jobs, or before a fresh drive is full and
    /// garbage collection has begun. `total_bytes` is [`Checked::total_bytes`]; it only matters without a volume.
    pub fn unusual_end(&self, total_bytes: Option<u64>) -> Option<String> {
        let (path, capacity) = (self.workload.path(), self.device.logical_bytes());
        let hint = "volume 5x ends the run after five capacities";
        let Some(volume) = self.volume else {
            return match total_bytes.map(|total| total / capacity.max(1)) {
                // With a clock, jobs end as intended, by `runtime` in model time.
                None if self.timed => None,
                None => Some(format!("{path}: runs until the runtime of the jobs ends; {hint}")),
                Some(volumes) => (volumes >= MANY_VOLUMES)
                    .then(|| format!("{path}: writes {volumes} times the capacity; {hint}")),
            };
        };
        let is_fresh = self.precondition == Precondition::default() && !self.timed;
        let share = volume.bytes(capacity) as f64 / capacity as f64;
        (is_fresh && share < 1.0).then(|| {
            format!(
                "volume: {volume} is {share:.2} of the capacity; WAF is not meaningful before a fresh drive is full"
            )
        })
    }

    /// Returns the timing of the device, for a run with a clock.
    pub fn timing(&self) -> Option<&TimingConfig> {
        self.device.config.timing.as_ref().filter(|_| self.timed)
    }

    /// Returns the target for building the workload.
    pub fn target(&self) -> SourceTarget<'_> {
        SourceTarget {
            device: &self.device,
            seed: self.seed,
            until_volume: self.volume.is_some(),
            timed: self.timed,
            without_reads: false,
            pace: self.pace.as_deref(),
            pace_from: self.pace_from.as_deref(),
            pace_place: self.pace_place.as_ref(),
        }
    }

    /// Builds the workload.
    ///
    /// # Errors
    /// The workload does not fit this device; one line with file, line and key.
    pub fn build(&self) -> Result<Built, LabError> {
        if self.timed {
            let place = || format!("device {}", self.device.name);
            let clock = self.device.config.check_clock();
            clock.map_err(|reason| LabError::config(place(), reason))?;
        }
        self.workload.build(&self.target())
    }

    /// Builds the workload without running it, to find errors before anything runs.
    ///
    /// # Errors
    /// Like [`Experiment::build`], or the run does not fit into memory.
    pub fn check(self) -> Result<Checked, LabError> {
        let device_bytes = self.device.memory_bytes();
        self.check_memory(device_bytes)?;
        self.check_memory(device_bytes + self.workload.memory_bytes(&self.target())?)?;
        let built = self.build()?;
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

    /// Returns the memory that the run takes in bytes, whether the machine has it or not.
    ///
    /// # Errors
    /// Like [`Experiment::build`].
    pub fn needed_memory(&self) -> Result<u64, LabError> {
        Ok(self.device.memory_bytes() + self.build()?.memory_bytes)
    }

    fn check_memory(&self, needed: u64) -> Result<(), LabError> {
        let what = format!("{} on device {}", self.name, self.device.name);
        refuse_if_short(what, needed, crate::memory::available_memory())
    }

    /// Returns the same experiment with another seed.
    pub fn with_seed(&self, seed: u64) -> Self {
        Experiment { seed, ..self.clone() }
    }

    /// Returns the same experiment with `count` seeds that count up from its own; the largest is followed by 0.
    pub fn with_seeds(&self, count: u64) -> impl Iterator<Item = Self> {
        (0..count).map(|more| self.with_seed(self.seed.wrapping_add(more)))
    }
}

/// Reads `device = "warp"`, or `[device]` with `profile` and overrides.
fn device_of_file(
    layers: &mut Layers,
    folder: &Path,
    options: &Options,
) -> Result<ResolvedDevice, LabError> {
    if let Some(device) = &options.device {
        layers.remove("device");
        return Ok(load_device(device, &options.set)?);
    }
    let named = if layers.has("device.profile") { "device.profile" } else { "device" };
    let place = layers.clone();
    let unknown = |reason: String| place.error(named, &reason);
    let missing = layers.error("device", "missing; give a profile's name or a table");
    let malformed = layers.error("device", "expected a profile's name or a table");
    let (name, upper) = match layers.split_off("device").ok_or(missing)? {
        Err(toml::Value::String(name)) => (name, None),
        Err(_) => return Err(malformed.into()),
        Ok(mut table) => match table.take_string("profile")? {
            Some(name) => (name, Some(table)),
            // The table is a complete device.
            None => return Ok(resolve("device", table, &options.set)?),
        },
    };
    let mut base = base_layers(&name, folder, unknown)?;
    if let Some(upper) = upper {
        base.lay(upper);
    }
    Ok(resolve(&name, base, &options.set)?)
}

fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(|| "run".to_owned(), |stem| stem.to_string_lossy().into_owned())
}
