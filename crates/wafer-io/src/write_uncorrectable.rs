//! Write Uncorrectable.

use wafer_interface::Placement;
use wafer_nvme::Sqe;

use super::range::{Directive, Extent, Range};
use super::{Failure, IoCommand, IoQueue, Step};

pub(super) struct WriteUncorrectable {
    range: Range,
    directive: Directive,
}

impl IoCommand for WriteUncorrectable {
    fn parse(sqe: &Sqe) -> Result<Self, Failure> {
        Ok(WriteUncorrectable { range: Range::parse(sqe), directive: Directive::of(sqe) })
    }

    fn execute(self, queue: &mut IoQueue, _: &[u8], _: &mut Vec<u8>) -> Result<Step, Failure> {
        // What this queue wrote before would take the marks away when it is counted.
        queue.end_batch()?;
        let Extent { namespace, offset, length } = self.range.resolve(queue)?;
        let pid = queue.placement(&namespace, self.directive)?;
        // The device, which logs that for other commands, does not get this one.
        if pid != Placement::NONE && namespace.placement(pid).is_err() {
            queue.drive.invalid_placement(&namespace, pid);
        }
        queue.drive.mark_uncorrectable(&namespace, offset, length)?;
        Ok(Step::Done)
    }
}
