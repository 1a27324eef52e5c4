//! I/O Management Receive: Reclaim Unit Handle Status.

use wafer_drive::Namespace;
use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{
    IoManagementCdw10, ManagementOperation, RuhStatus, RuhStatusDescriptor, Sqe, location,
};

use super::{Controller, Failure, IoCommand, IoQueue, Step, range};

pub(super) struct IoManagementReceive {
    nsid: u32,
    operation: Operation,
    /// Bytes.
    length: u64,
}

/// A supported management operation.
pub(super) enum Operation {
    None,
    ReclaimUnitHandle,
}

impl Operation {
    pub(super) fn parse(sqe: &Sqe) -> Result<Self, Failure> {
        match ManagementOperation(IoManagementCdw10::of(sqe).mo()) {
            ManagementOperation::NONE => Ok(Operation::None),
            ManagementOperation::RECLAIM_UNIT_HANDLE => Ok(Operation::ReclaimUnitHandle),
            _ => Err(IoManagementCdw10::new().with_mo(1).location().into()),
        }
    }
}

impl IoCommand for IoManagementReceive {
    fn parse(sqe: &Sqe) -> Result<Self, Failure> {
        let length = (u64::from(sqe.cdw11.get()) + 1) * 4;
        range::check_transfer(length, location!(cdw11))?;
        Ok(IoManagementReceive { nsid: sqe.nsid.get(), operation: Operation::parse(sqe)?, length })
    }

    fn execute(self, queue: &mut IoQueue, _: &[u8], out: &mut Vec<u8>) -> Result<Step, Failure> {
        // A failure to record the batch concerns the commands that wrote.
        let _ = queue.end_batch();
        let namespace = queue.namespace(self.nsid)?;
        let mut data = match self.operation {
            Operation::None => Vec::new(),
            Operation::ReclaimUnitHandle => status(&queue.controller, &namespace)?,
        };
        data.resize(self.length as usize, 0);
        out.extend_from_slice(&data);
        Ok(Step::Done)
    }
}

fn status(controller: &Controller, namespace: &Namespace) -> Result<Vec<u8>, Failure> {
    controller.check_fdp()?;
    let drive = &controller.subsystem.drive;
    let blocks_per_page = drive.geometry().page_bytes / namespace.lba_bytes();
    let handles = drive.handle_status(namespace);
    let head = RuhStatus { nruhsd: (handles.len() as u16).into(), ..Default::default() };
    let mut data = head.as_bytes().to_vec();
    for handle in handles {
        let status = RuhStatusDescriptor {
            pid: handle.placement.0.into(),
            ruhid: handle.handle.0.into(),
            ruamw: (u64::from(handle.available_pages) * blocks_per_page).into(),
            ..Default::default()
        };
        data.extend_from_slice(status.as_bytes());
    }
    Ok(data)
}
