//! SMART / Health Information Extended of OCP. Values outside the device model (bad blocks, ECC, PCIe, thermal
//! throttling, capacitors) are those of a drive on which nothing has failed.

use wafer_drive::Drive;
use wafer_nvme::{OcpSmartLog, SMART_EXTENDED_GUID};

/// Normalized value if no block is bad.
const NO_BAD_BLOCKS: u16 = 100;
/// Capacitor Health of a drive without capacitors: its write cache is volatile.
const NO_CAPACITOR: u16 = 0xffff;
/// DSSD Specification Version 2.0: errata, point, minor, major.
const DSSD_VERSION: [u8; 6] = [0, 0, 0, 0, 0, 2];

/// Returns the log.
pub fn log(drive: &Drive) -> OcpSmartLog {
    let wear = drive.wear();
    let now = drive.counters();
    let lifetime = now.lifetime;
    // Garbage collection reads the pages it moves; a partial write reads the rest of its page.
    let reread = (lifetime.relocated_pages + lifetime.rmw_pages) * drive.geometry().page_bytes;
    let count = |erases: u64| u32::try_from(erases).unwrap_or(u32::MAX).into();
    let blocks = drive.namespaces().into_iter().flatten().map(|n| n.blocks());
    OcpSmartLog {
        media_written: u128::from(lifetime.media_bytes).into(),
        media_read: u128::from(lifetime.read_bytes + reread).into(),
        bad_user_normalized: NO_BAD_BLOCKS.into(),
        bad_system_normalized: NO_BAD_BLOCKS.into(),
        uncorrectable_reads: now.life.media_errors.into(),
        most_erases: count(wear.most_erases),
        least_erases: count(wear.least_erases),
        dssd_version: DSSD_VERSION,
        incomplete_shutdowns: count(now.life.unsafe_shutdowns),
        free_blocks: wear.free_percent,
        capacitor_health: NO_CAPACITOR.into(),
        unaligned_io: lifetime.rmw_pages.into(),
        total_nuse: blocks.sum::<u64>().into(),
        endurance_estimate: u128::from(wear.rated_bytes).into(),
        version: 3.into(),
        guid: SMART_EXTENDED_GUID,
        ..Default::default()
    }
}
