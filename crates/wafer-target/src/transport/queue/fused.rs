//! Fused operations of a queue (Base 2.1, 3.4.2): the first command waits for the second, and both for their data.
//!
//! Memory held here is not part of the pool, because the holder of a share must not wait for another one. Therefore it
//! is limited to [`PAIRS`] operations of at most [`MAX_DATA`] bytes per command.

use wafer_nvme::*;
use wafer_storage::ATOMIC_BLOCKS;

use super::super::pdu::Incoming;
use super::{Queue, Source};
use wafer_controller::{Failure, Reply};

/// Maximum number of operations per queue that wait for data.
const PAIRS: usize = 2;
/// Maximum data of a command, bytes: the atomic unit with the largest logical blocks.
pub(crate) const MAX_DATA: u64 = ATOMIC_BLOCKS as u64 * 4096;
/// FUSE of the first command, and of the second.
pub(crate) const FIRST: u8 = 1;
pub(crate) const SECOND: u8 = 2;

/// The data of a command.
pub(crate) enum Data {
    Here(Vec<u8>),
    /// This many bytes, which the host sends separately.
    Later(u32),
    /// None, because the command failed.
    Failed(Failure),
}

/// A command of a fused operation.
pub(crate) struct Half {
    pub(crate) sqe: Sqe,
    pub(crate) data: Data,
}

impl Half {
    fn is_later(&self) -> bool {
        matches!(self.data, Data::Later(_))
    }
}

/// The commands of fused operations that a queue holds.
#[derive(Default)]
pub(crate) struct Fused {
    /// A first command whose second has not arrived.
    pub(crate) first: Option<Half>,
    /// Controller level resets when it arrived.
    resets: u64,
    pairs: Vec<[Half; 2]>,
}

impl Fused {
    /// Holds a first command.
    pub(crate) fn hold(&mut self, first: Half, resets: u64) {
        (self.first, self.resets) = (Some(first), resets);
    }

    /// Discards a first command that arrived before the latest reset: it gets no completion.
    pub(crate) fn reset(&mut self, resets: u64) {
        if self.resets != resets {
            self.first = None;
        }
    }

    /// Returns the number of commands that wait here, except those that wait for their data.
    pub(crate) fn pending(&self) -> usize {
        let halves = self.pairs.iter().flatten().filter(|half| !half.is_later());
        halves.count() + usize::from(self.first.is_some())
    }

    /// Returns whether a command identifier is in use.
    pub(crate) fn uses(&self, cid: u16) -> bool {
        self.pairs.iter().flatten().chain(&self.first).any(|half| half.sqe.cid.get() == cid)
    }

    /// Returns whether another operation may wait for its data.
    pub(crate) fn has_room(&self) -> bool {
        self.pairs.len() < PAIRS
    }

    /// Adds an operation that waits for data.
    pub(crate) fn add(&mut self, pair: [Half; 2]) {
        self.pairs.push(pair);
    }

    /// Takes the data of a command, and returns the operation if that completes it.
    pub(crate) fn arrived(&mut self, cid: u16, data: Data) -> Option<[Half; 2]> {
        let is_this = |half: &Half| half.sqe.cid.get() == cid;
        let at = self.pairs.iter().position(|pair| pair.iter().any(is_this))?;
        if let Some(half) = self.pairs[at].iter_mut().find(|half| is_this(half)) {
            half.data = data;
        }
        let whole = !self.pairs[at].iter().any(Half::is_later);
        whole.then(|| self.pairs.swap_remove(at))
    }
}

impl Queue {
    /// Takes a command of a fused operation. Returns false if it is not one.
    pub(super) fn fuse(&mut self, sqe: &Sqe, pdu: &Incoming<'_>, out: &mut Vec<u8>) -> bool {
        let first = self.fused.first.take();
        match (sqe.fuse(), first) {
            (SECOND, Some(first)) => {
                let second = self.half(sqe, pdu);
                self.join([first, second], out);
            }
            (SECOND, None) => self.complete(sqe, Err(Status::MISSING_FUSED.into()), out),
            (fuse, first) => {
                if let Some(first) = first {
                    self.complete(&first.sqe, Err(Status::MISSING_FUSED.into()), out);
                }
                match fuse {
                    0 => return false,
                    FIRST => {
                        let half = self.half(sqe, pdu);
                        self.fused.hold(half, self.resets());
                    }
                    _ => self.complete(sqe, Err(location!(flags).into()), out),
                }
            }
        }
        true
    }

    /// Returns whether the first command of a fused operation waits for the second.
    pub(crate) fn holds_half(&self) -> bool {
        self.fused.first.is_some()
    }

    /// Aborts the first command of a fused operation if the second does not arrive.
    pub(crate) fn abort_half(&mut self, out: &mut Vec<u8>) {
        self.fused.reset(self.resets());
        if let Some(first) = self.fused.first.take() {
            self.complete(&first.sqe, Err(Status::MISSING_FUSED.into()), out);
        }
    }

    fn half(&self, sqe: &Sqe, pdu: &Incoming<'_>) -> Half {
        let blocks = RwCdw12::new().with_nlb_z(1).location();
        let data = match self.source(sqe, pdu) {
            Err(failure) => Data::Failed(failure),
            Ok(_) if self.needed(sqe).is_ok_and(|needed| needed > MAX_DATA) => {
                Data::Failed(blocks.into())
            }
            Ok(Source::Transfer(length)) if u64::from(length) > MAX_DATA => {
                Data::Failed(Status::INVALID_SGL_LENGTH.into())
            }
            Ok(Source::Transfer(length)) => Data::Later(length),
            Ok(Source::Capsule) => Data::Here(pdu.data.to_vec()),
            Ok(Source::None) => Data::Here(Vec::new()),
        };
        Half { sqe: *sqe, data }
    }

    /// Executes a fused operation, or first requests its data from the host.
    fn join(&mut self, pair: [Half; 2], out: &mut Vec<u8>) {
        let failed = pair.iter().any(|half| matches!(half.data, Data::Failed(_)));
        let later = pair.iter().filter_map(|half| match half.data {
            Data::Later(length) => Some((half.sqe, length)),
            _ => None,
        });
        let later: Vec<_> = later.collect();
        if failed || later.is_empty() {
            return self.execute_fused(pair, out);
        }
        if !self.fused.has_room() {
            // Not Command Interrupted, which a host has to enable. The host may retry this status too.
            for half in pair {
                self.complete(&half.sqe, Err(Status::INTERNAL_ERROR.into()), out);
            }
            return;
        }
        self.fused.add(pair);
        for (sqe, length) in later {
            self.transfers.add(sqe, length);
        }
        let ready = self.transfers.ready();
        self.send_ready(&ready, out);
    }

    pub(super) fn execute_fused(&mut self, pair: [Half; 2], out: &mut Vec<u8>) {
        let [first, second] = pair;
        let sqes = [first.sqe, second.sqe];
        let opcodes = sqes.map(|sqe| NvmOpcode(sqe.opcode));
        let aborted = || Err(Status::FAILED_FUSED.into());
        let timed = self.take_ticket();
        let done = match (first.data, second.data) {
            _ if opcodes != [NvmOpcode::COMPARE, NvmOpcode::WRITE] => {
                [Err(location!(flags).into()), Err(location!(flags).into())]
            }
            _ if !self.controller.is_ready() => {
                [Err(Status::SEQUENCE_ERROR.into()), Err(Status::SEQUENCE_ERROR.into())]
            }
            (Data::Failed(failure), _) => [Err(failure), aborted()],
            (_, Data::Failed(failure)) => [aborted(), Err(failure)],
            (Data::Here(expected), Data::Here(data)) => {
                self.io.compare_and_write([&sqes[0], &sqes[1]], [&expected, &data])
            }
            // The data was not requested because the other command failed.
            _ => [aborted(), aborted()],
        };
        let outcomes = sqes.into_iter().zip(done);
        if timed {
            return self.hold(outcomes.collect(), out);
        }
        for (sqe, done) in outcomes {
            self.complete(&sqe, done.map(|()| Reply::default()), out);
        }
    }
}
