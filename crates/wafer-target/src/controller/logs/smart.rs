//! SMART / Health Information.

use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{Lid, SmartLog, location};

use super::Page;
use crate::controller::nsid::BROADCAST;

pub(super) const PAGE: Page = Page {
    lid: Lid::SMART,
    read: |controller, request| {
        // One log for the whole controller.
        if ![0, BROADCAST].contains(&request.nsid) {
            return Err(location!(nsid).into());
        }
        let drive = controller.subsystem.drive.counters();
        let units = |bytes: u64| u128::from(bytes.div_ceil(512_000)).into();
        let log = SmartLog {
            // 30 degrees Celsius: there is nothing to measure.
            temperature: 303.into(),
            available_spare: 100,
            spare_threshold: 10,
            data_units_read: units(drive.lifetime.read_bytes),
            data_units_written: units(drive.lifetime.host_bytes),
            host_reads: u128::from(drive.read_commands).into(),
            host_writes: u128::from(drive.write_commands).into(),
            power_cycles: 1.into(),
            power_on_hours: u128::from(drive.uptime_seconds as u64 / 3600).into(),
            unsafe_shutdowns: u128::from(controller.subsystem.drive.unsafe_shutdowns()).into(),
            error_entries: u128::from(controller.state().error_count).into(),
            ..Default::default()
        };
        Ok(log.as_bytes().to_vec())
    },
};
