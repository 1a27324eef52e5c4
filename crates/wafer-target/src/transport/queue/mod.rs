//! A connected queue: from capsules to completions.

mod authentication;
mod delayed;
mod emulated;
mod fused;

use std::mem::offset_of;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::time::Instant;
use wafer_nvme::zerocopy::FromBytes as _;
use wafer_nvme::*;
use wafer_ocp::latency::Stopwatch;

use self::delayed::Delayed;
use self::emulated::Held;
pub(super) use self::emulated::Mailbox;
use self::fused::{Data, Fused};
use super::pdu::{self, Agreed, Fatal, Incoming, fatal, header_fault};
use super::transfer::{Complete, Ready, Transfers};
use wafer_controller::Latch;
use wafer_controller::{
    ADMIN_CAPSULE_DATA, Controller, Failure, IO_CAPSULE_DATA, MAX_TRANSFER, Removals, Reply,
    begin_admin, fabrics,
};
use wafer_io::{IoQueue, Progress, TURN, reserve};
use wafer_io::{Pool, Share, Wanted};

/// Work of an admin command, in equivalent bytes of data.
const ADMIN: u64 = 16 << 10;

/// The location of a command's data.
enum Source {
    None,
    Capsule,
    /// The host must be asked for this many bytes.
    Transfer(u32),
}

/// A command that is longer than its turn.
enum Unfinished {
    Io(Sqe),
    Admin(Sqe, Removals),
}

/// A queue of a controller.
pub(crate) struct Queue {
    pub(crate) controller: Arc<Controller>,
    pub(crate) qid: u16,
    agreed: Agreed,
    /// Entries of the submission queue.
    entries: u16,
    head: u16,
    /// SQ flow control is disabled: completions need no SQ head.
    flow_control_disabled: bool,
    transfers: Transfers,
    fused: Fused,
    /// The authentication state, if the host must authenticate.
    authentication: Option<Box<wafer_auth::Controller>>,
    io: IoQueue,
    /// The current command, if it is longer than its turn.
    unfinished: Option<Unfinished>,
    /// Commands to execute later, without delaying others.
    delayed: Vec<Delayed>,
    /// Executed commands whose completions are held.
    held: Vec<Held>,
    /// Where their tickets arrive, if the media run in real time.
    mailbox: Option<Arc<Mailbox>>,
    /// The latch that ends the connection.
    pub(crate) dropped: Latch,
    /// Work of admin commands in this turn, in equivalent bytes of data.
    spent: u64,
    done: u64,
    stopwatch: Stopwatch,
    /// Successful commands of this batch that changed data, with the offset of their responses in the output.
    changed: Vec<(usize, Sqe)>,
}

impl Queue {
    pub(crate) fn new(
        controller: Arc<Controller>,
        command: &ConnectCommand,
        agreed: Agreed,
        pool: &Arc<Pool>,
    ) -> Self {
        let qid = command.qid.get();
        Queue {
            dropped: controller.dropped(qid),
            delayed: Vec::new(),
            held: Vec::new(),
            mailbox: controller.subsystem.drive.emulation().map(Mailbox::new),
            authentication: authentication::begin(&controller),
            io: IoQueue::with_pool(Arc::clone(&controller), Arc::clone(pool)),
            controller,
            qid,
            agreed,
            entries: command.sqsize_z.get() + 1,
            // Connect was the first entry.
            head: 1,
            flow_control_disabled: command.cattr & 4 != 0,
            transfers: Transfers::new(agreed.r2ts, Arc::clone(pool)),
            fused: Fused::default(),
            unfinished: None,
            spent: 0,
            done: 0,
            stopwatch: Stopwatch::default(),
            changed: Vec::new(),
        }
    }

    pub(crate) fn agreed(&self) -> Agreed {
        self.agreed
    }

    /// Begins a batch of PDUs.
    pub(crate) fn begin_batch(&mut self) {
        self.io.begin_batch();
        self.stopwatch.begin_batch(&self.controller.subsystem.ocp.latency);
        self.spent = 0;
    }

    /// Returns whether others are due before the next command.
    pub(crate) fn is_turn_over(&self) -> bool {
        self.unfinished.is_some() || self.spent >= TURN || self.io.is_turn_over()
    }

    /// Returns the work of this batch, in equivalent bytes of data.
    pub(crate) fn spent(&self) -> u64 {
        self.spent.saturating_add(self.io.spent())
    }

    /// Continues the command that was interrupted at the end of the last turn.
    pub(crate) fn resume(&mut self, out: &mut Vec<u8>) {
        let unfinished = self.unfinished.take();
        if unfinished.is_none() {
            self.execute_delayed(out);
        }
        // Nor does a command of many turns delay what is due.
        self.release(out);
        match unfinished {
            None => {}
            Some(Unfinished::Io(sqe)) => {
                let progress = self.io.resume();
                match self.takes_time(&sqe) {
                    true => self.timed_done(sqe, progress, out),
                    false => self.io_done(sqe, progress, out),
                }
            }
            Some(Unfinished::Admin(sqe, rest)) => self.remove(sqe, rest, out),
        }
    }

    /// Returns whether a command identifier is in use.
    fn uses(&self, cid: u16) -> bool {
        self.transfers.uses(cid)
            || self.fused.uses(cid)
            || self.delayed.iter().any(|delayed| delayed.sqe.cid.get() == cid)
            || self.held.iter().any(|held| held.uses(cid))
    }

    /// Finishes a command that must not be left incomplete when the connection ends.
    pub(crate) fn finish(&mut self) {
        match self.unfinished.take() {
            Some(Unfinished::Admin(_, mut rest)) => {
                while matches!(rest.step(&self.controller), Ok(false)) {}
            }
            Some(Unfinished::Io(_)) => self.abandon(),
            None => {}
        }
    }

    /// Ends a batch, before its output is sent. Fails the commands that changed data if the drive cannot record them.
    pub(crate) fn end_batch(&mut self, out: &mut [u8]) {
        let recorded = self.io.end_batch();
        let changed = std::mem::take(&mut self.changed);
        if let Err(status) = recorded {
            for (at, sqe) in &changed {
                let mut response = Vec::new();
                self.push(self.failed(sqe, &status.into()), &mut response);
                if let Some(place) = out.get_mut(*at..at + response.len()) {
                    place.copy_from_slice(&response);
                }
            }
        }
        self.changed = changed;
        self.changed.clear();
        let subsystem = &self.controller.subsystem;
        self.stopwatch.end_batch(&subsystem.ocp.latency, || subsystem.drive.timestamp());
        if self.done > 0 {
            self.controller.completed(std::mem::take(&mut self.done));
            self.controller.touch();
        }
    }

    /// Returns the number of the oldest transfer whose data the host has yet to send.
    pub(crate) fn oldest_transfer(&self) -> Option<u64> {
        self.transfers.oldest()
    }

    /// Returns the memory that the next command waits for.
    pub(crate) fn wanted(&self) -> Option<Wanted> {
        self.io.wanted().or_else(|| self.transfers.wanted())
    }

    /// Takes the memory that the next command waits for.
    pub(crate) fn grant(&mut self, share: Share, out: &mut Vec<u8>) {
        if self.io.wanted().is_some() {
            return self.io.grant(share);
        }
        let ready = self.transfers.grant(share);
        self.send_ready(&ready, out);
    }

    /// Returns whether the current command waits for memory.
    pub(crate) fn is_blocked(&self) -> bool {
        self.io.wanted().is_some()
    }

    /// Handles a PDU from the host and returns whether the connection continues.
    pub(crate) fn pdu(&mut self, pdu: &Incoming<'_>, out: &mut Vec<u8>) -> Result<bool, Fatal> {
        match pdu.pdu_type {
            PduType::CAPSULE_CMD => {
                let (capsule, _) = CapsuleCmd::ref_from_prefix(pdu.header)
                    .map_err(|_| header_fault(offset_of!(PduHeader, hlen)))?;
                self.command(&capsule.sqe, pdu, out)
            }
            PduType::H2C_DATA => {
                let (head, _) = DataPdu::ref_from_prefix(pdu.header)
                    .map_err(|_| header_fault(offset_of!(PduHeader, hlen)))?;
                let (ready, complete) = self.transfers.data(head, pdu.data, pdu.data_intact)?;
                self.send_ready(&ready, out);
                if let Some(Complete { sqe, data, share, intact }) = complete {
                    let torn = Failure::from(Status::TRANSIENT_TRANSPORT_ERROR);
                    if self.fused.uses(sqe.cid.get()) {
                        drop(share);
                        let data =
                            if intact { Data::Here(data.into_owned()) } else { Data::Failed(torn) };
                        if let Some(pair) = self.fused.arrived(sqe.cid.get(), data) {
                            self.execute_fused(pair, out);
                        }
                    } else {
                        if intact {
                            self.execute(&sqe, &data, out);
                        } else {
                            self.complete(&sqe, Err(torn), out);
                        }
                        self.transfers.executed(data);
                        drop(share);
                    }
                    let ready = self.transfers.ready();
                    self.send_ready(&ready, out);
                }
                Ok(true)
            }
            _ => Err(fatal(FatalError::SEQUENCE, 0)),
        }
    }

    fn command(&mut self, sqe: &Sqe, pdu: &Incoming<'_>, out: &mut Vec<u8>) -> Result<bool, Fatal> {
        self.fused.reset(self.resets());
        // A host that respects the size of its queue never has more outstanding.
        let events = if self.qid == 0 { self.controller.waiting_requests() } else { 0 };
        let waiting = self.transfers.pending() + self.fused.pending() + self.delayed.len();
        let waiting = waiting + self.held.len();
        if waiting + events >= usize::from(self.entries) {
            return Err(fatal(FatalError::SEQUENCE, 0));
        }
        self.head = (self.head + 1) % self.entries;
        let sent = pdu.data.len() as u64;
        if sent > 0 && sqe.sgl.id != Sgl::IN_CAPSULE {
            // In-capsule data without a descriptor.
            return Err(header_fault(offset_of!(PduHeader, plen)));
        }
        let is_fabrics = sqe.opcode == AdminOpcode::FABRICS.0;
        if is_fabrics && sqe.fabrics_type() == FabricsType::DISCONNECT {
            return self.disconnect(sqe, out);
        }
        if self.qid > 0 {
            self.stopwatch.begin(sqe);
        }
        if self.uses(sqe.cid.get()) {
            self.complete(sqe, Err(Status::ID_CONFLICT.into()), out);
            return Ok(true);
        }
        if let Err(failure) = self.check_authenticated(sqe) {
            self.complete(sqe, Err(failure), out);
            return Ok(true);
        }
        if self.qid > 0 && !is_fabrics && self.fuse(sqe, pdu, out) {
            return Ok(true);
        }
        match self.source(sqe, pdu) {
            Ok(Source::None) => self.execute(sqe, &[], out),
            Ok(Source::Capsule) => self.execute(sqe, pdu.data, out),
            Ok(Source::Transfer(length)) => {
                self.transfers.add(*sqe, length);
                let ready = self.transfers.ready();
                self.send_ready(&ready, out);
            }
            Err(failure) => self.complete(sqe, Err(failure), out),
        }
        Ok(true)
    }

    /// Determines how a command transfers its data.
    fn source(&self, sqe: &Sqe, pdu: &Incoming<'_>) -> Result<Source, Failure> {
        let is_fabrics = sqe.opcode == AdminOpcode::FABRICS.0;
        let faults = &self.controller.subsystem.faults;
        if !is_fabrics && let Some(failure) = faults.fail(&self.controller, self.qid, sqe) {
            return Err(failure);
        }
        let direction =
            DataTransfer::of(if is_fabrics { sqe.fabrics_type().0 } else { sqe.opcode });
        if direction != DataTransfer::HostToController {
            return Ok(Source::None);
        }
        let needed = self.needed(sqe)?;
        let length = u64::from(sqe.sgl.length.get());
        let in_capsule = if self.qid == 0 { ADMIN_CAPSULE_DATA } else { IO_CAPSULE_DATA };
        match sqe.sgl.id {
            _ if needed == 0 && length == 0 => Ok(Source::None),
            Sgl::IN_CAPSULE => {
                let offset = sqe.sgl.address.get();
                if length > u64::from(in_capsule) || length < needed {
                    Err(Status::INVALID_SGL_LENGTH.into())
                } else if offset != 0 || length != pdu.data.len() as u64 {
                    Err(Status::INVALID_SGL_OFFSET.into())
                } else if !pdu.data_intact {
                    Err(Status::TRANSIENT_TRANSPORT_ERROR.into())
                } else {
                    Ok(Source::Capsule)
                }
            }
            Sgl::TRANSPORT if length < needed || length > MAX_TRANSFER => {
                Err(Status::INVALID_SGL_LENGTH.into())
            }
            Sgl::TRANSPORT => Ok(Source::Transfer(length as u32)),
            _ => Err(Status::INVALID_SGL_TYPE.into()),
        }
    }

    fn resets(&self) -> u64 {
        self.controller.resets.load(Ordering::Acquire)
    }

    /// Returns the bytes that a command requires from the host.
    fn needed(&self, sqe: &Sqe) -> Result<u64, Failure> {
        if self.qid > 0 && sqe.opcode != AdminOpcode::FABRICS.0 {
            let needed = self.io.data_length(sqe)?;
            if needed > MAX_TRANSFER { Err(Status::INVALID_FIELD.into()) } else { Ok(needed) }
        } else {
            Ok(0)
        }
    }

    fn send_ready(&self, ready: &[Ready], out: &mut Vec<u8>) {
        for part in ready {
            let header = pdu::plain_header(PduType::R2T, size_of::<R2t>(), &self.agreed);
            let r2t = R2t {
                header,
                cccid: part.cid.into(),
                ttag: part.ttag.into(),
                r2to: part.offset.into(),
                r2tl: part.length.into(),
                ..Default::default()
            };
            pdu::push_header(out, &self.agreed, r2t);
        }
    }

    fn execute(&mut self, sqe: &Sqe, data: &[u8], out: &mut Vec<u8>) {
        if authentication::is_message(sqe) {
            let reply = self.authenticate(sqe, data);
            return self.reply(sqe, reply, out);
        }
        if sqe.opcode == AdminOpcode::FABRICS.0 {
            let reply = fabrics(&self.controller, self.qid, sqe);
            return self.reply(sqe, reply, out);
        }
        if self.qid == 0 {
            self.spent += ADMIN;
            return match begin_admin(&self.controller, sqe, data) {
                Ok(Reply { rest: Some(rest), .. }) => self.remove(*sqe, rest, out),
                reply => self.reply(sqe, reply, out),
            };
        }
        if let Some(delay) = self.controller.subsystem.faults.delay(sqe) {
            let (due, resets) = (Instant::now() + delay, self.resets());
            return self.delayed.push(Delayed { sqe: *sqe, due, resets });
        }
        self.execute_io(sqe, data, out);
    }

    fn execute_io(&mut self, sqe: &Sqe, data: &[u8], out: &mut Vec<u8>) {
        if !self.controller.is_ready() {
            return self.complete(sqe, Err(Status::SEQUENCE_ERROR.into()), out);
        }
        if self.takes_time(sqe) {
            return self.execute_timed(sqe, data, out);
        }
        self.send(sqe, out, |io, out| io.begin(sqe, data, out));
    }

    /// Executes an I/O command and sends what it has for the host.
    fn send(
        &mut self,
        sqe: &Sqe,
        out: &mut Vec<u8>,
        execute: impl FnOnce(&mut IoQueue, &mut Vec<u8>) -> Result<Progress, Failure>,
    ) {
        let start = pdu::begin_data(out, &self.agreed);
        let data_start = out.len();
        let mut result = execute(&mut self.io, out);
        let length = (out.len() - data_start) as u64;
        if result.is_ok() && length > 0 {
            result = check_sgl(sqe, length).and(result);
        }
        if result.is_err() {
            out.truncate(data_start);
        }
        let plain = result.is_ok() && self.flow_control_disabled;
        let sent = pdu::end_data(out, &self.agreed, start, sqe.cid.get(), plain);
        if sent && plain {
            self.done += 1;
            self.stopwatch.end(sqe.cid.get());
            return;
        }
        self.io_done(*sqe, result, out);
    }

    /// Completes an I/O command, unless it is longer than its turn.
    fn io_done(&mut self, sqe: Sqe, progress: Result<Progress, Failure>, out: &mut Vec<u8>) {
        match progress {
            Ok(Progress::Done) => self.complete(&sqe, Ok(Reply::default()), out),
            // Such commands have no data for the host.
            Ok(Progress::More) => self.unfinished = Some(Unfinished::Io(sqe)),
            Err(failure) => self.complete(&sqe, Err(failure), out),
        }
    }

    /// Removes namespaces until the turn is over.
    fn remove(&mut self, sqe: Sqe, mut rest: Removals, out: &mut Vec<u8>) {
        match rest.step(&self.controller) {
            Ok(true) => self.complete(&sqe, Ok(Reply::default()), out),
            Ok(false) => self.unfinished = Some(Unfinished::Admin(sqe, rest)),
            Err(failure) => self.complete(&sqe, Err(failure), out),
        }
    }

    fn reply(&mut self, sqe: &Sqe, reply: Result<Reply, Failure>, out: &mut Vec<u8>) {
        let checked = reply.and_then(|reply| {
            let length = reply.data.len() as u64;
            if length > 0 {
                // Hosts may request less than the entire structure.
                check_sgl(sqe, length.min(u64::from(sqe.sgl.length.get()).max(1)))?;
            }
            Ok(reply)
        });
        match checked {
            Ok(reply) if reply.deferred => {}
            Ok(reply) => {
                let start = pdu::begin_data(out, &self.agreed);
                let fits = reply.data.len().min(sqe.sgl.length.get() as usize);
                reserve(out, fits);
                out.extend_from_slice(&reply.data[..fits]);
                pdu::end_data(out, &self.agreed, start, sqe.cid.get(), false);
                self.complete(sqe, Ok(reply), out);
            }
            Err(failure) => self.complete(sqe, Err(failure), out),
        }
    }

    fn complete(&mut self, sqe: &Sqe, result: Result<Reply, Failure>, out: &mut Vec<u8>) {
        let cqe = match result {
            Ok(reply) => {
                if self.qid > 0 && changes_data(sqe) {
                    self.changed.push((out.len(), *sqe));
                }
                let (dw0, dw1) = (reply.dw0.into(), reply.dw1.into());
                Cqe { cid: sqe.cid, dw0, dw1, ..Default::default() }
            }
            Err(failure) => self.failed(sqe, &failure),
        };
        self.done += 1;
        self.stopwatch.end(sqe.cid.get());
        self.push(cqe, out);
    }

    /// Logs a failure and returns its completion.
    fn failed(&self, sqe: &Sqe, failure: &Failure) -> Cqe {
        let field = self.controller.fail(self.qid, sqe, failure);
        let (dw0, status) = (failure.dw0.into(), field.into_bits().into());
        Cqe { cid: sqe.cid, dw0, status, ..Default::default() }
    }

    fn push(&self, mut cqe: Cqe, out: &mut Vec<u8>) {
        if !self.flow_control_disabled {
            cqe.sqhd = self.head.into();
        }
        pdu::push_response(out, &self.agreed, cqe);
    }

    /// Appends the asynchronous events that are due.
    pub(crate) fn events(&mut self, out: &mut Vec<u8>) {
        if self.qid == 0 {
            for cqe in self.controller.due_events() {
                self.push(cqe, out);
            }
        }
    }

    fn disconnect(&mut self, sqe: &Sqe, out: &mut Vec<u8>) -> Result<bool, Fatal> {
        if self.qid == 0 {
            self.complete(sqe, Err(Status::INVALID_QUEUE_TYPE.into()), out);
            return Ok(true);
        }
        self.complete(sqe, Ok(Reply::default()), out);
        Ok(false)
    }
}

/// Returns whether an I/O command changes the data of a namespace.
fn changes_data(sqe: &Sqe) -> bool {
    NvmOpcode(sqe.opcode).info().is_some_and(|row| row.effects.lbcc())
}

/// Checks that the data of a reply fits the host's descriptor.
fn check_sgl(sqe: &Sqe, length: u64) -> Result<(), Failure> {
    if sqe.sgl.id != Sgl::TRANSPORT {
        return Err(Status::INVALID_SGL_TYPE.into());
    }
    if u64::from(sqe.sgl.length.get()) < length {
        return Err(Status::INVALID_SGL_LENGTH.into());
    }
    Ok(())
}
