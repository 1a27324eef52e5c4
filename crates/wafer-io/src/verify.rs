//! Verify.

use wafer_interface::{Op, Placement};
use wafer_nvme::Sqe;

use super::range::{Extent, Range};
use super::{Failure, IoCommand, IoQueue, Step};

pub(super) struct Verify(Range);

impl IoCommand for Verify {
    fn parse(sqe: &Sqe) -> Result<Self, Failure> {
        Ok(Verify(Range::parse(sqe)))
    }

    fn execute(self, queue: &mut IoQueue, _: &[u8], _: &mut Vec<u8>) -> Result<Step, Failure> {
        let Extent { namespace, offset, length } = self.0.resolve_transfer(queue)?;
        queue.check_allocated(&namespace, offset, length)?;
        queue.scratch.resize(length as usize, 0);
        IoQueue::read(&namespace, offset, &mut queue.scratch, self.0.lba)?;
        queue.batch.ticket.stays = true;
        queue.count(Op::Read, &namespace, offset, length, Placement::NONE);
        Ok(Step::Done)
    }
}
