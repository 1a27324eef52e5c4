//! Persistent Event Log. The controller's reporting context keeps the log unchanged while a host reads it in parts.

use std::mem::offset_of;

use wafer_drive::{NO_CONTROLLER, PersistentEvent};
use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{
    Lid, PersistentEventHead, PersistentEventLog, PersistentEventType, Status, nqn_field, padded,
};

use super::{Controller, Failure, Page, Request};
use crate::identify::VENDOR;
use crate::persistent::stamp;

/// Actions, in the Log Specific Parameter.
const READ: u8 = 0;
const ESTABLISH: u8 = 1;
const RELEASE: u8 = 2;

/// Revision of the log page in Base 2.1.
const REVISION: u8 = 3;
const HEADER: usize = size_of::<PersistentEventLog>();
/// Bytes of the header up to and including Log Header Length, which counts the rest.
const BEFORE_LHL: usize = 20;
/// Reporting Context Information: a context existed before the command, established through a port of the subsystem.
const CONTEXT_EXISTS: u32 = 1 << 18 | 1 << 16;

pub(super) const PAGE: Page = Page { lid: Lid::PERSISTENT_EVENT, read };

fn read(controller: &Controller, request: &Request) -> Result<Vec<u8>, Failure> {
    let action = request.lsp & 3;
    let exists = controller.state().persistent_log.is_some();
    match action {
        // Releasing returns no data; hosts that read anyway get zeroes.
        RELEASE => {
            controller.state().persistent_log = None;
            return Ok(vec![0; HEADER]);
        }
        READ if !exists => return Err(Status::SEQUENCE_ERROR.into()),
        ESTABLISH if exists => return Err(Status::SEQUENCE_ERROR.into()),
        _ => {}
    }
    let page = if exists { None } else { Some(page(controller)) };
    let mut state = controller.state();
    if let Some(page) = page {
        state.persistent_log = Some(page);
    }
    let mut page = state.persistent_log.clone().ok_or(Status::SEQUENCE_ERROR)?;
    if !matches!(action, READ | ESTABLISH) {
        page.truncate(HEADER);
    }
    if exists {
        let at = offset_of!(PersistentEventLog, rci);
        // The lowest bits are the port through which the controller established the context.
        let information = CONTEXT_EXISTS | u32::from(controller.port.id);
        page[at..at + 4].copy_from_slice(&information.to_le_bytes());
    }
    Ok(page)
}

/// Returns the whole current page.
fn page(controller: &Controller) -> Vec<u8> {
    let subsystem = &controller.subsystem;
    let life = subsystem.drive.counters().life;
    let (generation, events) = subsystem.drive.persistent_log();
    let mut bytes = vec![0; HEADER];
    for event in &events {
        push(&mut bytes, event);
    }
    let header = PersistentEventLog {
        lid: Lid::PERSISTENT_EVENT.0,
        tnev: (events.len() as u32).into(),
        tll: (bytes.len() as u64).into(),
        revision: REVISION,
        lhl: ((HEADER - BEFORE_LHL) as u16).into(),
        timestamp: stamp(subsystem.drive.timestamp()).into(),
        power_on_hours: u128::from(life.power_on_seconds / 3600).into(),
        power_cycles: life.power_cycles.into(),
        vid: VENDOR.into(),
        ssvid: VENDOR.into(),
        sn: padded(&subsystem.options.serial),
        mn: padded(&subsystem.options.model),
        subnqn: nqn_field(&subsystem.options.nqn),
        generation: generation.into(),
        supported: PersistentEventLog::all_supported(),
        ..Default::default()
    };
    bytes[..HEADER].copy_from_slice(header.as_bytes());
    bytes
}

fn push(bytes: &mut Vec<u8>, event: &PersistentEvent) {
    let (kind, data) = (PersistentEventType(event.kind), event.data.len() as u16);
    let cntlid = (event.controller != NO_CONTROLLER).then_some(event.controller);
    let head = PersistentEventHead::new(kind, cntlid, stamp(event.timestamp), data);
    bytes.extend_from_slice(head.as_bytes());
    bytes.extend_from_slice(&event.data);
}
