//! Latency Monitor of OCP. It belongs to the drive, so a reset of a controller leaves it as it is; what is saved is in
//! effect when the drive is served again.

use wafer_nvme::zerocopy::{FromBytes as _, IntoBytes as _};
use wafer_nvme::{Fid, OcpLatencyMonitor, Status};

use super::{Feature, Reply};
use crate::latency::{SAVED, default_settings, saved_settings};

pub(super) const LATENCY_MONITOR: Feature = Feature {
    fid: Fid::OCP_LATENCY_MONITOR,
    get: |c, get| {
        let saved = get.saved.then(|| saved_settings(&c.subsystem.drive)).flatten();
        let default = get.default.then(default_settings);
        let settings = saved.or(default).unwrap_or_else(|| c.subsystem.latency.settings());
        Ok(Reply::data(settings.as_bytes()))
    },
    set: |c, set| {
        let read = OcpLatencyMonitor::read_from_prefix(set.data);
        let (settings, _) = read.map_err(|_| Status::INVALID_SGL_LENGTH)?;
        // There is no debug log to trigger.
        let ascending = settings.thresholds_z.is_sorted_by(|a, b| a < b);
        if !ascending || settings.debug_trigger.get() != 0 {
            return Err(Status::INVALID_FIELD.into());
        }
        if set.save {
            // The rest is reserved.
            let value = settings.as_bytes()[..SAVED].to_vec();
            c.subsystem.drive.save_feature(Fid::OCP_LATENCY_MONITOR.0, value)?;
        }
        c.subsystem.latency.set(settings);
        Ok(Reply::default())
    },
};
