//! One run: a device, what is written to it, and the counters on the way.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use wafer_core::policy::VictimPolicy;
use wafer_core::{Command, Counters, Device, FdpEvent, HandleCounters, LBA_BYTES, Observer, Op};
use wafer_workload::CommandStream;

use crate::attribution::AttributionRecord;
use crate::drive::{Drive, Events, Placements, Watch, wear};
use crate::source::{self, Built};
use crate::timeline::{Recorder, Timeline};
use crate::{Experiment, LabError, ReclaimUnits, Reference, ResultRecord, record};

/// Commands taken from the stream at a time.
const BATCH: usize = 4096;
/// Time between two progress reports.
const PROGRESS_EVERY: Duration = Duration::from_millis(50);
/// A stream may yield this many commands without a write before the run gives up.
const MOST_WITHOUT_WRITE: u64 = 1 << 30;

/// What a run is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Writing what the precondition asks for; not counted.
    Preconditioning,
    /// Writing the workload.
    Running,
}

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// What is being done.
    pub stage: Stage,
    /// Host bytes done in this stage.
    pub done: u64,
    /// Host bytes of the stage, if known.
    pub total: Option<u64>,
}

/// How a caller follows and stops a run.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    /// Set to stop the run soon.
    pub cancel: &'a AtomicBool,
    /// Called about every 50 ms, and once at the end of a stage.
    pub progress: &'a (dyn Fn(Progress) + Sync),
    /// Called as often with the device as it is then; it costs a walk over the reclaim units.
    pub watch: Option<&'a (dyn Fn(View) + Sync)>,
}

/// The device at one moment of a run.
#[derive(Clone, Debug)]
pub struct View {
    /// What the run is doing.
    pub stage: Stage,
    /// Counters since the run's first write, or of the preconditioning so far.
    pub counters: Counters,
    /// Counters of each reclaim unit handle.
    pub handles: Vec<HandleCounters>,
    /// Relocated data of all initially isolated handles, where there is such.
    pub gc: Option<HandleCounters>,
    /// The reclaim units.
    pub reclaim_units: ReclaimUnits,
    /// FDP events of this stage so far, by type.
    pub events: Events,
    /// The newest events since the last view, the oldest first; 40 at most.
    pub newest_events: Vec<FdpEvent>,
}

impl Control<'_> {
    /// Nobody watches, nobody stops it.
    pub fn unattended() -> Control<'static> {
        static NEVER: AtomicBool = AtomicBool::new(false);
        Control { cancel: &NEVER, progress: &|_| {}, watch: None }
    }
}

/// Runs an experiment and answers its record.
pub fn run(experiment: &Experiment, control: Control<'_>) -> Result<ResultRecord, LabError> {
    run_watched(experiment, None, control)
}

/// Runs an experiment with a victim policy that need not be one of a configuration's names. The
/// record's `gc.policy` becomes `name`, so that the record does not claim another.
///
/// # Errors
/// As [`run`].
pub fn run_with_policy(
    experiment: &Experiment,
    name: &str,
    policy: Box<dyn VictimPolicy>,
    control: Control<'_>,
) -> Result<ResultRecord, LabError> {
    let mut record = run_watched(experiment, Some(policy), control)?;
    name.clone_into(&mut record.provenance.config.gc.policy);
    Ok(record)
}

fn run_watched(
    experiment: &Experiment,
    policy: Option<Box<dyn VictimPolicy>>,
    control: Control<'_>,
) -> Result<ResultRecord, LabError> {
    let built = source::build(experiment)?;
    match experiment.attribution {
        true => run_built::<true>(experiment, built, policy, control),
        false => run_built::<false>(experiment, built, policy, control),
    }
}

/// With the configuration's policy, or another.
fn run_built<const ATTRIBUTION: bool>(
    experiment: &Experiment,
    built: Built,
    policy: Option<Box<dyn VictimPolicy>>,
    control: Control<'_>,
) -> Result<ResultRecord, LabError> {
    let started = std::time::SystemTime::now();
    let published = match &experiment.compare {
        Some(path) => {
            vec![Reference::read(path)?.published(path, experiment.device.logical_bytes())]
        }
        None => Vec::new(),
    };
    let config = &experiment.device.config;
    let watch = Watch::<ATTRIBUTION>::default();
    let made: Result<Drive<ATTRIBUTION>, _> = match policy {
        None => Device::with_observer(config, experiment.seed, watch),
        Some(policy) => {
            let geometry = experiment.device.geometry.clone();
            Device::with_geometry(geometry, policy, experiment.seed, watch)
        }
    };
    let mut device: Drive<ATTRIBUTION> = made.map_err(|e| {
        LabError::config(format!("{}: {}", experiment.device.name, e.key), e.message)
    })?;

    let clock = Instant::now();
    let seed = precondition_seed(experiment.seed);
    if let Some(mut stream) = experiment.precondition.stream(&experiment.device.geometry, seed) {
        let total = Some(stream.total_bytes());
        let mut pump = Pump { control, stage: Stage::Preconditioning, total, limit: None };
        pump.drive(&mut device, &mut stream, None)?;
        device.reset_counters();
        *device.observer_mut() = Watch::default();
    }
    let mut stream = built.stream;
    stream.heed_updates();
    if experiment.precondition.load {
        let mut pump = Pump { control, stage: Stage::Preconditioning, total: None, limit: None };
        pump.drive(&mut device, &mut Load(stream.as_mut()), None)?;
        if device.counters().host_bytes == 0 {
            let reason = "`load`: the workload has nothing to load; an application model has";
            return Err(LabError::config("precondition", reason));
        }
        device.reset_counters();
        *device.observer_mut() = Watch::default();
    }
    let precondition_seconds = clock.elapsed().as_secs_f64();

    let clock = Instant::now();
    let limit = experiment.volume_bytes();
    let total = [limit, built.total_bytes].into_iter().flatten().min();
    let mut recorder = Recorder::new(experiment.samples, total);
    let mut pump = Pump { control, stage: Stage::Running, total, limit };
    pump.drive(&mut device, stream.as_mut(), Some(&mut recorder))?;
    let wall_seconds = clock.elapsed().as_secs_f64();

    let timeline: Timeline = recorder.finish(&device);
    Ok(record::assemble(record::Outcome {
        experiment,
        started,
        counters: device.counters(),
        events: device.observer().events,
        wear: wear(&device),
        attribution: AttributionRecord::of(&device),
        figures: stream.figures(),
        timeline,
        reclaim_units: ReclaimUnits::of(&device),
        published,
        wall_seconds,
        precondition_seconds,
        ignored: built.ignored,
    }))
}

/// A seed for the precondition that is not the workload's: SplitMix64 of the run's seed.
fn precondition_seed(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The load of an application as a stream.
struct Load<'a>(&'a mut dyn CommandStream);

impl CommandStream for Load<'_> {
    fn fill(&mut self, out: &mut Vec<Command>, max: usize) {
        self.0.fill_load(out, max);
    }
}

/// Moves commands from a stream to a device.
struct Pump<'a> {
    control: Control<'a>,
    stage: Stage,
    /// Bytes expected, for the progress report.
    total: Option<u64>,
    /// Host bytes at which to stop, exactly.
    limit: Option<u64>,
}

impl Pump<'_> {
    fn drive<const ATTRIBUTION: bool>(
        &mut self,
        device: &mut Drive<ATTRIBUTION>,
        stream: &mut (impl CommandStream + ?Sized),
        mut recorder: Option<&mut Recorder>,
    ) -> Result<(), LabError> {
        let limit = self.limit.unwrap_or(u64::MAX);
        let mut batch: Vec<Command> = Vec::with_capacity(BATCH);
        let placements = Placements::of(device, stream);
        let mut reported = Instant::now();
        let mut without_write = 0;
        let mut host = device.counters().host_bytes;
        while host < limit {
            if self.control.cancel.load(Ordering::Relaxed) {
                return Err(LabError::Cancelled);
            }
            batch.clear();
            stream.fill(&mut batch, BATCH);
            let update = stream.take_update();
            if batch.is_empty() && update.is_none() {
                break;
            }
            placements.resolve(&mut batch);
            let before = host;
            host = self.apply(device, &mut batch, limit, host, recorder.as_deref_mut());
            if let Some((namespace, placement)) = update {
                // What the namespace does not have is not updated, as on the drive.
                let _ = device.update_reclaim_unit(namespace, placement);
            }
            without_write = if host > before { 0 } else { without_write + batch.len() as u64 };
            if without_write > MOST_WITHOUT_WRITE && self.limit.is_some() {
                return Err(LabError::Run(format!(
                    "the workload sent {without_write} commands without a write; the volume would \
                     never be reached"
                )));
            }
            if reported.elapsed() >= PROGRESS_EVERY {
                reported = Instant::now();
                self.report(device, host);
            }
        }
        self.report(device, host);
        Ok(())
    }

    /// Applies one batch, takes the points that fall into it, cuts it at the limit. Answers the
    /// host bytes then.
    fn apply(
        &self,
        device: &mut Device<impl Observer>,
        batch: &mut [Command],
        limit: u64,
        mut host: u64,
        mut recorder: Option<&mut Recorder>,
    ) -> u64 {
        let mut rest = 0;
        loop {
            let due = recorder.as_ref().map_or(u64::MAX, |r| r.next()).min(limit);
            let Some(last) = crossing(&batch[rest..], due - host) else {
                device.apply(&batch[rest..]);
                return device.counters().host_bytes;
            };
            let last = rest + last;
            let over = host + written(&batch[rest..=last]);
            if over > limit {
                batch[last].blocks -= ((over - limit) / LBA_BYTES) as u32;
            }
            device.apply(&batch[rest..=last]);
            host = device.counters().host_bytes;
            rest = last + 1;
            match recorder.as_deref_mut() {
                Some(recorder) if host >= recorder.next() => recorder.record(device),
                _ => {}
            }
            if host >= limit {
                return host;
            }
        }
    }

    fn report<const ATTRIBUTION: bool>(&self, device: &mut Drive<ATTRIBUTION>, done: u64) {
        (self.control.progress)(Progress { stage: self.stage, done, total: self.total });
        if let Some(watch) = self.control.watch {
            watch(View {
                stage: self.stage,
                counters: device.counters(),
                handles: device.handle_counters().to_vec(),
                gc: device.gc_counters(),
                reclaim_units: ReclaimUnits::of(device),
                events: device.observer().events,
                newest_events: device.observer_mut().newest.drain(..).collect(),
            });
        }
    }
}

fn write_bytes(command: &Command) -> u64 {
    if command.op == Op::Write { command.bytes() } else { 0 }
}

fn written(commands: &[Command]) -> u64 {
    commands.iter().map(write_bytes).sum()
}

/// The first command with which `bytes` have been written.
fn crossing(commands: &[Command], bytes: u64) -> Option<usize> {
    if written(commands) < bytes {
        return None;
    }
    let mut sum = 0;
    commands.iter().position(|command| {
        sum += write_bytes(command);
        sum >= bytes
    })
}

#[cfg(test)]
mod tests;
