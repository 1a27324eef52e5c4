//! Directive Send: the Identify directive enables and disables directives (Base 2.1, 8.1.8).

use wafer_nvme::{DirectiveCdw11, DirectiveEnable, DirectiveType, Sqe};

use super::{AdminCommand, Controller, Failure, Reply};
use crate::nsid::Nsid;

/// Operation 1 of the Identify directive: return parameters, or enable.
const OPERATION: u8 = 1;

/// Whether the data placement directive is to be enabled.
pub(super) struct DirectiveSend {
    nsid: Nsid,
    enable: bool,
}

/// Checks type and operation: only the Identify directive is sent and received.
pub(super) fn check_operation(sqe: &Sqe) -> Result<(), Failure> {
    let cdw11 = DirectiveCdw11::of(sqe);
    if DirectiveType(cdw11.dtype()) != DirectiveType::IDENTIFY {
        return Err(DirectiveCdw11::new().with_dtype(1).location().into());
    }
    if cdw11.doper() != OPERATION {
        return Err(DirectiveCdw11::new().with_doper(1).location().into());
    }
    Ok(())
}

impl AdminCommand<'_> for DirectiveSend {
    fn parse(sqe: &Sqe, _data: &[u8]) -> Result<Self, Failure> {
        let nsid = Nsid::one_or_all(sqe)?;
        check_operation(sqe)?;
        let cdw12 = DirectiveEnable::of(sqe);
        if DirectiveType(cdw12.dtype()) != DirectiveType::DATA_PLACEMENT {
            return Err(DirectiveEnable::new().with_dtype(1).location().into());
        }
        Ok(DirectiveSend { nsid, enable: cdw12.endir() })
    }

    fn execute(self, controller: &Controller) -> Result<Reply, Failure> {
        controller.check_active(self.nsid)?;
        // It follows FDP.
        if self.enable != controller.subsystem.drive.fdp_enabled() {
            return Err(DirectiveEnable::new().with_endir(true).location().into());
        }
        Ok(Reply::default())
    }
}
