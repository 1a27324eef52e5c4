//! Copy, descriptor format 0.

use std::collections::VecDeque;
use std::sync::Arc;

use wafer_drive::Namespace;
use wafer_interface::{Op, Placement};
use wafer_nvme::zerocopy::FromBytes as _;
use wafer_nvme::{CopyCdw12, CopyRange, Sqe, Status};

use super::range::Directive;
use super::{Failure, IoCommand, IoQueue, Rest, Step, range};
use crate::controller::identify::{COPY_BLOCKS, COPY_RANGES_Z};
use crate::pool::{Share, Wanted};

/// Bytes that are read or written at a time.
const SLICE: usize = 128 << 10;

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

    fn execute(self, queue: &mut IoQueue, data: &[u8], _: &mut Vec<u8>) -> Result<Step, Failure> {
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
        for (offset, length) in &sources {
            queue.check_allocated(&namespace, *offset, *length)?;
        }
        // If a source overlaps the destination, all is read before anything is written.
        let overlaps = sources.iter().any(|(from, count)| *from < to + length && to < from + count);
        let durable = queue.check_write(&namespace, self.fua)?;
        Ok(Step::More(Box::new(Copying {
            namespace,
            lba: self.lba,
            pid,
            durable,
            left: sources.iter().copied().collect(),
            sources,
            to,
            length,
            window: if overlaps { length as usize } else { SLICE },
            buffer: Vec::new(),
            share: None,
            written: 0,
            at: to,
        })))
    }
}

/// A copy under way. It fills its buffer up to the window, writes all of that, and begins again.
struct Copying {
    namespace: Arc<Namespace>,
    lba: u64,
    pid: Placement,
    durable: bool,
    sources: Vec<(u64, u64)>,
    /// What is still to be read: offset and length.
    left: VecDeque<(u64, u64)>,
    to: u64,
    length: u64,
    window: usize,
    buffer: Vec<u8>,
    /// The memory of a long window. That of a short one is less than a connection may have.
    share: Option<Share>,
    /// Bytes of the buffer that are written.
    written: usize,
    /// Where the next byte goes.
    at: u64,
}

impl Copying {
    fn read(&mut self) -> Result<(), Failure> {
        let Some((offset, length)) = self.left.front_mut() else { return Ok(()) };
        let count = (*length as usize).min(SLICE).min(self.window - self.buffer.len());
        let at = self.buffer.len();
        self.buffer.resize(at + count, 0);
        IoQueue::read(&self.namespace, *offset, &mut self.buffer[at..], self.lba)?;
        *offset += count as u64;
        *length -= count as u64;
        if *length == 0 {
            self.left.pop_front();
        }
        Ok(())
    }

    fn write(&mut self) -> Result<(), Failure> {
        let end = self.buffer.len().min(self.written + SLICE);
        let data = &self.buffer[self.written..end];
        let written = self.namespace.store.write(self.at, data);
        written.map_err(|e| Failure::medium(&e, Status::WRITE_FAULT, self.lba))?;
        self.at += data.len() as u64;
        self.written = end;
        if end == self.buffer.len() {
            self.buffer.clear();
            self.written = 0;
        }
        Ok(())
    }
}

impl Rest for Copying {
    fn step(&mut self, queue: &mut IoQueue) -> Result<bool, Failure> {
        queue.check_live(&self.namespace)?;
        self.namespace.check_unprotected()?;
        if self.window > SLICE && self.share.is_none() {
            self.share = queue.take_memory(Wanted::copy(self.window as u64));
            if self.share.is_none() {
                return Ok(false);
            }
            self.buffer.reserve_exact(self.window);
        }
        if self.written == 0 && self.buffer.len() < self.window && !self.left.is_empty() {
            self.read()?;
        } else {
            self.write()?;
        }
        queue.spend(SLICE as u64 / 2);
        if !self.left.is_empty() || !self.buffer.is_empty() {
            return Ok(false);
        }
        for (offset, length) in &self.sources {
            queue.count(Op::Read, &self.namespace, *offset, *length, Placement::NONE);
        }
        queue.count(Op::Write, &self.namespace, self.to, self.length, self.pid);
        queue.finish_write(self.durable)?;
        Ok(true)
    }
}
