//! Fabrics commands of a connected queue: properties. Connect and Disconnect belong to the transport.

use wafer_nvme::zerocopy::{FromBytes as _, IntoBytes as _};
use wafer_nvme::{Cap, Cc, Csts, FabricsType, Property, PropertyCommand, Sqe, Status, location};

use super::limits::{MQES_Z, VERSION};
use super::reply::{Failure, Reply};
use super::subsystem::{Controller, Kind};

/// Supported fabrics commands, those of the transport included.
pub(crate) const SUPPORTED: &[FabricsType] = &[
    FabricsType::PROPERTY_SET,
    FabricsType::CONNECT,
    FabricsType::PROPERTY_GET,
    FabricsType::DISCONNECT,
];

/// CAP.TO: 30 s to become ready, enough for any host.
const READY_HALF_SECONDS: u8 = 60;
/// CAP.CSS: the NVM command set, and the choice of command sets (CC.CSS 6).
const COMMAND_SETS: u8 = 0b0100_0001;
const CAP: Cap = Cap::new()
    .with_mqes_z(MQES_Z)
    .with_cqr(true)
    .with_to(READY_HALF_SECONDS)
    .with_css(COMMAND_SETS);

/// Executes a fabrics command on queue `qid`.
///
/// # Errors
/// The status that it completes with.
pub fn fabrics(controller: &Controller, qid: u16, sqe: &Sqe) -> Result<Reply, Failure> {
    let command = PropertyCommand::ref_from_bytes(sqe.as_bytes());
    let command = command.map_err(|_| Status::INTERNAL_ERROR)?;
    match sqe.fabrics_type() {
        FabricsType::PROPERTY_GET if qid == 0 => property_get(controller, command),
        FabricsType::PROPERTY_SET if qid == 0 => property_set(controller, command),
        // A queue is connected once.
        FabricsType::CONNECT => Err(Status::SEQUENCE_ERROR.into()),
        _ => Err(Status::INVALID_FIELD.into()),
    }
}

fn property_get(controller: &Controller, command: &PropertyCommand) -> Result<Reply, Failure> {
    let state = controller.state();
    let bytes = if command.attrib & 7 == 1 { 8 } else { 4 };
    let value = match (Property(command.offset.get()), bytes) {
        (Property::CAP, 8) => CAP.into_bits(),
        (Property::VS, 4) => VERSION.into(),
        (Property::CC, 4) => state.cc.into_bits().into(),
        (Property::CSTS, 4) => {
            let shst = if state.shutdown { 2 } else { 0 };
            Csts::new().with_rdy(state.cc.en()).with_shst(shst).into_bits().into()
        }
        (Property::NSSR, 4) => 0,
        _ => return Err(location!(PropertyCommand, offset).into()),
    };
    Ok(Reply { dw0: value as u32, dw1: (value >> 32) as u32, ..Default::default() })
}

/// Sets the controller configuration, the only property that hosts can set.
fn property_set(controller: &Controller, command: &PropertyCommand) -> Result<Reply, Failure> {
    if Property(command.offset.get()) != Property::CC || command.attrib & 7 != 0 {
        return Err(location!(PropertyCommand, offset).into());
    }
    let cc = Cc::from_bits(command.value.get() as u32);
    let mut state = controller.state();
    if cc.en() && !state.cc.en() {
        let entries = (cc.iosqes(), cc.iocqes());
        let sizes_differ = controller.kind == Kind::Io && entries != (6, 4) && entries != (0, 0);
        if cc.mps() != 0 || cc.ams() != 0 || !matches!(cc.css(), 0 | 6) || sizes_differ {
            return Err(location!(PropertyCommand, value).into());
        }
    }
    let before = std::mem::replace(&mut state.cc, cc);
    if cc.shn() != 0 {
        state.shutdown = true;
    }
    if before.en() && !cc.en() {
        // A controller level reset clears features and outstanding requests.
        state.shutdown = false;
        state.async_config = Default::default();
        state.async_requests.clear();
        state.kept_features.clear();
        state.notice_sent = false;
        state.notice_due = false;
    }
    Ok(Reply::default())
}
