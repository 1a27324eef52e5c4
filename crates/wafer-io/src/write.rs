//! Write.

use wafer_interface::Op;
use wafer_nvme::{RwCdw12, Sqe, Status};

use super::range::{Directive, Extent, Range};
use super::{Failure, IoCommand, IoQueue, Step};

pub(super) struct Write {
    range: Range,
    directive: Directive,
    fua: bool,
}

impl IoCommand for Write {
    fn parse(sqe: &Sqe) -> Result<Self, Failure> {
        let (range, directive) = (Range::parse(sqe), Directive::of(sqe));
        Ok(Write { range, directive, fua: RwCdw12::of(sqe).fua() })
    }

    fn execute(self, queue: &mut IoQueue, data: &[u8], _: &mut Vec<u8>) -> Result<Step, Failure> {
        let Extent { namespace, offset, length } = self.range.resolve_transfer(queue)?;
        let pid = queue.placement(&namespace, self.directive)?;
        let data = data.get(..length as usize).ok_or(Status::INVALID_SGL_LENGTH)?;
        let durable = queue.check_write(&namespace, self.fua)?;
        let written = namespace.store.write(offset, data);
        written.map_err(|e| Failure::medium(&e, Status::WRITE_FAULT, self.range.lba))?;
        queue.count(Op::Write, &namespace, offset, length, pid);
        queue.batch.transferred.writes += 1;
        queue.finish_write(durable)
    }
}
