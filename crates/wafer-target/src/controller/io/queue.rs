//! An I/O queue of a controller: the state that its commands share.
//!
//! An [`IoQueue`] executes one command after the other. Data moves at once. The commands that the device has
//! to count are collected and applied by [`IoQueue::end_batch`], before the completions are sent. A handler
//! that reads the state of the device ends the batch itself.

use std::sync::Arc;

use wafer_drive::{Drive, Namespace, Transferred};
use wafer_interface::{Command, Op, Placement};
use wafer_nvme::{
    DataLength, DataTransfer, DirectiveType, NvmOpcode, RwCdw12, RwCdw13, Sqe, Status, location,
};

use crate::controller::limits::MAX_TRANSFER;
use crate::controller::reply::Failure;
use crate::controller::subsystem::Controller;

/// A placement identifier that no namespace has, for one that would mean "none" to the device.
const NEVER_VALID: Placement = Placement(u16::MAX - 1);

/// One I/O queue of a controller.
pub struct IoQueue {
    pub(super) controller: Arc<Controller>,
    pub(super) drive: Arc<Drive>,
    /// Commands that the device has not counted yet.
    pending: Vec<Command>,
    pub(super) transferred: Transferred,
    /// Buffer of commands that compare and move data, kept to avoid allocations.
    pub(super) scratch: Vec<u8>,
    /// The namespace used last.
    recent: Option<Arc<Namespace>>,
    /// Whether FDP was enabled when this batch began.
    fdp: bool,
}

/// The bytes of a namespace that a command addresses.
pub(super) struct Extent {
    pub(super) namespace: Arc<Namespace>,
    /// First logical block, for the error log.
    pub(super) lba: u64,
    pub(super) offset: u64,
    pub(super) length: u64,
}

impl IoQueue {
    /// Makes a queue of a controller.
    pub fn new(controller: Arc<Controller>) -> Self {
        let drive = Arc::clone(&controller.subsystem.drive);
        IoQueue {
            fdp: drive.fdp_enabled(),
            controller,
            drive,
            pending: Vec::new(),
            transferred: Transferred::default(),
            scratch: Vec::new(),
            recent: None,
        }
    }

    /// Begins a batch of commands.
    pub fn begin_batch(&mut self) {
        self.fdp = self.drive.fdp_enabled();
    }

    /// Applies the pending commands to the device. The next command looks up its namespace anew.
    pub fn end_batch(&mut self) {
        self.drive.apply_counted(self.controller.host, &self.pending, self.transferred);
        self.pending.clear();
        self.transferred = Transferred::default();
        self.recent = None;
    }

    /// Returns the bytes that the host sends with a command.
    ///
    /// # Errors
    /// The command is invalid, so its data should not be taken.
    pub fn data_length(&self, sqe: &Sqe) -> Result<u64, Failure> {
        let row = NvmOpcode(sqe.opcode).info();
        let Some(row) = row.filter(|row| row.direction() == DataTransfer::HostToController) else {
            return Ok(0);
        };
        Ok(match row.data {
            DataLength::Handler => 0,
            DataLength::Blocks => {
                let namespace = self.lookup(sqe.nsid.get())?;
                (u64::from(RwCdw12::of(sqe).nlb_z()) + 1) << namespace.lba_shift
            }
            DataLength::Entries { bytes, count } => count(sqe) * bytes,
        })
    }

    fn lookup(&self, nsid: u32) -> Result<Arc<Namespace>, Failure> {
        match &self.recent {
            Some(recent) if recent.nsid == nsid => Ok(Arc::clone(recent)),
            // Invalid Field for an inactive NSID (Base 2.1, 3.2.1.5).
            _ => Ok(self.controller.active(nsid)?.ok_or(location!(nsid))?),
        }
    }

    /// Returns the namespace of a command.
    pub(super) fn namespace(&mut self, sqe: &Sqe) -> Result<Arc<Namespace>, Failure> {
        let namespace = self.lookup(sqe.nsid.get())?;
        self.recent = Some(Arc::clone(&namespace));
        Ok(namespace)
    }

    /// Returns the bytes of SLBA and NLB.
    ///
    /// PRINFO and STC are ignored: no namespace is formatted with protection information (NVM Command Set
    /// 1.1, 5.2.1 and 5.3). fio 3.41 and later set PRACT.
    ///
    /// # Errors
    /// The host does not see the namespace, or the range does not lie in it.
    pub(super) fn extent(&mut self, sqe: &Sqe) -> Result<Extent, Failure> {
        let namespace = self.namespace(sqe)?;
        let (lba, blocks) = (sqe.cdw10_11(), u64::from(RwCdw12::of(sqe).nlb_z()) + 1);
        let (offset, length) = byte_range(&namespace, lba, blocks)?;
        Ok(Extent { namespace, lba, offset, length })
    }

    /// Returns the bytes of a command that moves them; MDTS limits their number.
    pub(super) fn transfer(&mut self, sqe: &Sqe) -> Result<Extent, Failure> {
        let extent = self.extent(sqe)?;
        if extent.length > MAX_TRANSFER {
            return Err(RwCdw12::new().with_nlb_z(1).location().into());
        }
        Ok(extent)
    }

    /// Adds a command for the device to count.
    pub(super) fn count(
        &mut self,
        op: Op,
        namespace: &Namespace,
        (offset, length): (u64, u64),
        pid: Placement,
    ) {
        self.pending.push(Command {
            lba: Namespace::device_blocks(offset),
            blocks: Namespace::device_blocks(length) as u32,
            placement: pid,
            op,
            namespace: namespace.id(),
        });
    }

    /// Returns the placement that DTYPE and DSPEC request, which Copy has at the same place.
    pub(super) fn placement(&self, namespace: &Namespace, sqe: &Sqe) -> Result<Placement, Failure> {
        let pid = Placement(RwCdw13::of(sqe).dspec());
        match DirectiveType(RwCdw12::of(sqe).dtype()) {
            // Zero is no directive.
            DirectiveType::IDENTIFY => return Ok(Placement::NONE),
            DirectiveType::DATA_PLACEMENT if self.fdp => {}
            _ => return Err(RwCdw12::new().with_dtype(1).location().into()),
        }
        if namespace.placement(pid).is_ok() {
            return Ok(pid);
        }
        if self.controller.subsystem.options.refuse_invalid_placement {
            self.drive.refused_placement(namespace, pid);
            return Err(RwCdw13::new().with_dspec(1).location().into());
        }
        // The device uses the default handle and logs the event.
        Ok(if pid == Placement::NONE { NEVER_VALID } else { pid })
    }

    /// Makes a write durable if the host requests it or disabled the write cache.
    pub(super) fn finish_write(&mut self, fua: bool) -> Result<u32, Failure> {
        if self.drive.may_block() && (fua || self.controller.state().write_cache_disabled) {
            self.end_batch();
            let flushed = self.drive.flush(self.controller.host, None);
            flushed.map_err(|e| Failure::medium(&e, Status::WRITE_FAULT, 0))?;
        }
        Ok(0)
    }
}

/// Returns offset and length in bytes of a range of logical blocks. A failure names the first block.
pub(super) fn byte_range(
    namespace: &Namespace,
    lba: u64,
    blocks: u64,
) -> Result<(u64, u64), Failure> {
    namespace.range(lba, blocks).map_err(|status| Failure { lba, ..status.into() })
}
