//! Directive Send and Receive: which directives there are (Base 2.1, 8.1.8). Data placement is enabled
//! whenever FDP is, and cannot be switched by itself.

use wafer_spec::zerocopy::IntoBytes as _;
use wafer_spec::*;

use super::identify::BROADCAST;
use super::{Controller, Failure, Reply};

/// Operation 1 of the Identify directive: return parameters, or enable.
const OPERATION: u8 = 1;

impl Controller {
    pub(crate) fn directive_receive(&self, sqe: &Sqe) -> Result<Reply, Failure> {
        let cdw11 = DirectiveCdw11::from(sqe.cdw11.get());
        self.directive_namespace(sqe)?;
        if DirectiveType(cdw11.dtype()) != DirectiveType::IDENTIFY || cdw11.doper() != OPERATION {
            return Err(Failure::field(44));
        }
        let placement = if self.subsystem.drive.fdp_enabled() { 0b100 } else { 0 };
        let mut parameters = DirectiveParameters::default();
        parameters.supported[0] = 1 | placement;
        parameters.enabled[0] = 1 | placement;
        parameters.persistent[0] = placement;
        Ok(Reply::data(parameters.as_bytes()))
    }

    pub(crate) fn directive_send(&self, sqe: &Sqe) -> Result<Reply, Failure> {
        let cdw11 = DirectiveCdw11::from(sqe.cdw11.get());
        self.directive_namespace(sqe)?;
        if DirectiveType(cdw11.dtype()) != DirectiveType::IDENTIFY || cdw11.doper() != OPERATION {
            return Err(Failure::field(44));
        }
        let wanted = DirectiveEnable::from(sqe.cdw12.get());
        let enabled = match DirectiveType(wanted.dtype()) {
            DirectiveType::DATA_PLACEMENT => self.subsystem.drive.fdp_enabled(),
            _ => return Err(Failure::field(49)),
        };
        if wanted.endir() == enabled { Ok(Reply::default()) } else { Err(Failure::field(48)) }
    }

    fn directive_namespace(&self, sqe: &Sqe) -> Result<(), Failure> {
        if sqe.nsid.get() != BROADCAST {
            self.active(sqe.nsid.get())?.ok_or(Status::INVALID_FIELD)?;
        }
        Ok(())
    }
}
