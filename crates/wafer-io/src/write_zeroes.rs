//! Write Zeroes.

use wafer_interface::Op;
use wafer_nvme::{RwCdw12, Sqe};

use super::extents::Zeroing;
use super::range::{Directive, Extent, Range};
use super::{Failure, IoCommand, IoQueue, Step};

pub(super) struct WriteZeroes {
    range: Range,
    directive: Directive,
    deallocate: bool,
    fua: bool,
}

impl IoCommand for WriteZeroes {
    fn parse(sqe: &Sqe) -> Result<Self, Failure> {
        let (range, directive) = (Range::parse(sqe), Directive::of(sqe));
        let cdw12 = RwCdw12::of(sqe);
        Ok(WriteZeroes { range, directive, deallocate: cdw12.deac(), fua: cdw12.fua() })
    }

    fn execute(self, queue: &mut IoQueue, _: &[u8], _: &mut Vec<u8>) -> Result<Step, Failure> {
        let Extent { namespace, offset, length } = self.range.resolve(queue)?;
        let pid = queue.placement(&namespace, self.directive)?;
        let durable = queue.check_write(&namespace, self.fua)?;
        // Without the deallocate bit, zeroes are ordinary data.
        let op = if self.deallocate { Op::Deallocate } else { Op::Write };
        Ok(Step::More(Box::new(Zeroing {
            namespace,
            op,
            pid,
            durable,
            ranges: [(offset, length)].into(),
        })))
    }
}
