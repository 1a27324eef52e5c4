//! I/O commands that read, write and deallocate logical blocks.

use wafer_interface::{Op, Placement};
use wafer_nvme::zerocopy::FromBytes as _;
use wafer_nvme::{CopyCdw12, CopyRange, DsmCdw10, DsmCdw11, DsmRange, RwCdw12, Sqe, Status};

use super::queue::{Extent, IoQueue, byte_range};
use crate::controller::limits::{COPY_BLOCKS, COPY_RANGES_Z};
use crate::controller::reply::Failure;
use crate::controller::subsystem::BROADCAST;

/// Maximum bytes of a command of the device: a range of 4 KiB blocks can be longer.
const PIECE: u64 = 1 << 40;

type Done = Result<u32, Failure>;

pub(super) fn read(queue: &mut IoQueue, sqe: &Sqe, _: &[u8], out: &mut Vec<u8>) -> Done {
    let at = out.len();
    let Extent { namespace, lba, offset, length } = queue.transfer(sqe)?;
    out.resize(at + length as usize, 0);
    let read = namespace.store.read(offset, &mut out[at..]);
    read.map_err(|e| Failure::medium(&e, Status::UNRECOVERED_READ_ERROR, lba))?;
    queue.count(Op::Read, &namespace, (offset, length), Placement::NONE);
    queue.transferred.reads += 1;
    Ok(0)
}

/// Reads the extent of a command into the scratch buffer of the queue.
fn read_scratch(queue: &mut IoQueue, sqe: &Sqe) -> Result<Extent, Failure> {
    let extent = queue.transfer(sqe)?;
    queue.scratch.resize(extent.length as usize, 0);
    let read = extent.namespace.store.read(extent.offset, &mut queue.scratch);
    read.map_err(|e| Failure::medium(&e, Status::UNRECOVERED_READ_ERROR, extent.lba))?;
    let range = (extent.offset, extent.length);
    queue.count(Op::Read, &extent.namespace, range, Placement::NONE);
    Ok(extent)
}

pub(super) fn verify(queue: &mut IoQueue, sqe: &Sqe, _: &[u8], _: &mut Vec<u8>) -> Done {
    read_scratch(queue, sqe).map(|_| 0)
}

pub(super) fn compare(queue: &mut IoQueue, sqe: &Sqe, data: &[u8], _: &mut Vec<u8>) -> Done {
    let Extent { lba, length, .. } = read_scratch(queue, sqe)?;
    queue.transferred.reads += 1;
    let data = data.get(..length as usize).ok_or(Status::INVALID_SGL_LENGTH)?;
    if queue.scratch != data {
        return Err(Failure { lba, ..Status::COMPARE_FAILURE.into() });
    }
    Ok(0)
}

pub(super) fn write(queue: &mut IoQueue, sqe: &Sqe, data: &[u8], _: &mut Vec<u8>) -> Done {
    let Extent { namespace, lba, offset, length } = queue.transfer(sqe)?;
    let pid = queue.placement(&namespace, sqe)?;
    let data = data.get(..length as usize).ok_or(Status::INVALID_SGL_LENGTH)?;
    let written = namespace.store.write(offset, data);
    written.map_err(|e| Failure::medium(&e, Status::WRITE_FAULT, lba))?;
    queue.count(Op::Write, &namespace, (offset, length), pid);
    queue.transferred.writes += 1;
    queue.finish_write(RwCdw12::of(sqe).fua())
}

pub(super) fn write_zeroes(queue: &mut IoQueue, sqe: &Sqe, _: &[u8], _: &mut Vec<u8>) -> Done {
    let Extent { namespace, lba, offset, length } = queue.extent(sqe)?;
    let pid = queue.placement(&namespace, sqe)?;
    let zeroed = namespace.store.deallocate(offset, length);
    zeroed.map_err(|e| Failure::medium(&e, Status::WRITE_FAULT, lba))?;
    // Without the deallocate bit the device counts zeroes like other data.
    let cdw12 = RwCdw12::of(sqe);
    let op = if cdw12.deac() { Op::Deallocate } else { Op::Write };
    queue.count(op, &namespace, (offset, length), pid);
    queue.finish_write(cdw12.fua())
}

/// Executes Copy, descriptor format 0.
pub(super) fn copy(queue: &mut IoQueue, sqe: &Sqe, data: &[u8], _: &mut Vec<u8>) -> Done {
    let cdw12 = CopyCdw12::of(sqe);
    if cdw12.desfmt() != 0 {
        return Err(CopyCdw12::new().with_desfmt(1).location().into());
    }
    if cdw12.nr_z() > COPY_RANGES_Z {
        return Err(Status::COMMAND_SIZE_LIMIT.into());
    }
    let namespace = queue.namespace(sqe)?;
    let pid = queue.placement(&namespace, sqe)?;
    let list = <[CopyRange]>::ref_from_prefix_with_elems(data, usize::from(cdw12.nr_z()) + 1);
    let (list, _) = list.map_err(|_| Status::INVALID_SGL_LENGTH)?;
    let mut sources = Vec::with_capacity(list.len());
    let mut blocks = 0;
    for source in list {
        let count = u64::from(source.nlb_z.get()) + 1;
        blocks += count;
        if blocks > u64::from(COPY_BLOCKS) {
            return Err(Status::COMMAND_SIZE_LIMIT.into());
        }
        sources.push(byte_range(&namespace, source.slba.get(), count)?);
    }
    let lba = sqe.cdw10_11();
    let (to, length) = byte_range(&namespace, lba, blocks)?;
    // Everything is read before anything is written: source ranges may overlap the destination.
    queue.scratch.resize(length as usize, 0);
    let mut at = 0;
    for (offset, length) in &sources {
        let buffer = &mut queue.scratch[at..at + *length as usize];
        let read = namespace.store.read(*offset, buffer);
        read.map_err(|e| Failure::medium(&e, Status::UNRECOVERED_READ_ERROR, lba))?;
        at += *length as usize;
    }
    for source in sources {
        queue.count(Op::Read, &namespace, source, Placement::NONE);
    }
    let written = namespace.store.write(to, &queue.scratch);
    written.map_err(|e| Failure::medium(&e, Status::WRITE_FAULT, lba))?;
    queue.count(Op::Write, &namespace, (to, length), pid);
    queue.finish_write(cdw12.fua())
}

pub(super) fn dataset_management(
    queue: &mut IoQueue,
    sqe: &Sqe,
    data: &[u8],
    _: &mut Vec<u8>,
) -> Done {
    let namespace = queue.namespace(sqe)?;
    let count = usize::from(DsmCdw10::of(sqe).nr_z()) + 1;
    let list = <[DsmRange]>::ref_from_prefix_with_elems(data, count);
    let (list, _) = list.map_err(|_| Status::INVALID_SGL_LENGTH)?;
    // Without the attribute the command is a hint, which this drive does not use.
    if !DsmCdw11::of(sqe).ad() {
        return Ok(0);
    }
    let mut ranges = Vec::with_capacity(list.len());
    for range in list {
        ranges.push(byte_range(&namespace, range.slba.get(), range.length.get().into())?);
    }
    for (offset, length) in ranges.into_iter().filter(|(_, length)| *length > 0) {
        let done = namespace.store.deallocate(offset, length);
        done.map_err(|e| Failure::medium(&e, Status::WRITE_FAULT, offset))?;
        let (mut at, end) = (offset, offset + length);
        while at < end {
            let piece = (end - at).min(PIECE);
            queue.count(Op::Deallocate, &namespace, (at, piece), Placement::NONE);
            at += piece;
        }
    }
    Ok(0)
}

pub(super) fn flush(queue: &mut IoQueue, sqe: &Sqe, _: &[u8], _: &mut Vec<u8>) -> Done {
    queue.end_batch();
    let namespace = match sqe.nsid.get() {
        BROADCAST => None,
        _ => Some(queue.namespace(sqe)?.id()),
    };
    let flushed = queue.drive.flush(queue.controller.host, namespace);
    flushed.map_err(|e| Failure::medium(&e, Status::WRITE_FAULT, 0))?;
    Ok(0)
}
