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
        // Counting earlier writes of this queue later would remove the marks.
        queue.end_batch()?;
        let Extent { namespace, offset, length } = self.range.resolve(queue)?;
        let pid = queue.placement(&namespace, self.directive)?;
        // Log the event here: the device, which logs it for other commands, does not receive this one.
        if pid != Placement::NONE && namespace.placement(pid).is_err() {
            queue.drive.invalid_placement(&namespace, pid);
        }
        queue.drive.mark_uncorrectable(&namespace, offset, length)?;
        Ok(Step::Done)
    }
}
