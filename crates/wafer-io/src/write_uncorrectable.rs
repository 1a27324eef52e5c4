//! Write Uncorrectable.

use wafer_nvme::Sqe;

use super::range::{Extent, Range};
use super::{Failure, IoCommand, IoQueue, Step};

pub(super) struct WriteUncorrectable(Range);

impl IoCommand for WriteUncorrectable {
    fn parse(sqe: &Sqe) -> Result<Self, Failure> {
        Ok(WriteUncorrectable(Range::parse(sqe)))
    }

    fn execute(self, queue: &mut IoQueue, _: &[u8], _: &mut Vec<u8>) -> Result<Step, Failure> {
        // What this queue wrote before would take the marks away when it is counted.
        queue.end_batch()?;
        let Extent { namespace, offset, length } = self.0.resolve(queue)?;
        queue.drive.mark_uncorrectable(&namespace, offset, length)?;
        Ok(Step::Done)
    }
}
