//! I/O commands of the NVM command set.
//!
//! An [`IoQueue`] executes one command after the other. Data moves at once; what the device has to count is
//! collected and applied in one go by [`IoQueue::settle`], which must be called before the host hears of
//! the completions. Commands that look at the device settle by themselves.

use std::sync::Arc;

use wafer_core::{Command, Op, Placement};
use wafer_spec::zerocopy::FromBytes as _;
use wafer_spec::*;

use super::identify::{BROADCAST, COPY_BLOCKS, COPY_RANGES_Z};
use super::{Controller, Failure, MAX_TRANSFER};
use crate::drive::{Drive, Namespace, Transferred};

/// A PID that no namespace has, for one that would mean "none" to the device.
const NEVER_VALID: Placement = Placement(u16::MAX - 1);

/// One I/O queue of a controller.
pub struct IoQueue {
    controller: Arc<Controller>,
    drive: Arc<Drive>,
    counted: Vec<Command>,
    transferred: Transferred,
    /// Buffer of compare and copy, kept for its memory.
    scratch: Vec<u8>,
    /// The namespace used last.
    recent: Option<Arc<Namespace>>,
    /// Whether FDP was enabled when this batch began.
    fdp: bool,
}

impl IoQueue {
    /// A queue of a controller.
    pub fn new(controller: Arc<Controller>) -> Self {
        let drive = Arc::clone(&controller.subsystem.drive);
        IoQueue {
            fdp: drive.fdp_enabled(),
            controller,
            drive,
            counted: Vec::new(),
            transferred: Transferred::default(),
            scratch: Vec::new(),
            recent: None,
        }
    }

    /// Lets the device count what was done. Namespaces are looked up anew afterwards.
    pub fn settle(&mut self) {
        self.drive.apply_counted(self.controller.host, &self.counted, self.transferred);
        self.counted.clear();
        self.transferred = Transferred::default();
        self.recent = None;
    }

    /// To be called before a batch of commands.
    pub fn begin(&mut self) {
        self.fdp = self.drive.fdp_enabled();
    }

    /// Bytes that the host sends with a command.
    ///
    /// # Errors
    /// The command cannot be valid, so no data should be taken.
    pub fn data_length(&self, sqe: &Sqe) -> Result<u64, Failure> {
        Ok(match NvmOpcode(sqe.opcode) {
            NvmOpcode::WRITE | NvmOpcode::COMPARE => {
                let namespace = self.lookup(sqe.nsid.get())?;
                let blocks = u64::from(RwCdw12::from(sqe.cdw12.get()).nlb_z()) + 1;
                blocks << namespace.lba_shift
            }
            NvmOpcode::DATASET_MANAGEMENT => {
                (u64::from(DsmCdw10::from(sqe.cdw10.get()).nr_z()) + 1) * 16
            }
            NvmOpcode::COPY => (u64::from(CopyCdw12::from(sqe.cdw12.get()).nr_z()) + 1) * 32,
            NvmOpcode::IO_MANAGEMENT_SEND => {
                let cdw10 = IoManagementCdw10::from(sqe.cdw10.get());
                if cdw10.mo() == 0 { 0 } else { (u64::from(cdw10.mos()) + 1) * 2 }
            }
            _ => 0,
        })
    }

    /// Executes a command. `data` is what the host sent, of at least [`Self::data_length`]; what the host
    /// gets is appended to `out`. Answers dword 0 of the completion.
    ///
    /// # Errors
    /// The status that the command completes with; `out` may hold anything then.
    pub fn execute(&mut self, sqe: &Sqe, data: &[u8], out: &mut Vec<u8>) -> Result<u32, Failure> {
        if sqe.fuse() != 0 {
            return Err(Failure::field(1));
        }
        match NvmOpcode(sqe.opcode) {
            NvmOpcode::READ => self.read(sqe, out),
            NvmOpcode::WRITE => self.write(sqe, data),
            NvmOpcode::FLUSH => self.flush(sqe),
            NvmOpcode::WRITE_ZEROES => self.write_zeroes(sqe),
            NvmOpcode::DATASET_MANAGEMENT => self.dataset_management(sqe, data),
            NvmOpcode::COMPARE => self.compare(sqe, data),
            NvmOpcode::VERIFY => self.verify(sqe),
            NvmOpcode::COPY => self.copy(sqe, data),
            NvmOpcode::IO_MANAGEMENT_RECEIVE => self.management_receive(sqe, out),
            NvmOpcode::IO_MANAGEMENT_SEND => {
                self.settle();
                let namespace = self.namespace(sqe.nsid.get())?;
                self.controller.handle_update(&namespace, sqe, data)?;
                Ok(0)
            }
            _ => Err(Status::INVALID_OPCODE.into()),
        }
    }

    fn lookup(&self, nsid: u32) -> Result<Arc<Namespace>, Failure> {
        match &self.recent {
            Some(recent) if recent.nsid == nsid => Ok(Arc::clone(recent)),
            _ => match self.controller.active(nsid)? {
                Some(namespace) => Ok(namespace),
                // Not attached, or not there: Invalid Field for an inactive NSID (Base 2.1, 3.2.1.5).
                None => Err(Failure::field(4)),
            },
        }
    }

    fn namespace(&mut self, nsid: u32) -> Result<Arc<Namespace>, Failure> {
        let namespace = self.lookup(nsid)?;
        self.recent = Some(Arc::clone(&namespace));
        Ok(namespace)
    }

    /// Namespace, offset and length in bytes of a command with SLBA and NLB.
    fn target(&mut self, sqe: &Sqe) -> Result<(Arc<Namespace>, u64, u64), Failure> {
        let namespace = self.namespace(sqe.nsid.get())?;
        let cdw12 = RwCdw12::from(sqe.cdw12.get());
        if cdw12.prinfo() != 0 || cdw12.stc() {
            // No namespace has protection information.
            return Err(Failure::field(51));
        }
        let lba = sqe.cdw10_11();
        let blocks = u64::from(cdw12.nlb_z()) + 1;
        let range = namespace.range(lba, blocks);
        let (offset, length) = range.map_err(|s| Failure { lba, ..s.into() })?;
        Ok((namespace, offset, length))
    }

    fn count(&mut self, op: Op, namespace: &Namespace, offset: u64, length: u64, pid: Placement) {
        self.counted.push(Command {
            lba: Namespace::device_blocks(offset),
            blocks: Namespace::device_blocks(length) as u32,
            placement: pid,
            op,
            namespace: namespace.id(),
        });
    }

    /// The placement that a directive asks for.
    fn placement(
        &self,
        namespace: &Namespace,
        dtype: u8,
        dspec: u16,
    ) -> Result<Placement, Failure> {
        match DirectiveType(dtype) {
            // No directive.
            DirectiveType::IDENTIFY => Ok(Placement::NONE),
            DirectiveType::DATA_PLACEMENT if self.fdp => {
                let pid = Placement(dspec);
                if namespace.placement(pid).is_ok() {
                    return Ok(pid);
                }
                if self.controller.subsystem.options.refuse_invalid_placement {
                    self.drive.refused_placement(namespace, pid);
                    return Err(Failure::field(54));
                }
                // The device takes the default handle and logs the event.
                Ok(if pid == Placement::NONE { NEVER_VALID } else { pid })
            }
            _ => Err(Failure::field(50)),
        }
    }

    fn read(&mut self, sqe: &Sqe, out: &mut Vec<u8>) -> Result<u32, Failure> {
        let (namespace, offset, length) = self.target(sqe)?;
        check_length(length)?;
        let at = out.len();
        out.resize(at + length as usize, 0);
        let read = namespace.store.read(offset, &mut out[at..]);
        read.map_err(|e| Failure::medium(&e, Status::UNRECOVERED_READ_ERROR, sqe.cdw10_11()))?;
        self.count(Op::Read, &namespace, offset, length, Placement::NONE);
        self.transferred.reads += 1;
        Ok(0)
    }

    fn write(&mut self, sqe: &Sqe, data: &[u8]) -> Result<u32, Failure> {
        let (namespace, offset, length) = self.target(sqe)?;
        check_length(length)?;
        let cdw12 = RwCdw12::from(sqe.cdw12.get());
        let dspec = RwCdw13::from(sqe.cdw13.get()).dspec();
        let pid = self.placement(&namespace, cdw12.dtype(), dspec)?;
        let data = data.get(..length as usize).ok_or(Status::INVALID_SGL_LENGTH)?;
        let written = namespace.store.write(offset, data);
        written.map_err(|e| Failure::medium(&e, Status::WRITE_FAULT, sqe.cdw10_11()))?;
        self.count(Op::Write, &namespace, offset, length, pid);
        self.transferred.writes += 1;
        self.written(cdw12.fua())
    }

    /// After a write: makes it durable if the host asks for it or has no write cache.
    fn written(&mut self, fua: bool) -> Result<u32, Failure> {
        if self.drive.blocks() && (fua || !self.controller.state().write_cache) {
            self.settle();
            self.drive.flush(self.controller.host, None).map_err(|e| flush_failure(&e))?;
        }
        Ok(0)
    }

    fn flush(&mut self, sqe: &Sqe) -> Result<u32, Failure> {
        self.settle();
        let namespace = match sqe.nsid.get() {
            BROADCAST => None,
            nsid => Some(self.namespace(nsid)?.id()),
        };
        self.drive.flush(self.controller.host, namespace).map_err(|e| flush_failure(&e))?;
        Ok(0)
    }

    fn write_zeroes(&mut self, sqe: &Sqe) -> Result<u32, Failure> {
        let (namespace, offset, length) = self.target(sqe)?;
        let cdw12 = RwCdw12::from(sqe.cdw12.get());
        let dspec = RwCdw13::from(sqe.cdw13.get()).dspec();
        let pid = self.placement(&namespace, cdw12.dtype(), dspec)?;
        namespace
            .store
            .deallocate(offset, length)
            .map_err(|e| Failure::medium(&e, Status::WRITE_FAULT, sqe.cdw10_11()))?;
        // Without the deallocate bit zeroes are data like other data.
        let op = if cdw12.deac() { Op::Deallocate } else { Op::Write };
        self.count(op, &namespace, offset, length, pid);
        self.written(cdw12.fua())
    }

    fn dataset_management(&mut self, sqe: &Sqe, data: &[u8]) -> Result<u32, Failure> {
        let namespace = self.namespace(sqe.nsid.get())?;
        let count = usize::from(DsmCdw10::from(sqe.cdw10.get()).nr_z()) + 1;
        let list = data.get(..count * 16).ok_or(Status::INVALID_SGL_LENGTH)?;
        // Without the attribute the command is a hint, which this drive does not use.
        if !DsmCdw11::from(sqe.cdw11.get()).ad() {
            return Ok(0);
        }
        let mut ranges = Vec::with_capacity(count);
        for entry in list.chunks_exact(16) {
            let range = DsmRange::read_from_bytes(entry).map_err(|_| Status::INVALID_FIELD)?;
            let (lba, blocks) = (range.slba.get(), u64::from(range.length.get()));
            let checked = namespace.range(lba, blocks);
            ranges.push(checked.map_err(|s| Failure { lba, ..s.into() })?);
        }
        for (offset, length) in ranges.into_iter().filter(|(_, length)| *length > 0) {
            let done = namespace.store.deallocate(offset, length);
            done.map_err(|e| Failure::medium(&e, Status::WRITE_FAULT, offset))?;
            // A range of 4 KiB blocks can be longer than a command of the device.
            let (mut at, end) = (offset, offset + length);
            while at < end {
                let piece = (end - at).min(1 << 40);
                self.count(Op::Deallocate, &namespace, at, piece, Placement::NONE);
                at += piece;
            }
        }
        Ok(0)
    }

    fn compare(&mut self, sqe: &Sqe, data: &[u8]) -> Result<u32, Failure> {
        let (namespace, offset, length) = self.target(sqe)?;
        check_length(length)?;
        let data = data.get(..length as usize).ok_or(Status::INVALID_SGL_LENGTH)?;
        self.scratch.resize(length as usize, 0);
        let read = namespace.store.read(offset, &mut self.scratch);
        read.map_err(|e| Failure::medium(&e, Status::UNRECOVERED_READ_ERROR, sqe.cdw10_11()))?;
        self.transferred.reads += 1;
        self.count(Op::Read, &namespace, offset, length, Placement::NONE);
        if self.scratch != data {
            return Err(Failure { lba: sqe.cdw10_11(), ..Status::COMPARE_FAILURE.into() });
        }
        Ok(0)
    }

    fn verify(&mut self, sqe: &Sqe) -> Result<u32, Failure> {
        let (namespace, offset, length) = self.target(sqe)?;
        check_length(length)?;
        self.scratch.resize(length as usize, 0);
        let read = namespace.store.read(offset, &mut self.scratch);
        read.map_err(|e| Failure::medium(&e, Status::UNRECOVERED_READ_ERROR, sqe.cdw10_11()))?;
        self.count(Op::Read, &namespace, offset, length, Placement::NONE);
        Ok(0)
    }

    fn copy(&mut self, sqe: &Sqe, data: &[u8]) -> Result<u32, Failure> {
        let namespace = self.namespace(sqe.nsid.get())?;
        let cdw12 = CopyCdw12::from(sqe.cdw12.get());
        if cdw12.desfmt() != 0 {
            return Err(Failure::field(49));
        }
        if cdw12.prinfor() != 0 || cdw12.prinfow() != 0 || cdw12.stcr() || cdw12.stcw() {
            return Err(Failure::field(49));
        }
        if cdw12.nr_z() > COPY_RANGES_Z {
            return Err(Status::COMMAND_SIZE_LIMIT.into());
        }
        let dspec = RwCdw13::from(sqe.cdw13.get()).dspec();
        let pid = self.placement(&namespace, cdw12.dtype(), dspec)?;
        let count = usize::from(cdw12.nr_z()) + 1;
        let list = data.get(..count * 32).ok_or(Status::INVALID_SGL_LENGTH)?;
        let mut sources = Vec::with_capacity(count);
        let mut blocks = 0;
        for entry in list.chunks_exact(32) {
            let range = CopyRange::read_from_bytes(entry).map_err(|_| Status::INVALID_FIELD)?;
            let (lba, count) = (range.slba.get(), u64::from(range.nlb_z.get()) + 1);
            blocks += count;
            if count > u64::from(COPY_BLOCKS) || blocks > u64::from(COPY_BLOCKS) {
                return Err(Status::COMMAND_SIZE_LIMIT.into());
            }
            let checked = namespace.range(lba, count);
            sources.push(checked.map_err(|s| Failure { lba, ..s.into() })?);
        }
        let lba = sqe.cdw10_11();
        let target = namespace.range(lba, blocks);
        let (to, length) = target.map_err(|s| Failure { lba, ..s.into() })?;
        // All is read before anything is written: ranges may overlap the destination.
        self.scratch.resize(length as usize, 0);
        let mut at = 0;
        for (offset, length) in &sources {
            let buffer = &mut self.scratch[at..at + *length as usize];
            let read = namespace.store.read(*offset, buffer);
            read.map_err(|e| Failure::medium(&e, Status::UNRECOVERED_READ_ERROR, lba))?;
            at += *length as usize;
        }
        for (offset, length) in sources {
            self.count(Op::Read, &namespace, offset, length, Placement::NONE);
        }
        let written = namespace.store.write(to, &self.scratch);
        written.map_err(|e| Failure::medium(&e, Status::WRITE_FAULT, lba))?;
        self.count(Op::Write, &namespace, to, length, pid);
        self.written(cdw12.fua())
    }

    fn management_receive(&mut self, sqe: &Sqe, out: &mut Vec<u8>) -> Result<u32, Failure> {
        self.settle();
        let namespace = self.namespace(sqe.nsid.get())?;
        let length = (u64::from(sqe.cdw11.get()) + 1) * 4;
        check_length(length)?;
        let mut status = self.controller.handle_status(&namespace, sqe)?;
        status.resize(length as usize, 0);
        out.extend_from_slice(&status);
        Ok(0)
    }
}

fn check_length(length: u64) -> Result<(), Failure> {
    if length <= MAX_TRANSFER { Ok(()) } else { Err(Failure::field(48)) }
}

fn flush_failure(error: &std::io::Error) -> Failure {
    Failure::medium(error, Status::WRITE_FAULT, 0)
}
