//! One run: moves commands from a stream to a device and samples the counters.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use wafer_device::Device;
use wafer_device::policy::VictimPolicy;
use wafer_interface::{
    Batch, Command, CommandStream, Completion, LBA_BYTES, Observer, StreamState,
};
use wafer_record::record::SteadyRecord;
use wafer_record::{AttributionRecord, ReclaimUnits, Record, Recorder, Timeline};

use crate::assemble;
use crate::control::{Control, Progress, Stage};
use crate::drive::{Drive, Placements, Watch, snapshot, wear};
use crate::error::LabError;
use crate::experiment::Experiment;
use crate::precondition::PreconditionStream;
use crate::reference::Reference;
use crate::seed;
use crate::source::Built;
use crate::steady::{self, SteadyStates};
use crate::time::TimedRun;

/// Number of commands requested from the stream at once.
const BATCH: usize = 4096;
/// Time between two progress reports.
const PROGRESS_EVERY: Duration = Duration::from_millis(50);
/// Number of commands without a write after which a run stops with an error.
const MOST_WITHOUT_WRITE: u64 = 1 << 30;

/// Runs an experiment and returns its record.
pub fn run(experiment: &Experiment, control: Control<'_>) -> Result<Record, LabError> {
    run_watched(experiment, None, control)
}

/// Runs an experiment with a victim policy of the caller's. The record names it `name` in `gc.policy`.
///
/// # Errors
/// As [`run`].
pub fn run_with_policy(
    experiment: &Experiment,
    name: &str,
    policy: Box<dyn VictimPolicy>,
    control: Control<'_>,
) -> Result<Record, LabError> {
    let mut record = run_watched(experiment, Some(policy), control)?;
    if let Some(key) = record.provenance.config.as_mut().and_then(|c| c.pointer_mut("/gc/policy")) {
        *key = name.into();
    }
    Ok(record)
}

fn run_watched(
    experiment: &Experiment,
    policy: Option<Box<dyn VictimPolicy>>,
    control: Control<'_>,
) -> Result<Record, LabError> {
    let built = experiment.build()?;
    match (experiment.attribution, experiment.timed) {
        (true, true) => run_built::<true, true>(experiment, built, policy, control),
        (true, false) => run_built::<true, false>(experiment, built, policy, control),
        (false, true) => run_built::<false, true>(experiment, built, policy, control),
        (false, false) => run_built::<false, false>(experiment, built, policy, control),
    }
}

/// Runs with `policy`, or with the policy of the configuration.
fn run_built<const ATTRIBUTION: bool, const TIMED: bool>(
    experiment: &Experiment,
    built: Built,
    policy: Option<Box<dyn VictimPolicy>>,
    control: Control<'_>,
) -> Result<Record, LabError> {
    let started = std::time::SystemTime::now();
    let published = match &experiment.compare {
        Some(path) => {
            vec![Reference::read(path)?.published(path, experiment.device.logical_bytes())]
        }
        None => Vec::new(),
    };
    let clock = Instant::now();
    let mut stream = built.stream;
    // What a policy from outside does is not known from its name.
    let states = control.steady.filter(|_| policy.is_none());
    let (mut device, steady) = match steady::find::<ATTRIBUTION, TIMED>(experiment, states) {
        Some((device, steady)) => {
            if experiment.precondition.load {
                skip_load(stream.as_mut());
            }
            (device, Some(steady))
        }
        None => precondition(experiment, policy, stream.as_mut(), control, states)?,
    };
    if steady.is_some() {
        device.reset_counters();
        device.observer_mut().restart();
    }
    let precondition_seconds = clock.elapsed().as_secs_f64();

    let clock = Instant::now();
    let limit = experiment.volume_bytes();
    let total = [limit, built.total_bytes].into_iter().flatten().min();
    let mut recorder = Recorder::new(experiment.samples, total);
    let mut time = None;
    if let Some(timing) = experiment.timing() {
        let pump = Pump { total, ..Pump::new(control, Stage::Running) };
        device.observer_mut().wants_work = true;
        let mut timed = TimedRun::new(&mut device, stream.as_mut(), timing, &built.jobs, limit)
            .map_err(|(key, reason)| {
                LabError::config(format!("{}: {key}", experiment.device.name), reason)
            })?;
        let mut reported = Instant::now();
        timed.run(&mut recorder, |device| {
            if control.cancel.load(Ordering::Relaxed) {
                return Err(LabError::Cancelled);
            }
            if reported.elapsed() >= PROGRESS_EVERY {
                reported = Instant::now();
                pump.report(device, device.counters().host_bytes);
            }
            Ok(())
        })?;
        time = Some(timed.record(timing));
        let host = device.counters().host_bytes;
        pump.report(&mut device, host);
    } else {
        let mut pump = Pump { total, limit, ..Pump::new(control, Stage::Running) };
        pump.drive(&mut device, stream.as_mut(), Some(&mut recorder))?;
    }
    let wall_seconds = clock.elapsed().as_secs_f64();

    let timeline: Timeline = recorder.finish(&device);
    Ok(assemble::assemble(assemble::Outcome {
        experiment,
        started,
        counters: device.counters(),
        events: device.observer().events,
        wear: wear(&device),
        attribution: AttributionRecord::of(&device),
        figures: stream.figures(),
        timeline,
        time,
        reclaim_units: ReclaimUnits::of(&device),
        published,
        wall_seconds,
        precondition_seconds,
        steady,
        ignored: built.ignored,
    }))
}

/// Returns a drive in the state that the run begins with.
fn precondition<const ATTRIBUTION: bool, const TIMED: bool>(
    experiment: &Experiment,
    policy: Option<Box<dyn VictimPolicy>>,
    stream: &mut dyn CommandStream,
    control: Control<'_>,
    states: Option<&dyn SteadyStates>,
) -> Result<(Drive<ATTRIBUTION, TIMED>, Option<SteadyRecord>), LabError> {
    let config = &experiment.device.config;
    let watch = Watch::<ATTRIBUTION, TIMED>::default();
    let made: Result<Drive<ATTRIBUTION, TIMED>, _> = match policy {
        None => Device::with_observer(config, experiment.seed, watch),
        Some(policy) => Device::with_policy(config, policy, experiment.seed, watch),
    };
    let mut device: Drive<ATTRIBUTION, TIMED> = made.map_err(|e| {
        LabError::config(format!("{}: {}", experiment.device.name, e.key), e.message)
    })?;
    let seed = seed::derived(experiment.seed, 0);
    if let Some(stream) =
        PreconditionStream::new(&experiment.precondition, &experiment.device.geometry, seed)
    {
        let total = Some(stream.total_bytes());
        let mut pump = Pump { total, ..Pump::new(control, Stage::Preconditioning) };
        pump.drive(&mut device, &mut stream.into_stream(), None)?;
        device.reset_counters();
        device.observer_mut().restart();
    }
    if experiment.precondition.load {
        let mut pump = Pump::new(control, Stage::Preconditioning);
        pump.load = true;
        pump.drive(&mut device, stream, None)?;
        if device.counters().host_bytes == 0 {
            let reason = "`load`: the workload has nothing to load; an application model has";
            return Err(LabError::config("precondition", reason));
        }
        device.reset_counters();
        device.observer_mut().restart();
    }
    let mut steady = None;
    if experiment.precondition.steady {
        let made = steady::make(experiment, &mut device, control)?;
        steady::keep(experiment, &device, &made, states);
        steady = Some(made);
    }
    Ok((device, steady))
}

/// Takes the load of a workload from its stream: the drive has it already.
fn skip_load(stream: &mut dyn CommandStream) {
    let mut batch = Batch::with_capacity(BATCH);
    loop {
        batch.clear();
        let _ = stream.load(&mut batch, BATCH);
        if batch.is_empty() {
            return;
        }
        if stream.description().waits {
            let completion = |ticket: &u64| Completion { ticket: *ticket, time_ns: None };
            stream.completed(&batch.tickets.iter().map(completion).collect::<Vec<_>>());
        }
    }
}

/// Moves commands from a stream to a device.
pub(crate) struct Pump<'a> {
    pub(crate) control: Control<'a>,
    pub(crate) stage: Stage,
    /// Bytes expected, for the progress report.
    pub(crate) total: Option<u64>,
    /// Host bytes at which to stop, exactly.
    pub(crate) limit: Option<u64>,
    /// Takes the stream's load instead of its commands.
    pub(crate) load: bool,
}

impl<'a> Pump<'a> {
    pub(crate) fn new(control: Control<'a>, stage: Stage) -> Self {
        Pump { control, stage, total: None, limit: None, load: false }
    }

    pub(crate) fn drive<const ATTRIBUTION: bool, const TIMED: bool>(
        &mut self,
        device: &mut Drive<ATTRIBUTION, TIMED>,
        stream: &mut (impl CommandStream + ?Sized),
        mut recorder: Option<&mut Recorder>,
    ) -> Result<(), LabError> {
        let limit = self.limit.unwrap_or(u64::MAX);
        let mut batch = Batch::with_capacity(BATCH);
        let description = stream.description();
        let placements = Placements::of(device.geometry(), description);
        let mut completions = Vec::new();
        let mut reported = Instant::now();
        let mut without_write = 0;
        let mut host = device.counters().host_bytes;
        while host < limit {
            if self.control.cancel.load(Ordering::Relaxed) {
                return Err(LabError::Cancelled);
            }
            batch.clear();
            let state = match self.load {
                true => stream.load(&mut batch, BATCH),
                false => stream.next(&mut batch, BATCH),
            };
            if batch.is_empty() {
                if state == StreamState::Waiting {
                    let reason = "the workload waits for a completion and no command is in flight";
                    return Err(LabError::Run(reason.to_owned()));
                }
                break;
            }
            placements.resolve(&mut batch.commands);
            let before = host;
            host = self.apply(device, &mut batch.commands, limit, host, recorder.as_deref_mut());
            if description.waits {
                let completion = |ticket: &u64| Completion { ticket: *ticket, time_ns: None };
                completions.clear();
                completions.extend(batch.tickets.iter().map(completion));
                stream.completed(&completions);
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

    /// Applies one batch up to the limit and records the samples due within it. Returns the host bytes
    /// written since the counters were reset.
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

    fn report<const ATTRIBUTION: bool, const TIMED: bool>(
        &self,
        device: &mut Drive<ATTRIBUTION, TIMED>,
        done: u64,
    ) {
        (self.control.progress)(Progress { stage: self.stage, done, total: self.total });
        if let Some(watch) = self.control.watch {
            watch(snapshot(device, self.stage));
        }
    }
}

fn written(commands: &[Command]) -> u64 {
    commands.iter().map(Command::written_bytes).sum()
}

/// Returns the position of the command that completes `bytes` written bytes.
fn crossing(commands: &[Command], bytes: u64) -> Option<usize> {
    if written(commands) < bytes {
        return None;
    }
    let mut sum = 0;
    commands.iter().position(|command| {
        sum += command.written_bytes();
        sum >= bytes
    })
}

#[cfg(test)]
mod tests;
