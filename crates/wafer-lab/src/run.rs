//! One run: moves commands from a stream to a device and samples the counters.
//!
//! [`run`] performs a whole run. [`Steps`] performs a run piece by piece, for a caller without a spare thread. Both use
//! [`Underway`].

mod pump;
mod steps;
mod underway;

use std::sync::atomic::Ordering;
use std::time::Duration;

pub use steps::Steps;
use wafer_device::policy::VictimPolicy;
use wafer_record::Record;

use self::pump::Pump;
use self::underway::Underway;
use crate::clock::Instant;
use crate::control::{Control, Stage};
use crate::time::TimedRun;
use wafer_experiment::Experiment;
use wafer_experiment::LabError;
use wafer_experiment::source::Built;

/// Time between two progress reports.
const PROGRESS_EVERY: Duration = Duration::from_millis(50);

/// Runs an experiment and returns its record.
pub fn run(experiment: &Experiment, control: Control<'_>) -> Result<Record, LabError> {
    run_watched(experiment, None, control)
}

/// Runs an experiment with the caller's victim policy, which the record names `name` in `gc.policy`.
///
/// # Errors
/// Like [`run`].
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
    let built = if experiment.timed { built.with_clock() } else { built };
    run_built(experiment, built, policy, control)
}

/// Runs with `policy`, or with the policy of the configuration.
fn run_built(
    experiment: &Experiment,
    built: Built,
    policy: Option<Box<dyn VictimPolicy>>,
    control: Control<'_>,
) -> Result<Record, LabError> {
    let mut run = Underway::new(experiment.clone(), built, policy, control.steady)?;
    while (!experiment.timed || run.is_preparing()) && run.advance(control, None)? {}
    if experiment.timed {
        run_timed(&mut run, control)?;
    }
    Ok(run.record())
}

/// Performs the part of a run that has a clock.
fn run_timed(run: &mut Underway, control: Control<'_>) -> Result<(), LabError> {
    let clock = Instant::now();
    let Some(timing) = run.experiment.timing() else { return Ok(()) };
    let limit = run.experiment.volume_bytes();
    let mut pump = Pump::new(&run.device, run.stream.as_ref(), Stage::Running);
    pump.total = run.total();
    let mut timed = TimedRun::new(&mut run.device, run.stream.as_mut(), timing, &run.jobs, limit)
        .map_err(|(key, reason)| {
        LabError::config(format!("{}: {key}", run.experiment.device.name), reason)
    })?;
    let endurance = run.experiment.device.config.endurance.as_ref();
    let pe_cycles = endurance.map(|endurance| endurance.pe_cycles);
    let mut reported = Instant::now();
    timed.run(&mut run.recorder, |timed| {
        if control.cancel.load(Ordering::Relaxed) {
            return Err(LabError::Cancelled);
        }
        if reported.elapsed() >= PROGRESS_EVERY {
            reported = Instant::now();
            let clock = control.watch.map(|_| (timed.seconds(), timed.record(timing, pe_cycles)));
            let device = timed.device();
            pump.report(device, device.counters().host_bytes, clock, control);
        }
        Ok(())
    })?;
    let (seconds, time) = (timed.seconds(), timed.record(timing, pe_cycles));
    let host = run.device.counters().host_bytes;
    pump.report(&mut run.device, host, Some((seconds, time.clone())), control);
    run.time = Some(time);
    run.wall += clock.elapsed();
    Ok(())
}

#[cfg(test)]
mod tests;
