//! Copy, descriptor format 0.

use wafer_interface::{Op, Placement};
use wafer_nvme::zerocopy::FromBytes as _;
use wafer_nvme::{CopyCdw12, CopyRange, Sqe, Status};

use super::range::Directive;
use super::{Failure, IoCommand, IoQueue, range};
use crate::controller::identify::{COPY_BLOCKS, COPY_RANGES_Z};

pub(super) struct Copy {
    nsid: u32,
    /// First block of the destination.
    lba: u64,
    ranges: usize,
    directive: Directive,
    fua: bool,
}

impl IoCommand for Copy {
    fn parse(sqe: &Sqe) -> Result<Self, Failure> {
        let cdw12 = CopyCdw12::of(sqe);
        if cdw12.desfmt() != 0 {
            return Err(CopyCdw12::new().with_desfmt(1).location().into());
        }
        if cdw12.nr_z() > COPY_RANGES_Z {
            return Err(Status::COMMAND_SIZE_LIMIT.into());
        }
        Ok(Copy {
            nsid: sqe.nsid.get(),
            lba: sqe.cdw10_11(),
            ranges: usize::from(cdw12.nr_z()) + 1,
            directive: Directive::parse(sqe)?,
            fua: cdw12.fua(),
        })
    }

    fn execute(self, queue: &mut IoQueue, data: &[u8], _: &mut Vec<u8>) -> Result<u32, Failure> {
        let namespace = queue.namespace(self.nsid)?;
        let pid = queue.placement(&namespace, self.directive)?;
        let list = <[CopyRange]>::ref_from_prefix_with_elems(data, self.ranges);
        let (list, _) = list.map_err(|_| Status::INVALID_SGL_LENGTH)?;
        let mut sources = Vec::with_capacity(list.len());
        let mut blocks = 0;
        for source in list {
            let count = u64::from(source.nlb_z.get()) + 1;
            blocks += count;
            if blocks > u64::from(COPY_BLOCKS) {
                return Err(Status::COMMAND_SIZE_LIMIT.into());
            }
            sources.push(range::bytes(&namespace, source.slba.get(), count)?);
        }
        let (to, length) = range::bytes(&namespace, self.lba, blocks)?;
        let durable = queue.check_write(self.fua)?;
        // All is read before anything is written: ranges may overlap the destination.
        queue.scratch.resize(length as usize, 0);
        let mut at = 0;
        for (offset, length) in &sources {
            let buffer = &mut queue.scratch[at..at + *length as usize];
            let read = namespace.store.read(*offset, buffer);
            read.map_err(|e| Failure::medium(&e, Status::UNRECOVERED_READ_ERROR, self.lba))?;
            at += *length as usize;
        }
        for (offset, length) in sources {
            queue.count(Op::Read, &namespace, offset, length, Placement::NONE);
        }
        let written = namespace.store.write(to, &queue.scratch);
        written.map_err(|e| Failure::medium(&e, Status::WRITE_FAULT, self.lba))?;
        queue.count(Op::Write, &namespace, to, length, pid);
        queue.finish_write(durable)
    }
}
