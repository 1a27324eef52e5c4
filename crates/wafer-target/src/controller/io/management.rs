//! I/O Management: Reclaim Unit Handle Status and Reclaim Unit Handle Update.

use wafer_drive::Namespace;
use wafer_interface::Placement;
use wafer_nvme::zerocopy::{FromBytes as _, IntoBytes as _};
use wafer_nvme::{
    IoManagementCdw10, ManagementOperation, RuhStatus, RuhStatusDescriptor, Sqe, Status, U16,
    location,
};

use super::queue::IoQueue;
use crate::controller::limits::MAX_TRANSFER;
use crate::controller::reply::Failure;
use crate::controller::subsystem::Controller;

/// Returns whether the command is an operation on reclaim unit handles rather than no operation.
fn on_handles(sqe: &Sqe) -> Result<bool, Failure> {
    match ManagementOperation(IoManagementCdw10::of(sqe).mo()) {
        ManagementOperation::NONE => Ok(false),
        ManagementOperation::RECLAIM_UNIT_HANDLE => Ok(true),
        _ => Err(IoManagementCdw10::new().with_mo(1).location().into()),
    }
}

pub(super) fn receive(
    queue: &mut IoQueue,
    sqe: &Sqe,
    _: &[u8],
    out: &mut Vec<u8>,
) -> Result<u32, Failure> {
    let length = (u64::from(sqe.cdw11.get()) + 1) * 4;
    if length > MAX_TRANSFER {
        return Err(location!(cdw11).into());
    }
    let on_handles = on_handles(sqe)?;
    queue.end_batch();
    let namespace = queue.namespace(sqe)?;
    let mut data = if on_handles { status(&queue.controller, &namespace)? } else { Vec::new() };
    data.resize(length as usize, 0);
    out.extend_from_slice(&data);
    Ok(0)
}

fn status(controller: &Controller, namespace: &Namespace) -> Result<Vec<u8>, Failure> {
    controller.check_fdp()?;
    let drive = &controller.subsystem.drive;
    let blocks_per_page = drive.geometry().page_bytes / namespace.lba_bytes();
    let handles = drive.handle_status(namespace).into_iter();
    let descriptors: Vec<RuhStatusDescriptor> = handles
        .map(|handle| RuhStatusDescriptor {
            pid: handle.placement.0.into(),
            ruhid: handle.handle.0.into(),
            ruamw: (u64::from(handle.available_pages) * blocks_per_page).into(),
            ..Default::default()
        })
        .collect();
    let head = RuhStatus { nruhsd: (descriptors.len() as u16).into(), ..Default::default() };
    Ok([head.as_bytes(), descriptors.as_bytes()].concat())
}

/// Moves each handle named to another reclaim unit, or none if one identifier is invalid.
pub(super) fn send(
    queue: &mut IoQueue,
    sqe: &Sqe,
    data: &[u8],
    _: &mut Vec<u8>,
) -> Result<u32, Failure> {
    let on_handles = on_handles(sqe)?;
    queue.end_batch();
    let namespace = queue.namespace(sqe)?;
    if !on_handles {
        return Ok(0);
    }
    queue.controller.check_fdp()?;
    let count = usize::from(IoManagementCdw10::of(sqe).mos()) + 1;
    let list = <[U16]>::ref_from_prefix_with_elems(data, count);
    let (list, _) = list.map_err(|_| Status::INVALID_SGL_LENGTH)?;
    let pids = list.iter().map(|pid| Placement(pid.get()));
    if pids.clone().any(|pid| namespace.placement(pid).is_err()) {
        return Err(Status::INVALID_FIELD.into());
    }
    for pid in pids {
        queue.drive.update(queue.controller.host, &namespace, pid)?;
    }
    Ok(0)
}
