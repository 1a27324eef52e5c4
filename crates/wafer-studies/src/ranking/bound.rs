//! A workload under perfect knowledge of the future.

use std::sync::atomic::Ordering;

use wafer_interface::{Batch, Command, Op};
use wafer_lab::{Control, Experiment, LabError};

use super::BoundRow;
use crate::bound::{Future, PerfectKnowledge};

/// Commands taken from the stream at a time.
const BATCH: usize = 4096;
/// Of what comes after the volume, this share of the capacity is looked at too: without it, what is
/// written last would seem to live for ever.
const BEYOND: f64 = 2.0;

/// WAF of an experiment's workload on a device of its sizes that knows the future. Reads the workload
/// twice; takes 4 bytes of memory per host page.
///
/// # Errors
/// The workload cannot be built, or the sizes leave no room for so many open reclaim units. What the
/// bound does not model is refused: preconditioned devices and several reclaim groups.
pub fn bound(
    experiment: &Experiment,
    classes: usize,
    control: Control<'_>,
) -> Result<BoundRow, LabError> {
    let geometry = &experiment.device.geometry;
    let refuse =
        |reason: &str| Err(LabError::config(format!("{}: bound", experiment.name), reason));
    if geometry.groups > 1 {
        return refuse("not for several reclaim groups");
    }
    if experiment.precondition != wafer_record::Precondition::default() {
        return refuse("only for a fresh device");
    }
    let capacity = geometry.logical_pages;
    let limit = match experiment.volume_bytes() {
        Some(bytes) => bytes / geometry.page_bytes,
        None => u64::MAX,
    };
    let mut future = Future::new(geometry);
    let horizon =
        limit.saturating_add((capacity as f64 * BEYOND) as u64).min(u64::from(u32::MAX - 1));
    if limit != u64::MAX && limit > horizon {
        return refuse("more host pages than 32 bits can number");
    }
    each(experiment, control, |commands| {
        future.see(geometry, commands);
        future.host_pages() < horizon
    })?;
    let mut device = match PerfectKnowledge::new(geometry, &future, classes) {
        Ok(device) => device,
        Err(reason) => return refuse(reason),
    };
    each(experiment, control, |commands| {
        for command in commands {
            device.apply(std::slice::from_ref(command));
            if command.op == Op::Write && device.host_pages() >= limit {
                return false;
            }
        }
        device.host_pages() < limit.min(horizon)
    })?;
    let host = device.host_pages().max(1) as f64;
    Ok(BoundRow { classes, waf: 1.0 + device.relocated_pages() as f64 / host })
}

/// Hands the commands of a workload to `see`, in batches, until it says that it is enough.
fn each(
    experiment: &Experiment,
    control: Control<'_>,
    mut see: impl FnMut(&[Command]) -> bool,
) -> Result<(), LabError> {
    let mut stream = experiment.build()?.stream;
    let mut batch = Batch::with_capacity(BATCH);
    loop {
        if control.cancel.load(Ordering::Relaxed) {
            return Err(LabError::Cancelled);
        }
        batch.clear();
        let _ = stream.next(&mut batch, BATCH);
        if batch.is_empty() || !see(&batch.commands) {
            return Ok(());
        }
    }
}
