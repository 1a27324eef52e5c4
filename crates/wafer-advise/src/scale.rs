//! The simulated drive: the requested one, scaled to the traffic.
//!
//! A trace of a few gigabytes would never make a drive of terabytes collect garbage. So the capacity is set to the
//! bytes of the touched pages divided by the fill, and the gaps between these pages are left out.
//! Over-provisioning and all shares are kept. Reclaim units shrink with the capacity, which keeps their number; but not
//! below 1 MiB, so a drive of a few hundred MiB may have fewer.

use wafer_config::ResolvedDevice;
use wafer_device::{Geometry, Layout};
use wafer_interface::Bytes;
use wafer_lab::{LabError, TraceFile, TraceSource};
use wafer_record::text::{bytes, count};
use wafer_trace::{Map, Scan, TraceOptions, VolumeScan};

use super::advice::AdviseOptions;

/// The smallest reclaim unit.
const SMALLEST_RU: u64 = 1 << 20;

/// Factor by which a drive must be too small for a notice.
const NOTICEABLE: f64 = 1.01;

/// Returns the simulated drive, and adds notices about its differences from `device`.
pub(super) fn device(
    device: &ResolvedDevice,
    traces: Option<&TraceSource>,
    options: &AdviseOptions,
    notices: &mut Vec<String>,
) -> Result<ResolvedDevice, LabError> {
    let mut simulated = device.clone();
    let config = &mut simulated.config;
    config.fdp = true;
    if std::mem::replace(&mut config.groups, 1) > 1 {
        notices.push("reclaim groups of the device are joined into one".to_owned());
    }
    config.handles = options.handles.max(config.handles);
    if !config.namespaces.is_empty() {
        config.namespaces.clear();
        notices.push("namespaces of the device are joined into one".to_owned());
    }
    let overprovisioning = device.overprovisioning();
    if let (Some(fill), Some(traces)) = (options.fill, traces) {
        let touched: u64 = traces.scans()?.iter().map(|scan| touched(traces, scan)).sum();
        let capacity = (touched as f64 / fill) as u64;
        let logical = device.logical_bytes();
        if touched > 0 && capacity < logical {
            let ru_count = f64::from(device.geometry.ru_count.max(1));
            let physical = capacity as f64 * (1.0 + overprovisioning);
            let page = config.page.0;
            let ru = ((physical / ru_count) as u64).max(SMALLEST_RU).next_multiple_of(page);
            config.capacity = Bytes(capacity / page * page);
            config.reclaim_unit.size = Bytes(ru);
            let rus = (physical / ru as f64).round().max(1.0) as u64;
            config.reclaim_unit.count = Some(rus);
            config.overprovisioning = None;
            let fewer = if (rus as f64) < 0.95 * ru_count {
                format!("; the device has {ru_count}, so open ones take less of its spare space")
            } else {
                String::new()
            };
            notices.push(format!(
                "simulated on {} scaled to the traffic: capacity {}, {} of {}, over-provisioning {:.1} %, fill {:.0} %{fewer}",
                device.name,
                bytes(config.capacity.0),
                count(rus as usize, "reclaim unit"),
                bytes(ru),
                100.0 * overprovisioning,
                100.0 * fill
            ));
        } else if touched > 0 && capacity as f64 > logical as f64 * NOTICEABLE {
            notices.push(format!(
                "{} is scaled down only: the traffic touches {} of its {}, more than a fill of {:.0} %",
                device.name,
                bytes(touched),
                bytes(logical),
                100.0 * fill
            ));
        }
    }
    (simulated.geometry, simulated.layout) = resolve(&mut simulated, notices)?;
    Ok(simulated)
}

/// Returns the simulated drive with the namespaces of `device`, for jobs and tenants that name them.
pub(super) fn divided(
    simulated: &ResolvedDevice,
    device: &ResolvedDevice,
) -> Result<ResolvedDevice, LabError> {
    let mut divided = simulated.clone();
    divided.config.namespaces = device.config.namespaces.clone();
    (divided.geometry, divided.layout) = resolve(&mut divided, &mut Vec::new())?;
    Ok(divided)
}

/// Returns whether the gaps between the pages of the trace are removed on a scaled drive. Several traces share the
/// drive by granules.
fn without_gaps(traces: &TraceSource) -> bool {
    matches!(traces.traces(), [trace] if trace.options.map == Map::Auto)
}

/// Returns the bytes that a trace takes on a scaled drive.
fn touched(traces: &TraceSource, scan: &Scan) -> u64 {
    if without_gaps(traces) {
        return scan.touched_bytes();
    }
    scan.volumes.iter().map(VolumeScan::compact_bytes).sum()
}

/// Returns the traces as played on a drive scaled to them.
pub(super) fn traces(traces: &TraceSource) -> Option<TraceSource> {
    without_gaps(traces).then(|| {
        let files = traces.traces().iter().map(|trace| TraceFile {
            file: trace.file.clone(),
            options: TraceOptions { map: Map::Pages, ..trace.options.clone() },
        });
        traces.again(files.collect())
    })
}

/// Resolves sizes and layout. A device too small for its open reclaim units gets the minimum number
/// that works.
fn resolve(
    simulated: &mut ResolvedDevice,
    notices: &mut Vec<String>,
) -> Result<(Geometry, Layout), LabError> {
    match simulated.config.resolve() {
        Ok(resolved) => Ok(resolved),
        Err(error) if error.key == "reclaim_unit.count" => {
            let least = error.message.rsplit(' ').next().and_then(|n| n.parse::<u64>().ok());
            let refused = || {
                LabError::config(
                    format!("{}: {}", simulated.name, error.key),
                    error.message.clone(),
                )
            };
            let least = least.ok_or_else(refused)?;
            simulated.config.reclaim_unit.count = Some(least);
            notices.push(format!("{least} reclaim units, the minimum for a drive of this size"));
            simulated
                .config
                .resolve()
                .map_err(|e| LabError::config(format!("{}: {}", simulated.name, e.key), e.message))
        }
        Err(error) => {
            Err(LabError::config(format!("{}: {}", simulated.name, error.key), error.message))
        }
    }
}

/// Resolves the sizes of a device with a changed configuration; none if it has too few reclaim units.
pub(super) fn resolved(device: &mut ResolvedDevice) -> Option<()> {
    (device.geometry, device.layout) = device.config.resolve().ok()?;
    Some(())
}

/// Returns a device with more handles, for bounds that use more than the drive has.
pub(super) fn with_handles(
    device: &ResolvedDevice,
    handles: usize,
) -> Result<ResolvedDevice, LabError> {
    let mut device = device.clone();
    if usize::from(device.config.handles) >= handles {
        return Ok(device);
    }
    device.config.handles = handles as u16;
    (device.geometry, device.layout) = resolve(&mut device, &mut Vec::new())?;
    Ok(device)
}
