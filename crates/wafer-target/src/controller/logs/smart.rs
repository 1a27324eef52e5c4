//! SMART / Health Information.

use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{CriticalWarning, Lid, SmartLog, location};

use super::Page;
use crate::controller::nsid::BROADCAST;

pub(super) const PAGE: Page = Page {
    lid: Lid::SMART,
    read: |controller, request| {
        // One log for the whole controller.
        if ![0, BROADCAST].contains(&request.nsid) {
            return Err(location!(nsid).into());
        }
        let now = controller.subsystem.drive.counters();
        let life = now.life;
        if !request.retain {
            controller.state().warning_sent = false;
            controller.wake.notify_one();
        }
        let units = |bytes: u64| u128::from(bytes.div_ceil(512_000)).into();
        let log = SmartLog {
            critical_warning: critical_warning(controller.subsystem.drive.is_saved()).into_bits(),
            // 30 degrees Celsius: there is nothing to measure.
            temperature: 303.into(),
            available_spare: 100,
            spare_threshold: 10,
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
        };
        Ok(log.as_bytes().to_vec())
    },
};

/// Returns the warnings of a drive: all or none, depending on whether it keeps what it promises.
pub(in crate::controller) fn critical_warning(saved: bool) -> CriticalWarning {
    CriticalWarning::new().with_unreliable(!saved).with_read_only(!saved)
}
