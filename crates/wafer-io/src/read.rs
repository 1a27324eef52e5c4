//! Read.

use wafer_interface::{Op, Placement};
use wafer_nvme::Sqe;

use super::range::{Extent, Range};
use super::{Failure, IoCommand, IoQueue, Step};

pub(super) struct Read(Range);

impl IoCommand for Read {
    fn parse(sqe: &Sqe) -> Result<Self, Failure> {
        Ok(Read(Range::parse(sqe)))
    }

    fn execute(self, queue: &mut IoQueue, _: &[u8], out: &mut Vec<u8>) -> Result<Step, Failure> {
        let Extent { namespace, offset, length } = self.0.resolve_transfer(queue)?;
        queue.check_allocated(&namespace, offset, length)?;
        super::reserve(out, length as usize);
        IoQueue::append_read(&namespace, offset, length as usize, out, self.0.lba)?;
        queue.count(Op::Read, &namespace, offset, length, Placement::NONE);
        queue.batch.transferred.reads += u64::from(!queue.counted);
        Ok(Step::Done)
    }
}
