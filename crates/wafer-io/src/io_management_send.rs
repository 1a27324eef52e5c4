//! I/O Management Send: Reclaim Unit Handle Update.

use wafer_interface::Placement;
use wafer_nvme::zerocopy::FromBytes as _;
use wafer_nvme::{IoManagementCdw10, Sqe, Status, U16};

use super::io_management_receive::Operation;
use super::{Failure, IoCommand, IoQueue, Step};

pub(super) struct IoManagementSend {
    nsid: u32,
    operation: Operation,
    /// Placement identifiers.
    count: usize,
}

impl IoCommand for IoManagementSend {
    fn parse(sqe: &Sqe) -> Result<Self, Failure> {
        let count = usize::from(IoManagementCdw10::of(sqe).mos()) + 1;
        Ok(IoManagementSend { nsid: sqe.nsid.get(), operation: Operation::parse(sqe)?, count })
    }

    /// Moves each listed handle to another reclaim unit, or none if any identifier is invalid.
    fn execute(self, queue: &mut IoQueue, data: &[u8], _: &mut Vec<u8>) -> Result<Step, Failure> {
        queue.end_batch()?;
        let namespace = queue.namespace(self.nsid)?;
        if let Operation::None = self.operation {
            return Ok(Step::Done);
        }
        queue.controller.check_fdp()?;
        // MAXPIDS of the FDP configuration.
        let geometry = queue.drive.geometry();
        if self.count > usize::from(geometry.groups) * usize::from(geometry.handles) {
            return Err(IoManagementCdw10::new().with_mos(1).location().into());
        }
        let list = <[U16]>::ref_from_prefix_with_elems(data, self.count);
        let (list, _) = list.map_err(|_| Status::INVALID_SGL_LENGTH)?;
        let pids = list.iter().map(|pid| Placement(pid.get()));
        if pids.clone().any(|pid| namespace.placement(pid).is_err()) {
            return Err(Status::INVALID_FIELD.into());
        }
        queue.drive.check_writable()?;
        for pid in pids {
            queue.drive.update(queue.controller.host, &namespace, pid)?;
        }
        Ok(Step::Done)
    }
}
