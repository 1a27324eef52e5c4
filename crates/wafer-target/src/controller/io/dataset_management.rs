//! Dataset Management.

use wafer_interface::{Op, Placement};
use wafer_nvme::zerocopy::FromBytes as _;
use wafer_nvme::{DsmCdw10, DsmCdw11, DsmRange, Sqe, Status};

use super::{Failure, IoCommand, IoQueue, range};

pub(super) struct DatasetManagement {
    nsid: u32,
    ranges: usize,
    deallocate: bool,
}

/// Bytes of a command of the device at most: a range of 4 KiB blocks can be longer.
const PIECE: u64 = 1 << 40;

impl IoCommand for DatasetManagement {
    fn parse(sqe: &Sqe) -> Result<Self, Failure> {
        let ranges = usize::from(DsmCdw10::of(sqe).nr_z()) + 1;
        Ok(DatasetManagement { nsid: sqe.nsid.get(), ranges, deallocate: DsmCdw11::of(sqe).ad() })
    }

    fn execute(self, queue: &mut IoQueue, data: &[u8], _: &mut Vec<u8>) -> Result<u32, Failure> {
        let namespace = queue.namespace(self.nsid)?;
        let list = <[DsmRange]>::ref_from_prefix_with_elems(data, self.ranges);
        let (list, _) = list.map_err(|_| Status::INVALID_SGL_LENGTH)?;
        // Without the attribute the command is a hint, which this drive does not use.
        if !self.deallocate {
            return Ok(0);
        }
        let mut ranges = Vec::with_capacity(list.len());
        for range in list {
            let blocks = u64::from(range.length.get());
            ranges.push(range::bytes(&namespace, range.slba.get(), blocks)?);
        }
        queue.drive.check_writable()?;
        for (offset, length) in ranges.into_iter().filter(|(_, length)| *length > 0) {
            let done = namespace.store.deallocate(offset, length);
            done.map_err(|e| Failure::medium(&e, Status::WRITE_FAULT, offset))?;
            let (mut at, end) = (offset, offset + length);
            while at < end {
                let piece = (end - at).min(PIECE);
                queue.count(Op::Deallocate, &namespace, at, piece, Placement::NONE);
                at += piece;
            }
        }
        Ok(0)
    }
}
