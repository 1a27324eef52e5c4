//! Fabrics commands of a connected admin queue. The transport executes Connect, the authentication commands and
//! Disconnect.

mod property_get;
mod property_set;

use wafer_nvme::zerocopy::{FromBytes as _, IntoBytes as _};
use wafer_nvme::{FabricsType, PropertyCommand, Sqe, Status};

use super::{Controller, Failure, Kind, MQES_Z, Reply};

/// NVMe 2.1.
pub(crate) const VERSION: u32 = 0x0002_0100;

/// Supported fabrics commands, including those of the transport.
pub(crate) const SUPPORTED: &[FabricsType] = &[
    FabricsType::PROPERTY_SET,
    FabricsType::CONNECT,
    FabricsType::PROPERTY_GET,
    FabricsType::AUTHENTICATION_SEND,
    FabricsType::AUTHENTICATION_RECEIVE,
    FabricsType::DISCONNECT,
];

/// Size of a property, from ATTRIB.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Size {
    Four,
    Eight,
}

impl Size {
    fn of(command: &PropertyCommand) -> Self {
        if command.attrib & 7 == 1 { Size::Eight } else { Size::Four }
    }
}

/// Executes a fabrics command on queue `qid`.
///
/// # Errors
/// The status that it completes with.
pub fn fabrics(controller: &Controller, qid: u16, sqe: &Sqe) -> Result<Reply, Failure> {
    let command = PropertyCommand::ref_from_bytes(sqe.as_bytes());
    let command = command.map_err(|_| Status::INTERNAL_ERROR)?;
    match sqe.fabrics_type() {
        FabricsType::PROPERTY_GET if qid == 0 => {
            property_get::PropertyGet::parse(command).execute(controller)
        }
        FabricsType::PROPERTY_SET if qid == 0 => {
            property_set::PropertySet::parse(command)?.execute(controller)
        }
        // A queue is connected only once.
        FabricsType::CONNECT => Err(Status::SEQUENCE_ERROR.into()),
        _ => Err(Status::INVALID_FIELD.into()),
    }
}
