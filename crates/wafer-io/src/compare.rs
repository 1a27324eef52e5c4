//! Compare.

use wafer_interface::{Op, Placement};
use wafer_nvme::{Sqe, Status};

use super::range::{Extent, Range};
use super::{Failure, IoCommand, IoQueue, Step};

pub(super) struct Compare(Range);

impl IoCommand for Compare {
    fn parse(sqe: &Sqe) -> Result<Self, Failure> {
        Ok(Compare(Range::parse(sqe)))
    }

    fn execute(self, queue: &mut IoQueue, data: &[u8], _: &mut Vec<u8>) -> Result<Step, Failure> {
        let lba = self.0.lba;
        let Extent { namespace, offset, length } = self.0.resolve_transfer(queue)?;
        let data = data.get(..length as usize).ok_or(Status::INVALID_SGL_LENGTH)?;
        queue.check_allocated(&namespace, offset, length)?;
        queue.scratch.resize(length as usize, 0);
        IoQueue::read(&namespace, offset, &mut queue.scratch, lba)?;
        queue.batch.transferred.reads += 1;
        queue.count(Op::Read, &namespace, offset, length, Placement::NONE);
        if queue.scratch != data {
            return Err(Failure { lba, ..Status::COMPARE_FAILURE.into() });
        }
        Ok(Step::Done)
    }
}
