//! A run in progress: its device, its workload and its current step.

use std::time::Duration;

use wafer_device::Device;
use wafer_device::policy::VictimPolicy;
use wafer_interface::{Batch, CommandStream, Completion, Counters};
use wafer_record::record::{IgnoredOption, SteadyRecord};
use wafer_record::{
    ArrangementRecord, AttributionRecord, Published, ReclaimUnits, Record, Recorder, Snapshot,
    TimeRecord, Wear,
};

use super::pump::{BATCH, Pump};
use crate::assemble;
use crate::clock::{Instant, SystemTime};
use crate::control::{Control, Stage, SteadyStates};
use crate::drive::{Drive, Watch, snapshot};
use crate::precondition::PreconditionStream;
use crate::steady;
use wafer_experiment::Experiment;
use wafer_experiment::LabError;
use wafer_experiment::Reference;
use wafer_experiment::source::{Built, SourceTarget, TimedJob};

/// Maximum number of logical capacities written for a drive to become steady.
const MOST_CAPACITIES: u64 = 30;
/// Relative change of WAF from one capacity to the next below which a drive is steady.
const STEADY_CHANGE: f64 = 0.01;

/// A run in progress.
pub(super) struct Underway {
    pub(super) experiment: Experiment,
    pub(super) device: Drive,
    pub(super) stream: Box<dyn CommandStream>,
    pub(super) recorder: Recorder,
    /// The jobs, as numbered by the tickets of the stream.
    pub(super) jobs: Vec<TimedJob>,
    pub(super) time: Option<TimeRecord>,
    /// Time that the run itself took, excluding preconditioning.
    pub(super) wall: Duration,
    step: Step,
    pump: Pump,
    published: Vec<Published>,
    ignored: Vec<IgnoredOption>,
    /// Bytes that the workload writes if it ends on its own.
    total_bytes: Option<u64>,
    steady: Option<SteadyRecord>,
    /// Whether drives may be saved for later runs.
    keeps: bool,
    /// Time that preconditioning took.
    before: Duration,
    started: std::time::SystemTime,
}

/// The steps of a run, in order.
enum Step {
    /// Nothing has been done yet.
    Start,
    /// The drive, filled or steady, was kept from an earlier run.
    Kept,
    /// Writes the precondition.
    Fill(Box<dyn CommandStream>),
    /// Writes the workload's load.
    Load,
    /// Writes the run's own workload, without a clock, until the WAF over one logical capacity changes by less than 1
    /// %.
    Steady(Steady),
    /// Writes the workload.
    Run,
}

/// Discards the load of a stream, because the drive already has it.
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

struct Steady {
    stream: Box<dyn CommandStream>,
    /// Counters at the start of the current capacity.
    start: Counters,
    found: SteadyRecord,
}

impl Underway {
    /// Prepares a run with `policy`, or with the policy of the configuration.
    pub(super) fn new(
        experiment: Experiment,
        built: Built,
        policy: Option<Box<dyn VictimPolicy>>,
        states: Option<&dyn SteadyStates>,
    ) -> Result<Self, LabError> {
        let started = SystemTime::now();
        let published = match &experiment.compare {
            Some(path) => {
                vec![Reference::read(path)?.published(path, experiment.device.logical_bytes())]
            }
            None => Vec::new(),
        };
        // The behaviour of a caller's policy cannot be identified by a name.
        let keeps = policy.is_none();
        let kept = steady::find(&experiment, states.filter(|_| keeps));
        let config = &experiment.device.config;
        let watch = Watch::new(experiment.attribution);
        let is_kept = kept.is_some();
        let (kept, steady) = kept.unzip();
        let steady = steady.flatten();
        let made: Result<Drive, _> = match (kept, policy) {
            (Some(kept), _) => Ok(kept),
            (None, None) => Device::with_observer(config, experiment.seed, watch),
            (None, Some(policy)) => Device::with_policy(config, policy, experiment.seed, watch),
        };
        let device = made.map_err(|e| {
            LabError::config(format!("{}: {}", experiment.device.name, e.key), e.message)
        })?;
        let total = [experiment.volume_bytes(), built.total_bytes].into_iter().flatten().min();
        let mut run = Underway {
            pump: Pump::new(&device, built.stream.as_ref(), Stage::Preconditioning),
            recorder: Recorder::new(experiment.samples, total),
            experiment,
            device,
            stream: built.stream,
            jobs: built.jobs,
            time: None,
            wall: Duration::ZERO,
            step: if is_kept { Step::Kept } else { Step::Start },
            keeps,
            published,
            ignored: built.ignored,
            total_bytes: built.total_bytes,
            steady,
            before: Duration::ZERO,
            started,
        };
        run.next(states)?;
        Ok(run)
    }

    /// Returns the bytes that the run will write, if known.
    pub(super) fn total(&self) -> Option<u64> {
        [self.experiment.volume_bytes(), self.total_bytes].into_iter().flatten().min()
    }

    /// Reports whether the run itself has not begun.
    pub(super) fn is_preparing(&self) -> bool {
        !matches!(self.step, Step::Run)
    }

    /// Continues until the step ends, or for about `most`. Returns whether anything is left to do.
    ///
    /// # Errors
    /// The run failed or was cancelled.
    pub(super) fn advance(
        &mut self,
        control: Control<'_>,
        most: Option<Duration>,
    ) -> Result<bool, LabError> {
        let clock = Instant::now();
        let preparing = self.is_preparing();
        let left = loop {
            if !self.turn(control)? {
                break self.next(control.steady)?;
            }
            if most.is_some_and(|most| clock.elapsed() >= most) {
                break true;
            }
        };
        *(if preparing { &mut self.before } else { &mut self.wall }) += clock.elapsed();
        Ok(left)
    }

    /// Moves a batch of the current step; returns whether the step continues.
    fn turn(&mut self, control: Control<'_>) -> Result<bool, LabError> {
        let (device, pump) = (&mut self.device, &mut self.pump);
        match &mut self.step {
            Step::Start | Step::Kept => Ok(false),
            Step::Fill(stream) => pump.turn(device, stream.as_mut(), None, control),
            Step::Load => pump.turn(device, self.stream.as_mut(), None, control),
            Step::Steady(steady) => pump.turn(device, steady.stream.as_mut(), None, control),
            Step::Run => pump.turn(device, self.stream.as_mut(), Some(&mut self.recorder), control),
        }
    }

    /// Ends the step and begins the next one; returns whether there is one.
    fn next(&mut self, states: Option<&dyn SteadyStates>) -> Result<bool, LabError> {
        match &self.step {
            Step::Kept => {
                // A steady drive already has the load of its workload.
                if self.steady.is_some() && self.experiment.precondition.load {
                    skip_load(self.stream.as_mut());
                }
                self.restart();
            }
            Step::Start => {}
            Step::Fill(_) => {
                if self.keeps {
                    steady::keep(&self.experiment, &self.device, None, states);
                }
                self.restart();
            }
            Step::Load => {
                if self.device.counters().host_bytes == 0 {
                    let reason =
                        "`load`: the workload has nothing to load; an application model has";
                    return Err(LabError::config("precondition", reason));
                }
                self.restart();
            }
            Step::Steady(_) => {
                if self.is_unsteady() {
                    return Ok(true);
                }
                if let Some(made) = self.steady.as_ref().filter(|_| self.keeps) {
                    steady::keep(&self.experiment, &self.device, Some(made), states);
                }
                self.restart();
            }
            Step::Run => return Ok(false),
        }
        self.step = self.following()?;
        let (stage, stream) = match &self.step {
            Step::Fill(stream) => (Stage::Preconditioning, stream),
            Step::Steady(steady) => (Stage::Preconditioning, &steady.stream),
            Step::Start | Step::Kept | Step::Load => (Stage::Preconditioning, &self.stream),
            Step::Run => (Stage::Running, &self.stream),
        };
        self.pump = Pump::new(&self.device, stream.as_ref(), stage);
        let capacity = self.experiment.device.logical_bytes();
        match &self.step {
            Step::Fill(_) => self.pump.total = self.filling(),
            Step::Start | Step::Kept => {}
            Step::Load => self.pump.load = true,
            Step::Steady(_) => {
                self.pump.total = Some(capacity);
                self.pump.limit = Some(self.device.counters().host_bytes + capacity);
                self.pump.without_reads = self.skips_reads();
            }
            Step::Run => {
                self.pump.total = self.total();
                self.pump.limit = self.experiment.volume_bytes();
            }
        }
        Ok(true)
    }

    fn following(&self) -> Result<Step, LabError> {
        let precondition = &self.experiment.precondition;
        let done = match self.step {
            Step::Start => 0,
            Step::Kept if self.steady.is_some() => 3,
            Step::Kept | Step::Fill(_) => 1,
            Step::Load => 2,
            Step::Steady(_) | Step::Run => 3,
        };
        if done < 1
            && let Some(fill) = self.fill()
        {
            return Ok(Step::Fill(Box::new(fill.into_stream())));
        }
        if done < 2 && precondition.load {
            return Ok(Step::Load);
        }
        if done < 3 && precondition.steady {
            let target = SourceTarget {
                timed: false,
                until_volume: true,
                without_reads: self.skips_reads(),
                ..self.experiment.target()
            };
            let stream = self.experiment.workload.build(&target)?.stream;
            let found = SteadyRecord::default();
            return Ok(Step::Steady(Steady { stream, start: self.device.counters(), found }));
        }
        Ok(Step::Run)
    }

    /// Returns the sequential fill and random writes of the precondition, if there are any.
    fn fill(&self) -> Option<PreconditionStream> {
        let Experiment { precondition, device, seed, .. } = &self.experiment;
        PreconditionStream::new(precondition, &device.geometry, *seed)
    }

    /// Returns the bytes of the precondition.
    fn filling(&self) -> Option<u64> {
        self.fill().map(|fill| fill.total_bytes())
    }

    /// Restarts counting from zero.
    fn restart(&mut self) {
        self.device.reset_counters();
        self.device.observer_mut().restart();
    }

    /// Returns whether the reads of the workload can be skipped before the steady state, because they do not affect it.
    fn skips_reads(&self) -> bool {
        !self.experiment.device.config.firmware.writes_for_reads()
    }

    /// Evaluates the capacity just written. If the drive is not steady, prepares the next one and returns true.
    fn is_unsteady(&mut self) -> bool {
        let Step::Steady(steady) = &mut self.step else { return false };
        let capacity = self.experiment.device.logical_bytes();
        let end = self.device.counters();
        let host = end.host_bytes - steady.start.host_bytes;
        let mut ended = host < capacity;
        if !ended {
            let waf = (end.media_bytes - steady.start.media_bytes) as f64 / host as f64;
            let change = steady.found.waf.map(|before| waf / before - 1.0);
            let reached = change.is_some_and(|change| change.abs() < STEADY_CHANGE);
            let capacities = steady.found.capacities + 1;
            steady.found =
                SteadyRecord { capacities, waf: Some(waf), change, reached, kept: false };
            ended = reached || capacities == MOST_CAPACITIES;
        }
        steady.start = end;
        self.steady = Some(steady.found.clone());
        if !ended {
            self.pump = Pump::new(&self.device, steady.stream.as_ref(), Stage::Preconditioning);
            self.pump.total = Some(capacity * (steady.found.capacities + 1));
            self.pump.limit = Some(end.host_bytes + capacity);
            self.pump.without_reads = self.skips_reads();
        }
        !ended
    }

    /// Returns a snapshot of the device. Visits all reclaim units.
    pub(super) fn snapshot(&mut self) -> Snapshot {
        let stage = if self.is_preparing() { Stage::Preconditioning } else { Stage::Running };
        snapshot(&mut self.device, stage, None)
    }

    /// Returns the record of the run so far; after the last step, that of the whole run.
    pub(super) fn record(&self) -> Record {
        let device = &self.device;
        assemble::assemble(assemble::Outcome {
            experiment: &self.experiment,
            started: self.started,
            counters: device.counters(),
            events: device.observer().events,
            wear: Wear::of(device),
            arrangements: ArrangementRecord::all(device),
            attribution: AttributionRecord::of(device),
            figures: self.stream.figures(),
            timeline: self.recorder.clone().finish(device),
            time: self.time.clone(),
            reclaim_units: ReclaimUnits::of(device),
            published: self.published.clone(),
            wall_seconds: self.wall.as_secs_f64(),
            precondition_seconds: self.before.as_secs_f64(),
            steady: self.steady.clone(),
            ignored: self.ignored.clone(),
        })
    }
}
