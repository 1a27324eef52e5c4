//! One connection of a host, from its first byte to its last, without I/O.

use std::mem::offset_of;
use std::sync::Arc;

use tokio::time::Instant;
use wafer_nvme::zerocopy::{FromBytes as _, IntoBytes as _};
use wafer_nvme::*;

use super::pdu::{self, Agreed, Fatal, Incoming, MAX_CAPSULE, MAX_H2C_DATA, fatal, header_fault};
use super::queue::{Mailbox, Queue};
use wafer_controller::Latch;
use wafer_controller::{ADMIN_CAPSULE_DATA, Controller, Failure, Reached, Subsystem};
use wafer_io::{Pool, Share, Wanted};

/// Output that a batch collects before it is sent, bytes; the last command may exceed it by its data. Output of this
/// size is still in the processor's cache when it is sent, and the host has work during the next batch.
const MOST_OUTPUT: usize = 256 << 10;
/// Maximum number of outstanding Ready to Transfer PDUs of a command, even if the host allows more.
const MOST_R2TS: usize = 16;

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// The host disconnected its queue.
    Disconnected,
    /// The host violated the protocol. A terminate request with this error was sent.
    Fault(FatalError),
    /// The host ended the connection with a terminate request.
    Terminated(FatalError),
    /// Connect failed.
    Refused,
    /// The host failed to authenticate.
    Unauthenticated,
}

/// The result of [`Connection::receive`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Bytes consumed.
    pub taken: usize,
    /// There is more to do without further input, once the output is sent and others have had their turn.
    pub more: bool,
    /// Work done, in equivalent bytes of data.
    pub spent: u64,
}

enum Phase {
    /// Only ICReq is valid.
    Initialize,
    /// Only Connect is valid.
    Connect(Agreed),
    Queue(Box<Queue>),
    Over,
}

/// A connection. [`Self::receive`] takes the host's bytes and appends output for the host.
pub struct Connection {
    /// The subsystem that owns the ports. Connect may name another that they offer.
    subsystem: Arc<Subsystem>,
    /// The port and address that the host connected to.
    reached: Reached,
    pool: Arc<Pool>,
    phase: Phase,
}

impl Connection {
    /// Creates the state of a new connection, whose buffers belong to the pool.
    pub fn new(subsystem: Arc<Subsystem>, reached: impl Into<Reached>, pool: Arc<Pool>) -> Self {
        Connection { subsystem, reached: reached.into(), pool, phase: Phase::Initialize }
    }

    /// Consumes complete PDUs of `input` until none is left, the output is long, or others are due.
    ///
    /// # Errors
    /// The connection is over. Its output must still be sent.
    pub fn receive(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<Turn, Over> {
        let before = out.len();
        let mut taken = 0;
        if let Phase::Queue(queue) = &mut self.phase {
            queue.begin_batch();
            queue.resume(out);
        }
        let result = loop {
            let turn_over = matches!(&self.phase, Phase::Queue(queue) if queue.is_turn_over());
            if self.is_blocked() {
                break Ok(false);
            }
            if turn_over || out.len() - before >= MOST_OUTPUT {
                break Ok(true);
            }
            match self.one(&input[taken..], out) {
                Ok(0) => break Ok(false),
                Ok(count) => taken += count,
                Err(over) => break Err(over),
            }
        };
        let mut spent = 0;
        if let Phase::Queue(queue) = &mut self.phase {
            queue.end_batch(out);
            spent = queue.spent();
            // Nothing may follow a Terminate Connection Request.
            if result.is_ok() {
                queue.events(out);
            }
        }
        match result {
            Ok(more) => Ok(Turn { taken, more, spent }),
            Err(over) => {
                self.end();
                Err(over)
            }
        }
    }

    /// Appends the asynchronous events that are due.
    pub fn events(&mut self, out: &mut Vec<u8>) {
        if let Phase::Queue(queue) = &mut self.phase {
            queue.events(out);
        }
    }

    /// Returns the controller and the queue of the connection.
    pub fn queue(&self) -> Option<(&Arc<Controller>, u16)> {
        match &self.phase {
            Phase::Queue(queue) => Some((&queue.controller, queue.qid)),
            _ => None,
        }
    }

    /// Returns the latch that ends the connection, and when a delayed command is due.
    pub(crate) fn faults(&self) -> (Latch, Option<Instant>) {
        match &self.phase {
            Phase::Queue(queue) => (queue.dropped.clone(), queue.due()),
            _ => Default::default(),
        }
    }

    /// Returns the mailbox for held commands, if the media run in real time.
    pub(crate) fn mailbox(&self) -> Option<Arc<Mailbox>> {
        let Phase::Queue(queue) = &self.phase else { return None };
        queue.mailbox().cloned()
    }

    /// Returns whether the current command waits for memory, which blocks the following ones.
    pub(crate) fn is_blocked(&self) -> bool {
        matches!(&self.phase, Phase::Queue(queue) if queue.is_blocked())
    }

    /// Returns whether the connection waits only for the next I/O command.
    pub(crate) fn expects_command(&self) -> bool {
        let Phase::Queue(queue) = &self.phase else { return false };
        queue.qid > 0
            && queue.due().is_none()
            && queue.mailbox().is_none()
            && queue.wanted().is_none()
            && queue.oldest_transfer().is_none()
            && queue.owed_message().is_none()
            && !queue.holds_half()
    }

    /// Returns the number of the oldest transfer whose requested data the host has yet to send.
    pub fn oldest_transfer(&self) -> Option<u64> {
        let Phase::Queue(queue) = &self.phase else { return None };
        queue.oldest_transfer()
    }

    /// Returns the number of the authentication message that the host owes.
    pub(crate) fn owed_message(&self) -> Option<u64> {
        let Phase::Queue(queue) = &self.phase else { return None };
        queue.owed_message()
    }

    /// Returns whether the first command of a fused operation waits for the second.
    pub(crate) fn holds_half(&self) -> bool {
        matches!(&self.phase, Phase::Queue(queue) if queue.holds_half())
    }

    /// Aborts the first command of a fused operation if the second does not arrive.
    pub(crate) fn abort_half(&mut self, out: &mut Vec<u8>) {
        if let Phase::Queue(queue) = &mut self.phase {
            queue.abort_half(out);
        }
    }

    /// Returns the memory that the next command waits for.
    pub(crate) fn wanted(&self) -> Option<Wanted> {
        let Phase::Queue(queue) = &self.phase else { return None };
        queue.wanted()
    }

    /// Takes the memory that the next command waits for.
    pub(crate) fn grant(&mut self, share: Share, out: &mut Vec<u8>) {
        if let Phase::Queue(queue) = &mut self.phase {
            queue.grant(share, out);
        }
    }

    /// Removes the queue, and with the admin queue the controller.
    fn end(&mut self) {
        if let Phase::Queue(mut queue) = std::mem::replace(&mut self.phase, Phase::Over) {
            queue.finish();
            queue.end_batch(&mut Vec::new());
            match queue.qid {
                0 => queue.controller.subsystem.remove(&queue.controller),
                qid => queue.controller.subsystem.disconnect_io(&queue.controller, qid),
            }
        }
    }

    fn one(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<usize, Over> {
        let agreed = match &self.phase {
            Phase::Connect(agreed) => *agreed,
            Phase::Queue(queue) => queue.agreed(),
            Phase::Initialize | Phase::Over => Agreed::default(),
        };
        let parsed = match pdu::parse(input, &agreed) {
            // Unrequested data is refused before it is complete.
            Ok(None) if input.len() >= MAX_CAPSULE && self.oldest_transfer().is_none() => {
                return Err(fault(header_fault(offset_of!(DataPdu, ttag)), input, out));
            }
            Ok(None) => return Ok(0),
            Ok(Some(parsed)) => parsed,
            Err(fatal) => return Err(fault(fatal, input, out)),
        };
        let (incoming, length) = parsed;
        if incoming.pdu_type == PduType::H2C_TERM_REQ {
            let fes = TermReq::read_from_prefix(incoming.header).map_or(0, |(t, _)| t.fes.get());
            return Err(Over::Terminated(FatalError(fes)));
        }
        let handled = match &mut self.phase {
            Phase::Initialize => self.initialize(&incoming, out).map(|()| true),
            Phase::Connect(agreed) => {
                let agreed = *agreed;
                self.connect(&incoming, agreed, out)
            }
            Phase::Queue(queue) => match queue.pdu(&incoming, out) {
                Ok(true) if queue.is_refused() => return Err(Over::Unauthenticated),
                Ok(true) => Ok(true),
                Ok(false) => return Err(Over::Disconnected),
                Err(fatal) => Err(fatal),
            },
            Phase::Over => return Err(Over::Disconnected),
        };
        match handled {
            Ok(true) => Ok(length),
            Ok(false) => Err(Over::Refused),
            Err(fatal) => Err(fault(fatal, incoming.header, out)),
        }
    }

    fn initialize(&mut self, pdu: &Incoming<'_>, out: &mut Vec<u8>) -> Result<(), Fatal> {
        if pdu.pdu_type != PduType::IC_REQ {
            return Err(fatal(FatalError::SEQUENCE, 0));
        }
        let (request, _) = IcReq::ref_from_prefix(pdu.header)
            .map_err(|_| header_fault(offset_of!(PduHeader, hlen)))?;
        if request.pfv.get() != 0 {
            return Err(fatal(FatalError::UNSUPPORTED_PARAMETER, offset_of!(IcReq, pfv)));
        }
        if request.hpda_z > 31 {
            return Err(header_fault(offset_of!(IcReq, hpda_z)));
        }
        let agreed = Agreed {
            header_digest: request.dgst & 1 != 0,
            data_digest: request.dgst & 2 != 0,
            host_alignment: (usize::from(request.hpda_z) + 1) * 4,
            r2ts: (request.maxr2t_z.get() as usize).saturating_add(1).min(MOST_R2TS),
        };
        let response = IcResp {
            header: PduHeader {
                pdu_type: PduType::IC_RESP.0,
                flags: 0,
                hlen: size_of::<IcResp>() as u8,
                pdo: 0,
                plen: (size_of::<IcResp>() as u32).into(),
            },
            dgst: request.dgst & 3,
            maxh2cdata: MAX_H2C_DATA.into(),
            ..Default::default()
        };
        out.extend_from_slice(response.as_bytes());
        self.phase = Phase::Connect(agreed);
        Ok(())
    }

    /// Handles the first command, which must be Connect with its data in the capsule. Returns whether it succeeds.
    fn connect(
        &mut self,
        pdu: &Incoming<'_>,
        agreed: Agreed,
        out: &mut Vec<u8>,
    ) -> Result<bool, Fatal> {
        if pdu.pdu_type != PduType::CAPSULE_CMD {
            return Err(fatal(FatalError::SEQUENCE, 0));
        }
        let (capsule, _) = CapsuleCmd::ref_from_prefix(pdu.header)
            .map_err(|_| header_fault(offset_of!(PduHeader, hlen)))?;
        let sqe = capsule.sqe;
        let mut cqe = Cqe { cid: sqe.cid, ..Default::default() };
        let command = ConnectCommand::read_from_bytes(sqe.as_bytes());
        let command = command.map_err(|_| header_fault(offset_of!(PduHeader, hlen)))?;
        match self.try_connect(&sqe, &command, pdu) {
            Ok(controller) => {
                let cntlid = u32::from(controller.cntlid);
                let queue = Queue::new(controller, &command, agreed, &self.pool);
                cqe.dw0 = (cntlid | queue.requirement()).into();
                cqe.sqhd = if command.cattr & 4 != 0 { 0xffff } else { 1 }.into();
                self.phase = Phase::Queue(Box::new(queue));
                pdu::push_response(out, &agreed, cqe);
                Ok(true)
            }
            Err(failure) => {
                if failure.status == Status::CONNECT_INVALID_PARAMETERS {
                    cqe.dw0 = (failure.lba as u32).into();
                }
                let field = StatusField::new().with_status(failure.status.0);
                cqe.status = field.with_dnr(!failure.retry).into_bits().into();
                pdu::push_response(out, &agreed, cqe);
                Ok(false)
            }
        }
    }

    fn try_connect(
        &self,
        sqe: &Sqe,
        command: &ConnectCommand,
        pdu: &Incoming<'_>,
    ) -> Result<Arc<Controller>, Failure> {
        let is_connect =
            sqe.opcode == AdminOpcode::FABRICS.0 && sqe.fabrics_type() == FabricsType::CONNECT;
        if !is_connect {
            return Err(Status::SEQUENCE_ERROR.into());
        }
        let length = sqe.sgl.length.get();
        if sqe.sgl.id != Sgl::IN_CAPSULE || length > ADMIN_CAPSULE_DATA {
            return Err(Status::INVALID_SGL_TYPE.into());
        }
        if !pdu.data_intact {
            return Err(Status::TRANSIENT_TRANSPORT_ERROR.into());
        }
        let data = ConnectData::ref_from_bytes(pdu.data).map_err(|_| Status::INVALID_SGL_LENGTH)?;
        let subsystem = self.subsystem.named(data);
        match command.qid.get() {
            0 => subsystem.connect_admin(command, data, self.reached.clone()),
            _ => subsystem.connect_io(command, data),
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.end();
    }
}

fn fault(fatal: Fatal, culprit: &[u8], out: &mut Vec<u8>) -> Over {
    pdu::push_terminate(out, fatal, culprit);
    Over::Fault(fatal.error)
}
