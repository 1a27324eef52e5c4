//! Firmware Activation History, log page C2h, and the feature that clears it (C1h). Both are obsolete in version 2.5 of
//! the specification, which uses the persistent event log instead. Here the log is always generated from the persistent
//! event log: from the Firmware Commit events after the last Set Feature event of C1h.

use wafer_drive::{Drive, PersistentEvent};
use wafer_nvme::zerocopy::FromBytes as _;
use wafer_nvme::{
    CommitAction, ControllerResetInfo, FIRMWARE_HISTORY_GUID, Fid, FirmwareCommitEvent, Lid,
    OcpFirmwareActivation, OcpFirmwareHistoryLog, PersistentEventType, PowerOnEvent,
    SetFeatureEvent, SetFeaturesCdw10, Status, Timestamp, U32,
};

/// Clear Firmware Update History Log, in command dword 11.
const CLEAR: u32 = 1 << 31;
/// Version of an entry.
const ENTRY: u8 = 1;

/// Returns the log: the newest activations, in chronological order.
pub fn log(drive: &Drive) -> OcpFirmwareHistoryLog {
    let mut log = OcpFirmwareHistoryLog {
        lid: Lid::OCP_FIRMWARE_HISTORY.0,
        version: 1.into(),
        guid: FIRMWARE_HISTORY_GUID,
        ..Default::default()
    };
    let all = activations(&drive.persistent_events());
    let shown = &all[all.len().saturating_sub(log.entries.len())..];
    log.valid = (shown.len() as u32).into();
    log.entries[..shown.len()].copy_from_slice(shown);
    log
}

/// Checks command dword 11 of the feature. Its event in the persistent event log clears this log.
///
/// # Errors
/// `INVALID_FIELD` if it does not request clearing the log.
pub fn check_clear(cdw11: u32) -> Result<(), Status> {
    if cdw11 & CLEAR == 0 { Err(Status::INVALID_FIELD) } else { Ok(()) }
}

/// Returns the activations since the log was cleared, given events in chronological order.
fn activations(events: &[PersistentEvent]) -> Vec<OcpFirmwareActivation> {
    let mut activations = Vec::new();
    let mut power_cycles = 0;
    for event in events {
        match PersistentEventType(event.kind) {
            PersistentEventType::POWER_ON_OR_RESET => {
                let info = event.data.get(size_of::<PowerOnEvent>()..).unwrap_or_default();
                if let Ok((info, _)) = ControllerResetInfo::read_from_prefix(info) {
                    power_cycles = info.power_cycle.get();
                }
            }
            PersistentEventType::SET_FEATURE => {
                let dwords = event.data.get(size_of::<SetFeatureEvent>()..).unwrap_or_default();
                let cdw10 = U32::read_from_prefix(dwords).map_or(0, |(dword, _)| dword.get());
                if SetFeaturesCdw10::from(cdw10).fid() == Fid::OCP_CLEAR_FIRMWARE_HISTORY.0 {
                    activations.clear();
                }
            }
            PersistentEventType::FIRMWARE_COMMIT => {
                let Ok((commit, _)) = FirmwareCommitEvent::read_from_prefix(&event.data) else {
                    continue;
                };
                if CommitAction(commit.action) != CommitAction::REPLACE {
                    let count = activations.len() as u16 + 1;
                    activations.push(entry(event, &commit, count, power_cycles));
                }
            }
            _ => {}
        }
    }
    activations
}

fn entry(
    event: &PersistentEvent,
    commit: &FirmwareCommitEvent,
    count: u16,
    power_cycles: u32,
) -> OcpFirmwareActivation {
    let (milliseconds, attributes) = event.timestamp;
    OcpFirmwareActivation {
        version: ENTRY,
        length: size_of::<OcpFirmwareActivation>() as u8,
        count: count.into(),
        timestamp: Timestamp::new(milliseconds, attributes),
        power_cycles: u64::from(power_cycles).into(),
        old_revision: commit.old_revision,
        new_revision: commit.new_revision,
        slot: commit.slot,
        action: commit.action,
        result: (u16::from(commit.sct) << 8 | u16::from(commit.sc)).into(),
        ..Default::default()
    }
}
