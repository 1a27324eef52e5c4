//! The WAF of an experiment with future knowledge, and its proven lower bound.

use std::sync::atomic::Ordering;

use wafer_device::Destination;
use wafer_interface::{Batch, Command, Op};
use wafer_lab::{Control, Experiment, LabError};

use super::BoundRow;
use crate::bound::{Future, FutureKnowledge, HostUnits};

/// Number of commands requested from the stream at once.
const BATCH: usize = 4096;
/// Host writes seen after the volume, in capacities, to learn death times. Without them, the last
/// pages would seem never to be invalidated.
const BEYOND: f64 = 2.0;

/// Returns the WAF of an experiment on a device of the same sizes that knows the future: the lowest over groupings by
/// death time with at most `most` open reclaim units, for all data or separately for each handle. More open reclaim
/// units never give a higher WAF. Includes the proven lower bound if there is one. Reads the workload several times and
/// takes 8 bytes of memory per host page.
///
/// # Errors
/// If the workload cannot be built, there are too few reclaim units for any grouping, or the
/// experiment has several reclaim groups or a preconditioned device, which the bound does not model.
pub fn bound(
    experiment: &Experiment,
    most: usize,
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
    let mut best: Option<BoundRow> = None;
    for (by_handle, classes) in groupings(most, geometry.isolation.len()) {
        let mut device = match FutureKnowledge::new(geometry, &future, classes, by_handle) {
            Ok(device) => device,
            Err(reason) if best.is_none() => return refuse(reason),
            // That many open reclaim units do not fit; fewer did.
            Err(_) => continue,
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
        let waf = 1.0 + device.relocated_pages() as f64 / host;
        if best.as_ref().is_none_or(|best| waf < best.waf) {
            best = Some(BoundRow {
                classes: most,
                waf,
                open_units: classes * if by_handle { geometry.isolation.len() } else { 1 },
                by_handle,
                lower_bound: None,
            });
        }
    }
    let Some(mut row) = best else { return refuse("at least one open reclaim unit is needed") };
    row.lower_bound = lower_bound(experiment, &future, limit.min(horizon), control)?;
    Ok(row)
}

/// Returns the groupings with at most `most` open reclaim units: whether handles are kept apart, and the number of
/// classes of each. A larger `most` only adds groupings.
fn groupings(most: usize, handles: usize) -> Vec<(bool, usize)> {
    let classes = |most: usize| {
        let powers = (0..usize::BITS).map(|n| 1usize << n).take_while(move |n| *n <= most);
        powers.flat_map(move |n| [n, n + n / 2]).filter(move |n| *n <= most)
    };
    let mut all: Vec<(bool, usize)> = classes(most).map(|n| (false, n)).collect();
    if handles > 1 {
        all.extend(classes(most / handles).map(|n| (true, n)));
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns the proven lower bound of WAF, if the device writes host data in order to reclaim units of its handle
/// (see [`HostUnits`]).
fn lower_bound(
    experiment: &Experiment,
    future: &Future,
    limit: u64,
    control: Control<'_>,
) -> Result<Option<f64>, LabError> {
    let (geometry, config) = (&experiment.device.geometry, &experiment.device.config);
    let mixes = matches!(config.gc.destination, Some(Destination::Host | Destination::Shared));
    if mixes || config.gc.separation.is_some() || (!config.fdp && !config.gc.separate) {
        return Ok(None);
    }
    let mut units = HostUnits::new(geometry);
    let mut holds = true;
    each(experiment, control, |commands| {
        for command in commands {
            holds &= units.apply(geometry, future, command);
            if !holds || (command.op == Op::Write && units.host_pages() >= limit) {
                return false;
            }
        }
        units.host_pages() < limit
    })?;
    let host = units.host_pages().max(1) as f64;
    Ok(holds.then(|| 1.0 + units.relocated_pages() / host))
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

#[cfg(test)]
mod tests {
    use super::groupings;

    #[test]
    fn groupings_of_fewer_open_units_are_among_those_of_more() {
        assert_eq!(
            groupings(8, 2),
            [
                (false, 1),
                (false, 2),
                (false, 3),
                (false, 4),
                (false, 6),
                (false, 8),
                (true, 1),
                (true, 2),
                (true, 3),
                (true, 4)
            ]
        );
        for handles in [1, 2, 3, 8] {
            for most in 1..70 {
                let more = groupings(most + 1, handles);
                assert!(groupings(most, handles).iter().all(|one| more.contains(one)));
            }
        }
    }
}
