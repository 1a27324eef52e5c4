//! Directive Send (Base 2.1, 8.1.8): Identify enables and disables directives, Streams releases streams.

use wafer_nvme::{DirectiveCdw11, DirectiveEnable, DirectiveType, Sqe, Status, location};

use super::{AdminCommand, Controller, Failure, Reply};
use crate::Kind;
use crate::nsid::Nsid;

/// An operation with its namespace.
pub(super) struct DirectiveSend {
    nsid: Nsid,
    operation: Operation,
}

enum Operation {
    Enable { dtype: DirectiveType, enable: bool },
    ReleaseIdentifier(u16),
    ReleaseResources,
}

/// Directive Type and Directive Operation as fields at fault.
pub(super) const DTYPE: DirectiveCdw11 = DirectiveCdw11::new().with_dtype(1);
pub(super) const DOPER: DirectiveCdw11 = DirectiveCdw11::new().with_doper(1);

impl AdminCommand<'_> for DirectiveSend {
    fn parse(sqe: &Sqe, _data: &[u8]) -> Result<Self, Failure> {
        let nsid = Nsid::one_or_all(sqe)?;
        let cdw11 = DirectiveCdw11::of(sqe);
        let operation = match (DirectiveType(cdw11.dtype()), cdw11.doper()) {
            (DirectiveType::IDENTIFY, 1) => {
                let enable = DirectiveEnable::of(sqe);
                let dtype = DirectiveType(enable.dtype());
                Operation::Enable { dtype, enable: enable.endir() }
            }
            (DirectiveType::STREAMS, 1) => Operation::ReleaseIdentifier(cdw11.dspec()),
            (DirectiveType::STREAMS, 2) => Operation::ReleaseResources,
            (DirectiveType::IDENTIFY | DirectiveType::STREAMS, _) => {
                return Err(DOPER.location().into());
            }
            _ => return Err(DTYPE.location().into()),
        };
        Ok(DirectiveSend { nsid, operation })
    }

    fn execute(self, controller: &Controller) -> Result<Reply, Failure> {
        controller.check_active(self.nsid)?;
        let (drive, host) = (&controller.subsystem.drive, controller.hostid);
        match self.operation {
            Operation::Enable { dtype: DirectiveType::STREAMS, enable } => {
                enable_streams(controller, self.nsid, enable)?;
            }
            Operation::Enable { dtype: DirectiveType::DATA_PLACEMENT, enable } => {
                // Data placement follows FDP.
                match drive.fdp_enabled() {
                    _ if self.nsid == Nsid::All => return Err(Status::INVALID_NAMESPACE.into()),
                    true if !enable => {
                        return Err(DirectiveEnable::new().with_endir(true).location().into());
                    }
                    false if enable => return Err(Status::FDP_DISABLED.into()),
                    _ => {}
                }
            }
            Operation::Enable { .. } => {
                return Err(DirectiveEnable::new().with_dtype(1).location().into());
            }
            Operation::ReleaseIdentifier(identifier) => {
                controller.check_streams(self.nsid)?;
                drive.release_stream(host, one(self.nsid)?, identifier);
            }
            Operation::ReleaseResources => {
                controller.check_streams(self.nsid)?;
                drive.release_allocated_streams(host, one(self.nsid)?);
            }
        }
        Ok(Reply::default())
    }
}

/// Enables or disables the Streams directive for the host in a namespace, or for all hosts in all namespaces.
fn enable_streams(controller: &Controller, nsid: Nsid, enable: bool) -> Result<(), Failure> {
    let (subsystem, drive) = (&controller.subsystem, &controller.subsystem.drive);
    if drive.fdp_enabled() && enable {
        return Err(DOPER.location().into());
    }
    if !drive.supports_streams() {
        return Err(DirectiveEnable::new().with_dtype(1).location().into());
    }
    drive.enable_streams(controller.hostid, nsid.one(), enable)?;
    if nsid == Nsid::All {
        for other in subsystem.controllers().iter().filter(|other| other.kind == Kind::Io) {
            // Hosts without an identifier have no streams.
            let _ = drive.enable_streams(other.hostid, None, enable);
        }
    }
    Ok(())
}

/// Returns the namespace of an operation that takes exactly one.
pub(super) fn one(nsid: Nsid) -> Result<u32, Failure> {
    nsid.one().ok_or_else(|| location!(nsid).into())
}

impl Controller {
    /// Checks that the host enabled the Streams directive.
    pub(super) fn check_streams(&self, nsid: Nsid) -> Result<(), Failure> {
        let enabled = self.subsystem.drive.streams_enabled(self.hostid, nsid.one());
        if enabled { Ok(()) } else { Err(DTYPE.location().into()) }
    }
}
