//! Failed commands: the status of the completion and the entry of the error log.

use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{Cqe, ErrorEntry, Location, Sqe, Status, StatusField};

use super::{Controller, ERROR_ENTRIES};

/// Transport Type of a transport error.
const TCP: u8 = 3;

/// A command that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Status of the completion.
    pub status: Status,
    /// Field at fault, where known.
    pub location: Option<Location>,
    /// First logical block at fault.
    pub lba: u64,
    /// Dword 0 of the completion.
    pub dw0: u32,
    /// Command Specific Information of the error log.
    pub specific: u64,
    /// Whether the same command may succeed later.
    pub retry: bool,
    /// Whether the medium failed to return data, which SMART counts.
    pub medium: bool,
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        let retry = matches!(
            status,
            Status::TRANSIENT_TRANSPORT_ERROR
                | Status::INTERNAL_ERROR
                | Status::NAMESPACE_NOT_READY
                | Status::COMMAND_INTERRUPTED
                | Status::FORMAT_IN_PROGRESS
                | Status::SANITIZE_IN_PROGRESS
                | Status::ANA_INACCESSIBLE
                | Status::ANA_PERSISTENT_LOSS
                | Status::ANA_TRANSITION
        );
        Failure { status, location: None, lba: 0, dw0: 0, specific: 0, retry, medium: false }
    }
}

/// Invalid Field in Command, with the field.
impl From<Location> for Failure {
    fn from(location: Location) -> Self {
        Failure { location: Some(location), ..Status::INVALID_FIELD.into() }
    }
}

impl Failure {
    /// Returns a failure of the medium.
    pub fn medium(error: &std::io::Error, status: Status, lba: u64) -> Self {
        wafer_storage::tell_failure(error);
        let medium = status == Status::UNRECOVERED_READ_ERROR;
        Failure { lba, retry: true, medium, ..status.into() }
    }
}

impl Controller {
    /// Enters a failure in the error log and returns the status field of the completion.
    pub fn fail(&self, qid: u16, sqe: &Sqe, failure: &Failure) -> StatusField {
        let field = StatusField::new().with_status(failure.status.0).with_dnr(!failure.retry);
        let error_count = self.subsystem.drive.count_error(failure.medium);
        let mut state = self.state();
        let entry = ErrorEntry {
            error_count: error_count.into(),
            sqid: qid.into(),
            cid: sqe.cid,
            status: field.into_bits().into(),
            location: failure.location.map_or(0xffff, Location::encode).into(),
            lba: failure.lba.into(),
            nsid: sqe.nsid,
            trtype: if failure.status == Status::TRANSIENT_TRANSPORT_ERROR { TCP } else { 0 },
            command_specific: failure.specific.into(),
            opcode: sqe.opcode,
            version: 1,
            ..Default::default()
        };
        if state.errors.len() == ERROR_ENTRIES {
            state.errors.pop_back();
        }
        state.errors.push_front(entry);
        drop(state);
        let field = field.with_more(true);
        if failure.medium {
            let status = field.into_bits().into();
            let cqe = Cqe { sqid: qid.into(), cid: sqe.cid, status, ..Default::default() };
            self.subsystem.drive.log_media_error(self.cntlid, cqe.as_bytes());
        }
        field
    }
}
