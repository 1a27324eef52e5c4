//! SMART / Health Information.

use wafer_drive::Wear;
use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{CriticalWarning, Lid, SmartLog, location};

use super::Page;
use crate::Subsystem;
use crate::faults::Health;
use crate::nsid::BROADCAST;

/// Available Spare Threshold, percent.
pub(crate) const SPARE_THRESHOLD: u8 = 10;

pub(super) const PAGE: Page = Page {
    lid: Lid::SMART,
    read: |controller, request| {
        // As in Base 1.3, nothing in the log is specific to a namespace: its log is the controller's.
        let whole = [0, BROADCAST].contains(&request.nsid);
        if !whole && controller.active(request.nsid)?.is_none() {
            return Err(location!(nsid).into());
        }
        if !request.retain {
            controller.state().events.warning_sent = false;
            controller.wake.notify_one();
        }
        Ok(controller.subsystem.smart(controller.warnings()).as_bytes().to_vec())
    },
};

impl Subsystem {
    /// Returns the log with the critical warnings of a controller.
    pub(crate) fn smart(&self, warnings: CriticalWarning) -> SmartLog {
        let wear = self.drive.wear();
        let now = self.drive.counters();
        let life = now.life;
        let health = self.faults.health();
        let units = |bytes: u64| u128::from(bytes.div_ceil(512_000)).into();
        SmartLog {
            critical_warning: warnings.into_bits(),
            temperature: health.temperature().into(),
            available_spare: health.available_spare(self.drive.spare()),
            spare_threshold: SPARE_THRESHOLD,
            percentage_used: percentage_used(&health, &wear),
            endurance_warning: endurance_warning(warnings),
            data_units_read: units(now.lifetime.read_bytes),
            data_units_written: units(now.lifetime.host_bytes),
            host_reads: u128::from(life.read_commands).into(),
            host_writes: u128::from(life.write_commands).into(),
            power_cycles: u128::from(life.power_cycles).into(),
            power_on_hours: u128::from(life.power_on_seconds / 3600).into(),
            unsafe_shutdowns: u128::from(life.unsafe_shutdowns).into(),
            media_errors: u128::from(life.media_errors).into(),
            error_entries: u128::from(life.error_entries).into(),
            ..Default::default()
        }
    }
}

/// Returns the Percentage Used of a drive, at most 255.
pub(super) fn percentage_used(health: &Health, wear: &Wear) -> u8 {
    let used = u8::try_from(wear.used_percent).unwrap_or(u8::MAX);
    health.percentage_used.unwrap_or(used)
}

/// Returns the critical warnings of the endurance group (spare, reliability, read-only) in the bits of SMART.
pub(super) fn endurance_warning(warnings: CriticalWarning) -> u8 {
    let of_group =
        CriticalWarning::new().with_spare(true).with_unreliable(true).with_read_only(true);
    warnings.into_bits() & of_group.into_bits()
}
