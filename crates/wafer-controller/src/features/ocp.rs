//! Features of OCP. They belong to the drive, so a controller reset leaves them unchanged. Saved values take effect
//! when the drive is served again.

use wafer_nvme::zerocopy::{FromBytes as _, IntoBytes as _};
use wafer_nvme::{
    Fid, OcpErrorInjection, OcpErrorInjectionCdw11, OcpErrorType, OcpLatencyMonitor, Status,
};
use wafer_ocp::latency::{SAVED, default_settings, saved_settings};
use wafer_ocp::{FailureMode, Setting, Value, firmware_history};

use super::{Controller, Failure, Feature, Get, Reply, Set};
use crate::Subsystem;
use crate::faults::Health;

pub(super) const FAILURE_MODE: Feature = Feature {
    fid: Fid::OCP_FAILURE_MODE,
    get: |c, asked| get(c, asked, &Setting::FAILURE_MODE),
    set: |c, wanted| set(c, wanted, &Setting::FAILURE_MODE),
};
pub(super) const HEALTH_CHECK: Feature = Feature {
    fid: Fid::OCP_HEALTH_CHECK,
    get: |c, asked| get(c, asked, &Setting::HEALTH_CHECK),
    set: |c, wanted| set(c, wanted, &Setting::HEALTH_CHECK),
};
pub(super) const POWER_STATE: Feature = Feature {
    fid: Fid::OCP_POWER_STATE,
    get: |c, asked| get(c, asked, &Setting::POWER_STATE),
    set: |c, wanted| set(c, wanted, &Setting::POWER_STATE),
};

fn get(controller: &Controller, get: &Get<'_>, setting: &Setting) -> Result<Reply, Failure> {
    let which = match (get.saved, get.default) {
        (true, _) => Value::Saved,
        (_, true) => Value::Default,
        _ => Value::Current,
    };
    let subsystem = &controller.subsystem;
    Ok(Reply::dw0(subsystem.ocp.get(&subsystem.drive, setting, which).into()))
}

fn set(controller: &Controller, set: &Set<'_>, setting: &Setting) -> Result<Reply, Failure> {
    let subsystem = &controller.subsystem;
    subsystem.with_warnings(|| {
        subsystem.ocp.set(&subsystem.drive, setting, set.value(), set.save)?;
        Ok(Reply::default())
    })
}

pub(super) const CLEAR_FIRMWARE_HISTORY: Feature = Feature {
    fid: Fid::OCP_CLEAR_FIRMWARE_HISTORY,
    get: |_, _| Ok(Reply::default()),
    // The event logged for every feature change clears the history.
    set: |_, set| {
        firmware_history::check_clear(set.value())?;
        Ok(Reply::default())
    },
};

pub(super) const LATENCY_MONITOR: Feature = Feature {
    fid: Fid::OCP_LATENCY_MONITOR,
    get: |c, get| {
        let saved = get.saved.then(|| saved_settings(&c.subsystem.drive)).flatten();
        let default = get.default.then(default_settings);
        let settings = saved.or(default).unwrap_or_else(|| c.subsystem.ocp.latency.settings());
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
            // The rest of the structure is reserved.
            let value = settings.as_bytes()[..SAVED].to_vec();
            c.subsystem.drive.save_feature(Fid::OCP_LATENCY_MONITOR.0, value)?;
        }
        c.subsystem.ocp.latency.set(settings);
        Ok(Reply::default())
    },
};

/// Error Injection. No More NAND Spares Available injects an Available Spare of zero. The other types are failures of
/// parts that the device model does not have.
pub(super) const ERROR_INJECTION: Feature = Feature {
    fid: Fid::OCP_ERROR_INJECTION,
    get: |c, get| {
        let injected = !get.default && c.subsystem.is_worn_out();
        let entry = OcpErrorInjection {
            flags: ENABLE,
            kind: OcpErrorType::NO_MORE_SPARES.0.into(),
            ..Default::default()
        };
        let mut data = if injected { entry.as_bytes().to_vec() } else { Vec::new() };
        data.resize(INJECTIONS, 0);
        Ok(Reply { dw0: injected.into(), ..Reply::data(data) })
    },
    set: |c, set| {
        let entries = usize::from(OcpErrorInjectionCdw11::of(set.sqe).entries());
        let bytes = set.data.get(..entries * size_of::<OcpErrorInjection>());
        let bytes = bytes.ok_or(Status::INVALID_SGL_LENGTH)?;
        let mut available_spare = None;
        for entry in bytes.chunks_exact(size_of::<OcpErrorInjection>()) {
            let entry = OcpErrorInjection::read_from_bytes(entry);
            let entry = entry.map_err(|_| Status::INVALID_SGL_LENGTH)?;
            if OcpErrorType(entry.kind.get()) != OcpErrorType::NO_MORE_SPARES {
                return Err(Status::INVALID_FIELD.into());
            }
            available_spare = (entry.flags & ENABLE != 0).then_some(0);
        }
        let health = Health { available_spare, ..c.subsystem.injected().health };
        c.subsystem.set_health(health);
        Ok(Reply::default())
    },
};

/// Error Injection Enable, in the flags of an entry.
const ENABLE: u8 = 1;
/// Bytes of the data of Get Features: 128 entries.
const INJECTIONS: usize = 4096;

impl Subsystem {
    /// Returns whether no spare is left, which ends the life of the drive.
    fn is_worn_out(&self) -> bool {
        self.faults.is_worn_out()
    }

    /// Returns the failure mode of a drive at its end of life, or `None` before that.
    pub fn end_of_life(&self) -> Option<FailureMode> {
        self.is_worn_out().then(|| self.ocp.failure_mode())
    }
}
