//! I/O commands of the NVM command set, one per file: parsing, checks and execution.
//!
//! An [`IoQueue`] executes one command after the other. Data moves immediately; the accounting of the device is
//! collected and applied by [`IoQueue::end_batch`], before the host receives the completions. Commands that depend on
//! the state of the device apply it themselves.
//!
//! A batch is a turn of the queue: after [`TURN`] bytes of work, which take well under a millisecond, other queues are
//! due. A longer command returns the rest of itself.
//!
//! To add a command, copy a file and name it below. Its opcode, effects and capability bits are in the table of
//! `wafer_nvme`.

mod compare;
mod copy;
mod dataset_management;
mod extents;
mod flush;
mod fused;
mod io_management_receive;
mod io_management_send;
mod pool;
mod range;
mod read;
mod reservation;
mod verify;
mod write;
mod write_uncorrectable;
mod write_zeroes;

use std::sync::Arc;

pub use pool::{Pool, Purpose, Share, Wanted};
use range::Directive;
use wafer_drive::{Batch, Drive, Namespace, Reserved, Ticket};
use wafer_interface::{Command, NsId, Op, Placement};
use wafer_nvme::{
    CommandInfo, DataLength, DataTransfer, DirectiveType, NvmOpcode, RwCdw12, Sqe, Status, location,
};

use wafer_controller::{Controller, Failure, FailureMode, MAX_TRANSFER, nsid, reservations};

/// Work of a turn, in bytes of data moved.
pub const TURN: u64 = 1 << 20;
/// Scratch buffers longer than this are freed after a batch.
const KEPT_SCRATCH: usize = 16 << 10;
/// Length from which the buffer of the data must not double, bytes.
const LONG: usize = 256 << 10;
/// Room after long data for its digest and for completions, bytes.
const TRAILER: usize = 4 << 10;
/// Cost of a command in addition to its data.
const COMMAND: u64 = 1 << 10;

/// Makes room in `out` for data. Buffers of long data stay within the memory of a turn.
pub fn reserve(out: &mut Vec<u8>, length: usize) {
    if length >= LONG {
        out.reserve_exact(length + TRAILER);
    }
}

/// How far a command got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It is done.
    Done,
    /// The turn of the queue is over; [`IoQueue::resume`] continues.
    More,
}

/// The outcome of the first part of a command.
enum Step {
    Done,
    More(Box<dyn Rest>),
}

/// The rest of a command.
trait Rest: Send {
    /// Does the next slice, about a quarter of a turn to a whole turn, and returns whether it was the last.
    ///
    /// # Errors
    /// The status that the command completes with.
    fn step(&mut self, queue: &mut IoQueue) -> Result<bool, Failure>;
}

/// An I/O command whose fields have been checked.
trait IoCommand: Sized {
    /// Checks a submission queue entry.
    ///
    /// # Errors
    /// A field is invalid on any controller.
    fn parse(sqe: &Sqe) -> Result<Self, Failure>;

    /// Executes the command, or its first part.
    ///
    /// # Errors
    /// The status that it completes with.
    fn execute(self, queue: &mut IoQueue, data: &[u8], out: &mut Vec<u8>) -> Result<Step, Failure>;
}

/// Generates the dispatch and the list of supported commands.
macro_rules! commands {
    ($($opcode:ident => $command:ty,)*) => {
        /// I/O commands.
        pub const SUPPORTED: &[NvmOpcode] = &[$(NvmOpcode::$opcode,)*];

        impl IoQueue {
            fn dispatch(
                &mut self,
                sqe: &Sqe,
                data: &[u8],
                out: &mut Vec<u8>,
            ) -> Result<Step, Failure> {
                match NvmOpcode(sqe.opcode) {
                    $(NvmOpcode::$opcode => {
                        const ROW: &CommandInfo = NvmOpcode::$opcode.info().unwrap();
                        nsid::check_use(ROW.namespace, sqe.nsid.get())?;
                        self.check_reserved(NvmOpcode::$opcode, sqe.nsid.get())?;
                        <$command>::parse(sqe)?.execute(self, data, out)
                    })*
                    _ => Err(Status::INVALID_OPCODE.into()),
                }
            }
        }
    };
}

commands! {
    FLUSH => flush::Flush,
    WRITE => write::Write,
    READ => read::Read,
    WRITE_UNCORRECTABLE => write_uncorrectable::WriteUncorrectable,
    COMPARE => compare::Compare,
    WRITE_ZEROES => write_zeroes::WriteZeroes,
    DATASET_MANAGEMENT => dataset_management::DatasetManagement,
    VERIFY => verify::Verify,
    RESERVATION_REGISTER => reservation::Register,
    RESERVATION_REPORT => reservation::Report,
    RESERVATION_ACQUIRE => reservation::Acquire,
    IO_MANAGEMENT_RECEIVE => io_management_receive::IoManagementReceive,
    RESERVATION_RELEASE => reservation::Release,
    COPY => copy::Copy,
    IO_MANAGEMENT_SEND => io_management_send::IoManagementSend,
}

/// One I/O queue of a controller.
pub struct IoQueue {
    controller: Arc<Controller>,
    drive: Arc<Drive>,
    /// Commands that the device has not counted yet.
    batch: Batch,
    /// Whether the drive could record all commands since this batch began.
    recorded: Result<(), Status>,
    /// Buffer for commands that compare or move data, kept to reuse its memory.
    scratch: Vec<u8>,
    /// The namespace used last.
    recent: Option<Arc<Namespace>>,
    /// Whether FDP was enabled when this batch began.
    fdp: bool,
    /// Whether a read moves its data only, because it was counted before.
    counted: bool,
    /// Work of this batch.
    spent: u64,
    /// The rest of the command in progress.
    rest: Option<Box<dyn Rest>>,
    pool: Arc<Pool>,
    /// Memory that the command waits for.
    wanted: Option<Wanted>,
    /// Memory granted to the command.
    granted: Option<Share>,
}

impl IoQueue {
    /// Creates a queue of a controller, with its own pool.
    pub fn new(controller: Arc<Controller>) -> Self {
        Self::with_pool(controller, Arc::default())
    }

    /// Creates a queue of a controller, with a shared pool.
    pub fn with_pool(controller: Arc<Controller>, pool: Arc<Pool>) -> Self {
        let drive = Arc::clone(&controller.subsystem.drive);
        IoQueue {
            fdp: drive.fdp_enabled(),
            controller,
            drive,
            batch: Batch::default(),
            recorded: Ok(()),
            scratch: Vec::new(),
            recent: None,
            counted: false,
            spent: 0,
            rest: None,
            pool,
            wanted: None,
            granted: None,
        }
    }

    /// Sets the ticket of the following device commands in the drive's [emulation](Drive::emulation); 0 for none.
    pub fn set_ticket(&mut self, ticket: u64) {
        self.batch.ticket = Ticket { number: ticket, ..Ticket::default() };
    }

    /// Returns the ticket of the current command, or 0.
    pub fn ticket(&self) -> u64 {
        self.batch.ticket.number
    }

    /// Executes a read again that the device has already counted.
    ///
    /// # Errors
    /// As [`Self::execute`].
    pub fn read_again(&mut self, sqe: &Sqe, out: &mut Vec<u8>) -> Result<Progress, Failure> {
        self.counted = true;
        let read = self.begin(sqe, &[], out);
        self.counted = false;
        read
    }

    /// Begins a batch of commands, which is a turn.
    pub fn begin_batch(&mut self) {
        self.spent = 0;
        self.recorded = Ok(());
        self.fdp = self.drive.fdp_enabled();
    }

    /// Has the device count the commands of the batch. Namespaces are looked up again afterwards.
    ///
    /// # Errors
    /// `WRITE_FAULT`: the drive could not record all commands of the batch, so none that changed data may complete with
    /// success.
    pub fn end_batch(&mut self) -> Result<(), Status> {
        if self.scratch.capacity() > KEPT_SCRATCH {
            self.scratch = Vec::new();
        }
        let applied = self.drive.apply_batch(self.controller.host, &mut self.batch);
        self.recorded = self.recorded.and(applied);
        self.recent = None;
        self.recorded
    }

    /// Returns the bytes that the host sends with a command.
    ///
    /// # Errors
    /// The command cannot be valid, so no data should be taken.
    pub fn data_length(&self, sqe: &Sqe) -> Result<u64, Failure> {
        let row = NvmOpcode(sqe.opcode).info();
        let Some(row) = row.filter(|row| row.direction() == DataTransfer::HostToController) else {
            return Ok(0);
        };
        Ok(match row.data {
            DataLength::Handler => 0,
            DataLength::Blocks => {
                self.controller.check_path(sqe.nsid.get())?;
                self.drive.check_sanitize()?;
                let namespace = self.lookup(sqe.nsid.get())?;
                (u64::from(RwCdw12::of(sqe).nlb_z()) + 1) << namespace.lba_shift
            }
            DataLength::Entries { bytes, count } => count(sqe) * bytes,
        })
    }

    /// Executes a command to its end. `data` is the host's data, at least [`Self::data_length`] bytes; data for the
    /// host is appended to `out`.
    ///
    /// # Errors
    /// The status that the command completes with; `out` then has arbitrary contents.
    pub fn execute(&mut self, sqe: &Sqe, data: &[u8], out: &mut Vec<u8>) -> Result<(), Failure> {
        let mut progress = self.begin(sqe, data, out)?;
        while progress == Progress::More {
            progress = self.resume()?;
        }
        Ok(())
    }

    /// Executes a command like [`Self::execute`], up to the end of the turn. The next command may begin once this
    /// one is done.
    ///
    /// # Errors
    /// As [`Self::execute`].
    pub fn begin(
        &mut self,
        sqe: &Sqe,
        data: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Progress, Failure> {
        if sqe.fuse() != 0 {
            return Err(location!(flags).into());
        }
        self.controller.check_path(sqe.nsid.get())?;
        self.drive.check_sanitize()?;
        self.spend(COMMAND);
        match self.dispatch(sqe, data, out)? {
            Step::Done => Ok(Progress::Done),
            Step::More(rest) => {
                self.rest = Some(rest);
                self.resume()
            }
        }
    }

    /// Continues the command, for at least one slice and up to the end of the turn.
    ///
    /// # Errors
    /// As [`Self::execute`].
    pub fn resume(&mut self) -> Result<Progress, Failure> {
        while let Some(mut rest) = self.rest.take() {
            if !rest.step(self)? {
                self.rest = Some(rest);
                if self.is_turn_over() {
                    return Ok(Progress::More);
                }
            }
        }
        Ok(Progress::Done)
    }

    /// Returns the work of this batch, in equivalent bytes of data.
    pub fn spent(&self) -> u64 {
        self.spent
    }

    /// Returns whether other queues are due.
    pub fn is_turn_over(&self) -> bool {
        self.spent >= TURN
    }

    /// Returns the memory that the command waits for.
    pub fn wanted(&self) -> Option<Wanted> {
        self.wanted
    }

    /// Takes the memory that the command waits for.
    pub fn grant(&mut self, share: Share) {
        self.wanted = None;
        self.granted = Some(share);
    }

    /// Takes memory from the pool. If none is free, the turn ends, and the command continues when memory is granted.
    fn take_memory(&mut self, wanted: Wanted) -> Option<Share> {
        let share = self.granted.take().or_else(|| self.pool.try_take(wanted));
        if share.is_none() {
            self.wanted = Some(wanted);
            self.spend(TURN);
        }
        share
    }

    /// Adds `work` bytes to the work of this turn.
    fn spend(&mut self, work: u64) {
        self.spent = self.spent.saturating_add(work);
    }

    /// Checks that a namespace was not deleted or formatted since a command that writes began, nor reserved by another
    /// host.
    fn check_live(&self, namespace: &Namespace) -> Result<(), Failure> {
        namespace.check_live()?;
        Ok(namespace.check_reservation(&self.controller.hostid, Reserved::Write)?)
    }

    /// Checks that no reservation bars the host from a command.
    fn check_reserved(&self, opcode: NvmOpcode, nsid: u32) -> Result<(), Failure> {
        if nsid == nsid::BROADCAST || !self.drive.is_reserved() {
            return Ok(());
        }
        let namespace = self.lookup(nsid)?;
        let mut uses = reservations::io_command(opcode).iter();
        Ok(uses.try_for_each(|used| namespace.check_reservation(&self.controller.hostid, *used))?)
    }

    fn lookup(&self, nsid: u32) -> Result<Arc<Namespace>, Failure> {
        match &self.recent {
            Some(recent) if recent.nsid == nsid && recent.retired().is_none() => {
                Ok(Arc::clone(recent))
            }
            _ => {
                // Invalid Field for an inactive NSID (Base 2.1, 3.2.1.5).
                let namespace = self.controller.active(nsid)?.ok_or(location!(nsid))?;
                namespace.check_live()?;
                Ok(namespace)
            }
        }
    }

    fn namespace(&mut self, nsid: u32) -> Result<Arc<Namespace>, Failure> {
        let namespace = self.lookup(nsid)?;
        self.recent = Some(Arc::clone(&namespace));
        Ok(namespace)
    }

    /// Adds a command to those the device has to count.
    fn count(
        &mut self,
        op: Op,
        namespace: &Arc<Namespace>,
        offset: u64,
        length: u64,
        pid: Placement,
    ) {
        if self.counted {
            return;
        }
        let command = Command {
            lba: Namespace::device_blocks(offset),
            blocks: Namespace::device_blocks(length) as u32,
            placement: pid,
            op,
            namespace: namespace.id(),
        };
        self.batch.push(namespace, command);
    }

    /// Returns the placement that a directive requests.
    fn placement(&self, namespace: &Namespace, directive: Directive) -> Result<Placement, Failure> {
        let pid = match directive.dtype {
            DirectiveType::IDENTIFY => return Ok(Placement::NONE),
            DirectiveType::DATA_PLACEMENT if self.fdp => Placement(directive.dspec),
            _ if self.fdp => return Err(range::DTYPE.into()),
            dtype => return self.stream(namespace, dtype, directive.dspec),
        };
        if namespace.placement(pid).is_ok() {
            return Ok(pid);
        }
        let refuse = self.controller.subsystem.options.refuse_invalid_placement;
        if refuse || pid == Placement::NONE {
            self.drive.invalid_placement(namespace, pid);
        }
        // The device uses the default handle. It logs the event, unless it takes the identifier as "none".
        if refuse { Err(range::DSPEC.into()) } else { Ok(pid) }
    }

    /// Returns the placement of a directive without FDP: that of a stream. Directives are ignored unless the host
    /// enabled one (Base 2.1, 8.1.8).
    fn stream(
        &self,
        namespace: &Namespace,
        dtype: DirectiveType,
        identifier: u16,
    ) -> Result<Placement, Failure> {
        let host = self.controller.hostid;
        if !self.drive.streams_enabled(host, Some(namespace.nsid)) {
            return Ok(Placement::NONE);
        }
        match (dtype, identifier) {
            (DirectiveType::STREAMS, 0) => Ok(Placement::NONE),
            (DirectiveType::STREAMS, _) => Ok(self.drive.stream(host, namespace, identifier)),
            _ => Err(range::DTYPE.into()),
        }
    }

    /// Checks, if the host has enabled that error, that no block of a range is deallocated or unwritten, counting
    /// earlier commands of this queue.
    ///
    /// # Errors
    /// `DEALLOCATED_BLOCK`, with the first such block.
    fn check_allocated(
        &mut self,
        namespace: &Namespace,
        offset: u64,
        length: u64,
    ) -> Result<(), Failure> {
        if !self.controller.is_deallocated_error(namespace.nsid) {
            return Ok(());
        }
        // A failure to record fails the commands at the end of the batch; reads do not fail.
        let _ = self.end_batch();
        match self.drive.first_deallocated(namespace, offset, length)? {
            None => Ok(()),
            Some(first) => {
                let lba = first >> namespace.lba_shift;
                Err(Failure { lba, ..Status::DEALLOCATED_BLOCK.into() })
            }
        }
    }

    /// Reads bytes of a namespace; a failure of the medium names `lba`.
    fn read(
        namespace: &Namespace,
        offset: u64,
        buffer: &mut [u8],
        lba: u64,
    ) -> Result<(), Failure> {
        check_readable(namespace, offset, buffer.len() as u64)?;
        let read = namespace.store.read(offset, buffer);
        read.map_err(|e| Failure::medium(&e, Status::UNRECOVERED_READ_ERROR, lba))
    }

    /// Appends bytes of a namespace to `out`, read as by [`Self::read`].
    fn append_read(
        namespace: &Namespace,
        offset: u64,
        length: usize,
        out: &mut Vec<u8>,
        lba: u64,
    ) -> Result<(), Failure> {
        check_readable(namespace, offset, length as u64)?;
        let read = namespace.store.append_to(out, offset, length);
        read.map_err(|e| Failure::medium(&e, Status::UNRECOVERED_READ_ERROR, lba))
    }

    /// Checks before data moves that a namespace can be written and that the drive can count a write. Returns whether
    /// to make it durable, because the host requests it or has the write cache disabled.
    fn check_write(&self, namespace: &Namespace, fua: bool) -> Result<bool, Failure> {
        namespace.check_unprotected()?;
        self.drive.check_media()?;
        let end_of_life = self.controller.subsystem.end_of_life();
        if end_of_life == Some(FailureMode::ReadOnly) {
            return Err(Status::NAMESPACE_WRITE_PROTECTED.into());
        }
        if !self.drive.may_block() && self.drive.emulation().is_none() {
            return Ok(false);
        }
        let through = end_of_life == Some(FailureMode::WriteThrough);
        let durable = fua || through || !self.controller.write_cache();
        if durable {
            self.drive.check_durable()?
        } else {
            self.drive.check_writable()?
        }
        Ok(durable)
    }

    /// Makes a write durable if it has to be.
    fn finish_write(&mut self, durable: bool) -> Result<Step, Failure> {
        if durable {
            self.batch.ticket.durable = true;
            self.end_batch()?;
            self.make_durable(None)?;
        }
        Ok(Step::Done)
    }

    /// Makes everything counted durable. If that fails, the drive logs the reason.
    fn make_durable(&self, namespace: Option<NsId>) -> Result<(), Failure> {
        let flushed = self.drive.flush(self.controller.host, namespace);
        flushed.map_err(|_| Status::WRITE_FAULT.into())
    }

    /// Executes a Flush.
    fn flush(&self, namespace: Option<NsId>) -> Result<(), Failure> {
        self.make_durable(namespace)?;
        self.drive.emulate_flush(self.ticket(), namespace);
        Ok(())
    }
}

/// Checks that no block of a range is marked as uncorrectable or has a media error. Only media errors count in SMART.
///
/// # Errors
/// `UNRECOVERED_READ_ERROR`, with the first such block.
fn check_readable(namespace: &Namespace, offset: u64, length: u64) -> Result<(), Failure> {
    let Some(first) = namespace.uncorrectable(offset, length) else { return Ok(()) };
    let medium = namespace.media_error(offset, length).is_some();
    let lba = first >> namespace.lba_shift;
    Err(Failure { lba, medium, ..Status::UNRECOVERED_READ_ERROR.into() })
}
