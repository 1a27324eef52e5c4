//! Endurance Group Information.

use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{EnduranceGroupLog, Lid};

use super::Page;
use super::smart::{SPARE_THRESHOLD, endurance_warning, percentage_used};

pub(super) const PAGE: Page = Page {
    lid: Lid::ENDURANCE_GROUP,
    read: |controller, _| {
        let drive = &controller.subsystem.drive;
        let wear = drive.wear();
        let now = drive.counters();
        let health = controller.subsystem.faults.health();
        let billions = |bytes: u64| u128::from(bytes.div_ceil(1_000_000_000)).into();
        let log = EnduranceGroupLog {
            critical_warning: endurance_warning(controller.warnings()),
            available_spare: health.available_spare(drive.spare()),
            spare_threshold: SPARE_THRESHOLD,
            percentage_used: percentage_used(&health, &wear),
            endurance_estimate: billions(wear.rated_bytes),
            data_units_read: billions(now.lifetime.read_bytes),
            data_units_written: billions(now.lifetime.host_bytes),
            media_units_written: billions(now.lifetime.media_bytes),
            media_errors: u128::from(now.life.media_errors).into(),
            error_entries: u128::from(now.life.error_entries).into(),
            host_reads: u128::from(now.life.read_commands).into(),
            host_writes: u128::from(now.life.write_commands).into(),
            total_capacity: u128::from(now.capacity_bytes).into(),
            unallocated_capacity: u128::from(drive.unallocated_bytes().0).into(),
            ..Default::default()
        };
        Ok(log.as_bytes().to_vec())
    },
};
