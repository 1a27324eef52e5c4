//! Get Log Page, and the log pages other than those of FDP.
//!
//! To add a page, write a function and add it to [`PAGES`]. Its identifier, scope and capability bits are in
//! the table of `wafer_nvme`.

use wafer_drive::ENDURANCE_GROUP;
use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{
    DISCOVERY_NQN, DiscoveryEntry, DiscoveryLog, EffectsLog, EnduranceGroupLog, ErrorEntry,
    FeatureEffectsLog, FirmwareLog, GetLogCdw10, GetLogCdw11, GetLogCdw14, Lid, LogInfo, Scope,
    SmartLog, Sqe, Status, Subtype, SupportedLogs, location, nqn_field,
};

use super::fdp_logs;
use super::identify::padded;
use super::limits::{ERROR_ENTRIES, MAX_TRANSFER};
use super::reply::{Failure, Reply};
use super::subsystem::{BROADCAST, Controller, Kind};

/// Returns the whole page.
pub(super) type Read = fn(&Controller, &Sqe) -> Result<Vec<u8>, Failure>;

/// Supported log pages.
pub(super) const PAGES: &[(Lid, Read)] = &[
    (Lid::SUPPORTED, supported),
    (Lid::ERROR, error),
    (Lid::SMART, smart),
    (Lid::FIRMWARE, firmware),
    (Lid::CHANGED_NAMESPACES, changed_namespaces),
    (Lid::EFFECTS, effects),
    (Lid::ENDURANCE_GROUP, endurance_group),
    (Lid::FEATURE_EFFECTS, feature_effects),
    (Lid::FDP_CONFIGURATIONS, fdp_logs::configurations),
    (Lid::FDP_RUH_USAGE, fdp_logs::usage),
    (Lid::FDP_STATISTICS, fdp_logs::statistics),
    (Lid::FDP_EVENTS, fdp_logs::events),
    (Lid::DISCOVERY, discovery),
    (Lid::WAFER_HANDLES, fdp_logs::handles),
];

/// Returns whether controllers of this kind have the page.
fn has(kind: Kind, row: &LogInfo) -> bool {
    row.lid == Lid::SUPPORTED || row.discovery == (kind == Kind::Discovery)
}

pub(super) fn get_log_page(c: &Controller, sqe: &Sqe, _: &[u8]) -> Result<Reply, Failure> {
    let (cdw10, cdw11) = (GetLogCdw10::of(sqe), GetLogCdw11::of(sqe));
    let length = (u64::from(cdw10.numdl_z()) + (u64::from(cdw11.numdu()) << 16) + 1) * 4;
    let offset = u64::from(sqe.cdw12.get()) | u64::from(sqe.cdw13.get()) << 32;
    if offset % 4 != 0 {
        return Err(location!(cdw12).into());
    }
    if GetLogCdw14::of(sqe).ot() {
        return Err(GetLogCdw14::new().with_ot(true).location().into());
    }
    if length > MAX_TRANSFER {
        return Err(GetLogCdw10::new().with_numdl_z(1).location().into());
    }
    let lid = Lid(cdw10.lid());
    let page = PAGES.iter().find(|(supported, _)| *supported == lid);
    let ((_, read), row) = (page.zip(lid.info()))
        .filter(|(_, row)| has(c.kind, row))
        .ok_or(Status::INVALID_LOG_PAGE)?;
    if row.scope == Scope::EnduranceGroup && cdw11.lsi() != ENDURANCE_GROUP {
        return Err(GetLogCdw11::new().with_lsi(1).location().into());
    }
    let mut data = read(c, sqe)?;
    if offset >= data.len() as u64 {
        return Err(location!(cdw12).into());
    }
    data.drain(..offset as usize);
    // Beyond the end of the page hosts read zeroes.
    data.resize(length as usize, 0);
    Ok(Reply::data(data))
}

fn supported(controller: &Controller, _: &Sqe) -> Result<Vec<u8>, Failure> {
    let mut log = SupportedLogs::default();
    let rows = &controller.subsystem.support.log_pages;
    for row in rows.iter().filter(|row| has(controller.kind, row)) {
        log.pages[usize::from(row.lid.0)] = 1.into();
    }
    Ok(log.as_bytes().to_vec())
}

fn error(controller: &Controller, _: &Sqe) -> Result<Vec<u8>, Failure> {
    let state = controller.state();
    let mut page: Vec<u8> = state.errors.iter().flat_map(|e| e.as_bytes().to_vec()).collect();
    page.resize(ERROR_ENTRIES * size_of::<ErrorEntry>(), 0);
    Ok(page)
}

fn smart(controller: &Controller, sqe: &Sqe) -> Result<Vec<u8>, Failure> {
    // One log for the whole controller.
    if ![0, BROADCAST].contains(&sqe.nsid.get()) {
        return Err(location!(nsid).into());
    }
    let drive = &controller.subsystem.drive;
    let now = drive.counters();
    let units = |bytes: u64| u128::from(bytes.div_ceil(512_000)).into();
    let log = SmartLog {
        // A constant 30 degrees Celsius.
        temperature: 303.into(),
        available_spare: 100,
        spare_threshold: 10,
        data_units_read: units(now.lifetime.read_bytes),
        data_units_written: units(now.lifetime.host_bytes),
        host_reads: u128::from(now.read_commands).into(),
        host_writes: u128::from(now.write_commands).into(),
        power_cycles: 1.into(),
        power_on_hours: u128::from(now.uptime_seconds as u64 / 3600).into(),
        unsafe_shutdowns: u128::from(drive.unsafe_shutdowns()).into(),
        error_entries: u128::from(controller.state().error_count).into(),
        ..Default::default()
    };
    Ok(log.as_bytes().to_vec())
}

fn firmware(_: &Controller, _: &Sqe) -> Result<Vec<u8>, Failure> {
    // One slot, read only.
    let mut log = FirmwareLog { afi: 1, ..Default::default() };
    log.slots[0] = padded(env!("CARGO_PKG_VERSION"));
    Ok(log.as_bytes().to_vec())
}

fn changed_namespaces(controller: &Controller, sqe: &Sqe) -> Result<Vec<u8>, Failure> {
    const ENTRIES: usize = 1024;
    let mut state = controller.state();
    let mut page = vec![0; ENTRIES * size_of::<u32>()];
    if state.changed.len() > ENTRIES {
        // Too many to list.
        page[..4].fill(0xff);
    } else {
        for (slot, nsid) in page.chunks_exact_mut(4).zip(&state.changed) {
            slot.copy_from_slice(&nsid.to_le_bytes());
        }
    }
    if !GetLogCdw10::of(sqe).rae() {
        state.changed.clear();
        state.notice_sent = false;
        drop(state);
        controller.wake.notify_one();
    }
    Ok(page)
}

fn effects(controller: &Controller, _: &Sqe) -> Result<Vec<u8>, Failure> {
    let mut log = EffectsLog::default();
    let support = &controller.subsystem.support;
    for (entries, rows) in [(&mut log.admin, &support.admin), (&mut log.io, &support.io)] {
        for row in rows {
            entries[usize::from(row.opcode)] = row.effects.into_bits().into();
        }
    }
    Ok(log.as_bytes().to_vec())
}

fn endurance_group(controller: &Controller, _: &Sqe) -> Result<Vec<u8>, Failure> {
    let drive = &controller.subsystem.drive;
    let now = drive.counters();
    let billions = |bytes: u64| u128::from(bytes.div_ceil(1_000_000_000)).into();
    let log = EnduranceGroupLog {
        egfeat: 0x80,
        available_spare: 100,
        spare_threshold: 10,
        data_units_read: billions(now.lifetime.read_bytes),
        data_units_written: billions(now.lifetime.host_bytes),
        media_units_written: billions(now.lifetime.media_bytes),
        host_reads: u128::from(now.read_commands).into(),
        host_writes: u128::from(now.write_commands).into(),
        total_capacity: u128::from(now.capacity_bytes).into(),
        unallocated_capacity: u128::from(drive.unallocated_bytes().0).into(),
        ..Default::default()
    };
    Ok(log.as_bytes().to_vec())
}

fn feature_effects(controller: &Controller, _: &Sqe) -> Result<Vec<u8>, Failure> {
    let mut log = FeatureEffectsLog::default();
    for row in &controller.subsystem.support.features {
        log.features[usize::from(row.fid.0)] = row.effects().into();
    }
    Ok(log.as_bytes().to_vec())
}

fn discovery(controller: &Controller, _: &Sqe) -> Result<Vec<u8>, Failure> {
    let options = &controller.subsystem.options;
    let (address, port) = match &options.advertise {
        Some((address, port)) => (address.clone(), port.to_string()),
        None => {
            let local = &controller.local;
            let (address, port) = local.rsplit_once(':').unwrap_or((local, ""));
            let address = address.trim_start_matches('[').trim_end_matches(']');
            (address.to_owned(), port.to_owned())
        }
    };
    let entry = |subtype: Subtype, nqn: &str| DiscoveryEntry {
        trtype: 3,
        adrfam: if address.contains(':') { 2 } else { 1 },
        subtype: subtype.0,
        // No secure channel; SQ flow control may be disabled.
        treq: 0b110,
        portid: 1.into(),
        cntlid: 0xffff.into(),
        asqsz: 32.into(),
        trsvcid: padded(&port),
        subnqn: nqn_field(nqn),
        traddr: padded(&address),
        tsas: [0; 256],
        ..Default::default()
    };
    let entries =
        [entry(Subtype::CURRENT_DISCOVERY, DISCOVERY_NQN), entry(Subtype::NVM, &options.nqn)];
    let numrec = (entries.len() as u64).into();
    let head = DiscoveryLog { genctr: 1.into(), numrec, ..Default::default() };
    Ok([head.as_bytes(), entries.as_bytes()].concat())
}
