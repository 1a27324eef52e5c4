//! Directive Receive: which directives there are (Base 2.1, 8.1.8). Data placement is enabled whenever FDP is,
//! and cannot be switched by itself.

use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{DirectiveParameters, DirectiveType, Sqe};

use super::directive_send::check_operation;
use super::{AdminCommand, Controller, Failure, Reply};
use crate::nsid::Nsid;

/// The Identify directive's return parameters.
pub(super) struct DirectiveReceive {
    nsid: Nsid,
}

impl AdminCommand<'_> for DirectiveReceive {
    fn parse(sqe: &Sqe, _data: &[u8]) -> Result<Self, Failure> {
        let nsid = Nsid::one_or_all(sqe)?;
        check_operation(sqe)?;
        Ok(DirectiveReceive { nsid })
    }

    fn execute(self, controller: &Controller) -> Result<Reply, Failure> {
        controller.check_active(self.nsid)?;
        let identify = 1 << DirectiveType::IDENTIFY.0;
        let fdp = controller.subsystem.drive.fdp_enabled();
        let placement = u8::from(fdp) << DirectiveType::DATA_PLACEMENT.0;
        let mut parameters = DirectiveParameters::default();
        parameters.supported[0] = identify | placement;
        parameters.enabled[0] = identify | placement;
        parameters.persistent[0] = placement;
        Ok(Reply::data(parameters.as_bytes()))
    }
}
