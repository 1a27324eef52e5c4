//! Copy, within a namespace (descriptor formats 0 and 1) and from other namespaces (2 and 3).

use std::collections::VecDeque;
use std::sync::Arc;

use wafer_drive::{Namespace, Reserved};
use wafer_interface::{Op, Placement};
use wafer_nvme::zerocopy::FromBytes as _;
use wafer_nvme::{CopyCdw12, CopyRange, Location, Sqe, Status};

use super::range::Directive;
use super::{Failure, IoCommand, IoQueue, Rest, Step, range};
use crate::pool::{Share, Wanted};
use wafer_controller::identify::{COPY_BLOCKS, COPY_RANGE_BLOCKS, COPY_RANGES_Z};
use wafer_controller::nsid::BROADCAST;

/// Descriptor Format.
const FORMAT: Location = CopyCdw12::new().with_desfmt(1).location();
/// Bytes read or written at a time.
const SLICE: usize = 128 << 10;
/// Fast Copy Only, in the source options.
const FAST_COPY_ONLY: u16 = 1 << 15;

pub(super) struct Copy {
    nsid: u32,
    /// First block of the destination.
    lba: u64,
    format: CopyCdw12,
    directive: Directive,
    fua: bool,
}

/// A range of bytes of a source namespace.
#[derive(Clone)]
struct Source {
    namespace: Arc<Namespace>,
    offset: u64,
    length: u64,
}

impl IoCommand for Copy {
    fn parse(sqe: &Sqe) -> Result<Self, Failure> {
        let cdw12 = CopyCdw12::of(sqe);
        if cdw12.desfmt() > CopyCdw12::LAST_FORMAT {
            return Err(FORMAT.into());
        }
        if cdw12.nr_z() > COPY_RANGES_Z {
            return Err(Status::COMMAND_SIZE_LIMIT.into());
        }
        Ok(Copy {
            nsid: sqe.nsid.get(),
            lba: sqe.cdw10_11(),
            format: cdw12,
            directive: Directive::of(sqe),
            fua: cdw12.fua(),
        })
    }

    fn execute(self, queue: &mut IoQueue, data: &[u8], _: &mut Vec<u8>) -> Result<Step, Failure> {
        let namespace = queue.namespace(self.nsid)?;
        let pid = queue.placement(&namespace, self.directive)?;
        let sources = self.sources(queue, &namespace, data)?;
        let blocks = sources.iter().map(|source| source.length).sum::<u64>() >> namespace.lba_shift;
        let (to, length) = range::bytes(&namespace, self.lba, blocks)?;
        for source in &sources {
            queue.check_allocated(&source.namespace, source.offset, source.length)?;
        }
        // If a source overlaps the destination, everything is read before anything is written.
        let overlaps = sources.iter().any(|source| {
            source.namespace.nsid == self.nsid
                && source.offset < to + length
                && to < source.offset + source.length
        });
        let durable = queue.check_write(&namespace, self.fua)?;
        Ok(Step::More(Box::new(Copying {
            namespace,
            lba: self.lba,
            pid,
            durable,
            left: sources.iter().cloned().collect(),
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

impl Copy {
    /// Returns the source ranges, all in namespaces that the host may read and with the destination's block size.
    fn sources(
        &self,
        queue: &IoQueue,
        destination: &Arc<Namespace>,
        data: &[u8],
    ) -> Result<Vec<Source>, Failure> {
        let ranges = usize::from(self.format.nr_z()) + 1;
        let bytes = self.format.entry_bytes() as usize;
        let entries = data.get(..ranges * bytes).ok_or(Status::INVALID_SGL_LENGTH)?;
        if self.format.names_sources() && !queue.controller.enables_copy(self.format.desfmt()) {
            return Err(FORMAT.into());
        }
        let mut sources: Vec<Source> = Vec::with_capacity(ranges);
        let mut blocks = 0;
        for entry in entries.chunks_exact(bytes) {
            let (entry, _) =
                CopyRange::ref_from_prefix(entry).map_err(|_| Status::INVALID_SGL_LENGTH)?;
            let count = u64::from(entry.nlb_z.get()) + 1;
            blocks += count;
            if count > u64::from(COPY_RANGE_BLOCKS) || blocks > u64::from(COPY_BLOCKS) {
                return Err(Status::COMMAND_SIZE_LIMIT.into());
            }
            let namespace = if self.format.names_sources() {
                if entry.sopt.get() & FAST_COPY_ONLY != 0 {
                    return Err(Status::FAST_COPY_NOT_POSSIBLE.into());
                }
                source_namespace(queue, destination, &sources, entry.snsid.get())?
            } else {
                Arc::clone(destination)
            };
            let (offset, length) = range::bytes(&namespace, entry.slba.get(), count)?;
            sources.push(Source { namespace, offset, length });
        }
        Ok(sources)
    }
}

/// Returns the namespace of a source range.
fn source_namespace(
    queue: &IoQueue,
    destination: &Arc<Namespace>,
    before: &[Source],
    nsid: u32,
) -> Result<Arc<Namespace>, Failure> {
    let known = before.iter().map(|source| &source.namespace).chain([destination]);
    if let Some(known) = known.into_iter().find(|namespace| namespace.nsid == nsid) {
        return Ok(Arc::clone(known));
    }
    // The broadcast NSID is an invalid field in the command, but an invalid namespace in a source range.
    if nsid == BROADCAST {
        return Err(Status::INVALID_NAMESPACE.into());
    }
    let namespace = queue.lookup(nsid).map_err(|failure| Failure { location: None, ..failure })?;
    queue.controller.check_path(nsid)?;
    check_source(queue, &namespace)?;
    if namespace.lba_shift != destination.lba_shift {
        return Err(Status::INCOMPATIBLE_NAMESPACE.into());
    }
    Ok(namespace)
}

/// Checks that a source was not deleted or formatted since the command began, nor reserved by another host.
fn check_source(queue: &IoQueue, namespace: &Namespace) -> Result<(), Failure> {
    namespace.check_live()?;
    Ok(namespace.check_reservation(&queue.controller.hostid, Reserved::Read)?)
}

/// A copy in progress. It fills its buffer up to the window, writes all of that, and starts over.
struct Copying {
    namespace: Arc<Namespace>,
    lba: u64,
    pid: Placement,
    durable: bool,
    sources: Vec<Source>,
    /// Ranges still to be read.
    left: VecDeque<Source>,
    to: u64,
    length: u64,
    window: usize,
    buffer: Vec<u8>,
    /// The memory of a long window. A short window fits in what every connection may use.
    share: Option<Share>,
    /// Bytes of the buffer already written.
    written: usize,
    /// Destination of the next byte.
    at: u64,
}

impl Copying {
    fn read(&mut self) -> Result<(), Failure> {
        let Some(Source { namespace, offset, length }) = self.left.front_mut() else {
            return Ok(());
        };
        let count = (*length as usize).min(SLICE).min(self.window - self.buffer.len());
        let at = self.buffer.len();
        self.buffer.resize(at + count, 0);
        let lba = *offset >> namespace.lba_shift;
        IoQueue::read(namespace, *offset, &mut self.buffer[at..], lba)?;
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
        self.advance(queue).map_err(|failure| Failure { dw0: self.copied(), ..failure })
    }
}

impl Copying {
    /// Returns the index of the first source range that is not copied, which a failed copy returns.
    fn copied(&self) -> u32 {
        let mut left = self.at - self.to;
        let whole = self.sources.iter().take_while(|source| {
            let fits = source.length <= left;
            left = left.saturating_sub(source.length);
            fits
        });
        whole.count() as u32
    }

    fn advance(&mut self, queue: &mut IoQueue) -> Result<bool, Failure> {
        queue.check_live(&self.namespace)?;
        self.namespace.check_unprotected()?;
        self.left.iter().try_for_each(|source| check_source(queue, &source.namespace))?;
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
        queue.batch.ticket.stays = true;
        for Source { namespace, offset, length } in &self.sources {
            queue.count(Op::Read, namespace, *offset, *length, Placement::NONE);
        }
        queue.count(Op::Write, &self.namespace, self.to, self.length, self.pid);
        queue.finish_write(self.durable)?;
        Ok(true)
    }
}
