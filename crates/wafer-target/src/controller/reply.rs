//! The outcome of a command: a reply, or a failure with its status.

use wafer_nvme::{Location, Status};

/// The outcome of a command that succeeded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// Dword 0 of the completion.
    pub dw0: u32,
    /// Dword 1 of the completion.
    pub dw1: u32,
    /// Data for the host.
    pub data: Vec<u8>,
    /// Whether the completion is sent later, as for an asynchronous event request.
    pub deferred: bool,
}

impl Reply {
    pub(crate) fn data(data: impl Into<Vec<u8>>) -> Self {
        Reply { data: data.into(), ..Default::default() }
    }

    pub(crate) fn dw0(dw0: u32) -> Self {
        Reply { dw0, ..Default::default() }
    }
}

/// A command that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Status of the completion.
    pub status: Status,
    /// Field at fault, where known.
    pub location: Option<Location>,
    /// First logical block at fault.
    pub lba: u64,
    /// Whether the same command may succeed later.
    pub retry: bool,
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        let retry = matches!(
            status,
            Status::TRANSIENT_TRANSPORT_ERROR
                | Status::INTERNAL_ERROR
                | Status::NAMESPACE_NOT_READY
        );
        Failure { status, location: None, lba: 0, retry }
    }
}

/// Invalid Field in Command, with the field.
impl From<Location> for Failure {
    fn from(location: Location) -> Self {
        Failure { location: Some(location), ..Status::INVALID_FIELD.into() }
    }
}

impl Failure {
    /// Returns a failure of the medium that holds the data.
    pub(crate) fn medium(error: &std::io::Error, status: Status, lba: u64) -> Self {
        tracing::error!(%error, "cannot access the data of a namespace");
        Failure { lba, retry: true, ..status.into() }
    }
}
