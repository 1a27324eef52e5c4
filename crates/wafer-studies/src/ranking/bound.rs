//! The bound of perfect knowledge for an experiment.

use std::sync::atomic::Ordering;

use wafer_interface::{Batch, Command, Op};
use wafer_lab::{Control, Experiment, LabError};

use super::BoundRow;
use crate::bound::{Future, PerfectKnowledge};

/// Number of commands requested from the stream at once.
const BATCH: usize = 4096;
/// Capacities of writes after the volume that death times are taken from. Without them, the last pages
/// would seem never to be invalidated.
const BEYOND: f64 = 2.0;

/// Returns the WAF of an experiment on a device of its sizes with perfect knowledge of the future. Reads the
/// workload twice and takes 4 bytes of memory per host page.
///
/// # Errors
/// The workload cannot be built, there are too few reclaim units for `classes` open ones, or the experiment
/// has several reclaim groups or a preconditioned device, which the bound does not model.
pub fn bound(
    experiment: &Experiment,
    classes: usize,
    control: Control<'_>,
) -> Result<BoundRow, LabError> {
    let geometry = &experiment.device.geometry;
    let refuse =
        |reason: &str| Err(LabError::config(format!("{}: bound", experiment.name), reason));
    if geometry.groups > 1 {
        return refuse("several reclaim groups are not supported");
    }
    if experiment.precondition != wafer_record::Precondition::default() {
        return refuse("a preconditioned device is not supported");
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
        return refuse("more than 2^32 host pages are not supported");
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

/// Passes the commands of a workload to `see`, in batches, until it returns false.
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
