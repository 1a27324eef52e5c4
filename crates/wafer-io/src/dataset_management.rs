//! Dataset Management.

use wafer_interface::{Op, Placement};
use wafer_nvme::zerocopy::FromBytes as _;
use wafer_nvme::{DsmCdw10, DsmCdw11, DsmRange, Sqe, Status};

use super::extents::{self, Zeroing};
use super::{Failure, IoCommand, IoQueue, Step, range};

pub(super) struct DatasetManagement {
    nsid: u32,
    ranges: usize,
    deallocate: bool,
}

impl IoCommand for DatasetManagement {
    fn parse(sqe: &Sqe) -> Result<Self, Failure> {
        let ranges = usize::from(DsmCdw10::of(sqe).nr_z()) + 1;
        Ok(DatasetManagement { nsid: sqe.nsid.get(), ranges, deallocate: DsmCdw11::of(sqe).ad() })
    }

    fn execute(self, queue: &mut IoQueue, data: &[u8], _: &mut Vec<u8>) -> Result<Step, Failure> {
        let namespace = queue.namespace(self.nsid)?;
        let list = <[DsmRange]>::ref_from_prefix_with_elems(data, self.ranges);
        let (list, _) = list.map_err(|_| Status::INVALID_SGL_LENGTH)?;
        // Without the attribute, the command is a hint, which this drive ignores.
        if !self.deallocate {
            return Ok(Step::Done);
        }
        let mut ranges = Vec::with_capacity(list.len());
        for range in list {
            let blocks = u64::from(range.length.get());
            ranges.push(range::bytes(&namespace, range.slba.get(), blocks)?);
        }
        namespace.check_unprotected()?;
        queue.drive.check_media()?;
        queue.drive.check_writable()?;
        Ok(Step::More(Box::new(Zeroing {
            namespace,
            op: Op::Deallocate,
            pid: Placement::NONE,
            durable: false,
            ranges: extents::unite(ranges),
        })))
    }
}
