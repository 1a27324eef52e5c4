//! Data that hosts send separately from their commands, requested with Ready to Transfer PDUs.
//!
//! Buffers are shares of the pool of all connections. A connection holds at most [`BUFFERS`] bytes, unless a single
//! command is longer, and the buffer of only one command while the pool is scarce. Each waiting command takes 64 bytes.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::mem::offset_of;
use std::sync::Arc;

use wafer_nvme::{DataPdu, FatalError, PduFlags, Sqe};

use super::input::INPUT;
use super::pdu::{Fatal, MAX_H2C_DATA, fatal, header_fault};
use wafer_io::{Pool, Share, Wanted};

/// Maximum bytes of all buffers of a connection, unless a single one is longer.
const BUFFERS: usize = 4 << 20;
/// Bytes per request if the host allows several at a time.
const PART: u32 = 64 << 10;

/// A Ready to Transfer to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ready {
    pub(crate) cid: u16,
    pub(crate) ttag: u16,
    pub(crate) offset: u32,
    pub(crate) length: u32,
}

/// A command whose data is complete.
#[derive(Debug)]
pub(crate) struct Complete<'a> {
    pub(crate) sqe: Sqe,
    pub(crate) data: Cow<'a, [u8]>,
    /// The memory of the data.
    pub(crate) share: Share,
    /// Whether every data digest was correct.
    pub(crate) intact: bool,
}

/// Returns the memory of a transfer: its data and the long input buffer.
fn memory(length: usize) -> Wanted {
    Wanted::data((length + INPUT) as u64)
}

#[derive(Debug)]
struct Transfer {
    sqe: Sqe,
    /// Length of the data in bytes.
    length: u32,
    /// The data received so far, with zeroes for a missing part before another; empty if all of it arrives
    /// in one PDU.
    data: Vec<u8>,
    share: Share,
    /// First byte not requested yet.
    asked: u32,
    outstanding: usize,
    intact: bool,
}

impl Transfer {
    /// Copies data to its position, which follows the earlier data unless the host sends several parts at a time.
    fn copy(&mut self, at: usize, data: &[u8], pool: &Pool) {
        if self.data.is_empty() {
            self.data = pool.take_buffer();
            self.data.reserve_exact(self.length as usize);
        }
        if at == self.data.len() {
            return self.data.extend_from_slice(data);
        }
        let end = at + data.len();
        if self.data.len() < end {
            self.data.resize(end, 0);
        }
        self.data[at..end].copy_from_slice(data);
    }
}

/// A requested part of a transfer.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Number of its transfer.
    transfer: u64,
    /// Next byte expected, and end of the part.
    at: u32,
    end: u32,
}

/// All transfers of a connection.
#[derive(Debug)]
pub(crate) struct Transfers {
    /// Maximum number of outstanding parts of a command.
    limit: usize,
    transfers: BTreeMap<u64, Transfer>,
    parts: BTreeMap<u16, Part>,
    /// Commands without a buffer, with the length of their data.
    waiting: VecDeque<(Sqe, u32)>,
    bytes: usize,
    pool: Arc<Pool>,
    /// Memory granted to the first command.
    granted: Option<Share>,
    next_transfer: u64,
    next_ttag: u16,
}

impl Transfers {
    pub(crate) fn new(limit: usize, pool: Arc<Pool>) -> Self {
        Transfers {
            limit: limit.max(1),
            transfers: BTreeMap::new(),
            parts: BTreeMap::new(),
            waiting: VecDeque::new(),
            bytes: 0,
            pool,
            granted: None,
            next_transfer: 0,
            next_ttag: 0,
        }
    }

    /// Returns the number of commands that wait for data.
    pub(crate) fn pending(&self) -> usize {
        self.transfers.len() + self.waiting.len()
    }

    /// Returns the number of the oldest transfer whose data was requested.
    pub(crate) fn oldest(&self) -> Option<u64> {
        self.transfers.keys().next().copied()
    }

    /// Returns the memory that the first command waits for. While other commands of the connection hold memory, it
    /// waits for theirs instead.
    pub(crate) fn wanted(&self) -> Option<Wanted> {
        let first = self.waiting.front().filter(|_| self.transfers.is_empty());
        first.map(|(_, length)| memory(*length as usize))
    }

    /// Takes the memory that the first command waits for, and returns the requests that it allows.
    pub(crate) fn grant(&mut self, share: Share) -> Vec<Ready> {
        self.granted = Some(share);
        self.ready()
    }

    /// Returns whether a command identifier is in use.
    pub(crate) fn uses(&self, cid: u16) -> bool {
        self.transfers.values().any(|t| t.sqe.cid.get() == cid)
            || self.waiting.iter().any(|(sqe, _)| sqe.cid.get() == cid)
    }

    /// Adds a command that sends `length` bytes, at least one.
    pub(crate) fn add(&mut self, sqe: Sqe, length: u32) {
        self.waiting.push_back((sqe, length));
    }

    /// Starts waiting transfers as far as there is room, and returns their requests.
    pub(crate) fn ready(&mut self) -> Vec<Ready> {
        let mut ready = Vec::new();
        while let Some((sqe, bytes)) = self.waiting.front() {
            let length = *bytes as usize;
            let more = self.bytes > 0;
            if more && (self.bytes + length > BUFFERS || !self.pool.is_plentiful()) {
                break;
            }
            let needed = memory(length);
            let granted = self.granted.take().filter(|share| share.bytes() >= needed.bytes);
            let Some(share) = granted.or_else(|| self.pool.try_take(needed)) else { break };
            self.bytes += length;
            let transfer = Transfer {
                sqe: *sqe,
                length: *bytes,
                data: Vec::new(),
                share,
                asked: 0,
                outstanding: 0,
                intact: true,
            };
            let number = self.next_transfer;
            self.next_transfer += 1;
            self.transfers.insert(number, transfer);
            self.waiting.pop_front();
            self.ask(number, &mut ready);
        }
        ready
    }

    /// Takes back the data of an executed command.
    pub(crate) fn executed(&mut self, data: Cow<'_, [u8]>) {
        if let Cow::Owned(mut data) = data {
            data.clear();
            self.pool.keep_buffer(data);
        }
    }

    fn ask(&mut self, number: u64, ready: &mut Vec<Ready>) {
        let Some(transfer) = self.transfers.get_mut(&number) else { return };
        let length = transfer.length;
        while transfer.asked < length && transfer.outstanding < self.limit {
            let left = length - transfer.asked;
            let part = if self.limit > 1 { left.min(PART) } else { left };
            while self.parts.contains_key(&self.next_ttag) {
                self.next_ttag = self.next_ttag.wrapping_add(1);
            }
            let ttag = self.next_ttag;
            self.next_ttag = ttag.wrapping_add(1);
            let (at, end) = (transfer.asked, transfer.asked + part);
            self.parts.insert(ttag, Part { transfer: number, at, end });
            ready.push(Ready { cid: transfer.sqe.cid.get(), ttag, offset: at, length: part });
            transfer.asked = end;
            transfer.outstanding += 1;
        }
    }

    /// Takes data from the host. Returns the next requests, and the command that the data completes. After executing
    /// that, call [`Self::ready`] for the requests of waiting commands.
    pub(crate) fn data<'a>(
        &mut self,
        pdu: &DataPdu,
        data: &'a [u8],
        intact: bool,
    ) -> Result<(Vec<Ready>, Option<Complete<'a>>), Fatal> {
        let ttag = pdu.ttag.get();
        let part = self.parts.get_mut(&ttag).ok_or(header_fault(offset_of!(DataPdu, ttag)))?;
        let number = part.transfer;
        let transfer =
            self.transfers.get_mut(&number).ok_or(header_fault(offset_of!(DataPdu, ttag)))?;
        if pdu.cccid != transfer.sqe.cid {
            return Err(header_fault(offset_of!(DataPdu, cccid)));
        }
        if pdu.datal.get() as usize != data.len() || data.is_empty() {
            return Err(header_fault(offset_of!(DataPdu, datal)));
        }
        if pdu.datao.get() != part.at {
            // Within a part, data arrives in order.
            return Err(fatal(FatalError::DATA_OUT_OF_RANGE, 0));
        }
        let length = pdu.datal.get();
        if length > MAX_H2C_DATA {
            return Err(fatal(FatalError::LIMIT_EXCEEDED, 0));
        }
        if length > part.end - part.at {
            return Err(fatal(FatalError::DATA_OUT_OF_RANGE, 0));
        }
        let whole = length == transfer.length;
        if !whole {
            transfer.copy(part.at as usize, data, &self.pool);
        }
        transfer.intact &= intact;
        part.at += length;
        let done = part.at == part.end;
        if PduFlags::from(pdu.header.flags).last() != done {
            return Err(fatal(FatalError::SEQUENCE, 0));
        }
        let mut ready = Vec::new();
        if !done {
            return Ok((ready, None));
        }
        self.parts.remove(&ttag);
        transfer.outstanding -= 1;
        if transfer.outstanding > 0 || transfer.asked < transfer.length {
            self.ask(number, &mut ready);
            return Ok((ready, None));
        }
        let complete = self.transfers.remove(&number).map(|t| {
            self.bytes -= t.length as usize;
            let data = if whole { Cow::Borrowed(data) } else { Cow::Owned(t.data) };
            Complete { sqe: t.sqe, data, share: t.share, intact: t.intact }
        });
        Ok((ready, complete))
    }
}

#[cfg(test)]
mod tests {
    use wafer_nvme::PduHeader;

    use super::*;

    /// Sends an entire part, and returns the command that it completes.
    fn send<'a>(transfers: &mut Transfers, part: Ready, data: &'a [u8]) -> Option<Complete<'a>> {
        let last = PduFlags::new().with_last(true).into_bits();
        let pdu = DataPdu {
            header: PduHeader { flags: last, ..Default::default() },
            cccid: part.cid.into(),
            ttag: part.ttag.into(),
            datao: part.offset.into(),
            datal: (data.len() as u32).into(),
            ..Default::default()
        };
        transfers.data(&pdu, data, true).unwrap().1
    }

    #[test]
    fn parts_may_come_in_any_order() {
        let sqe = Sqe { cid: 7.into(), ..Default::default() };
        let data: Vec<u8> = (0..3 * PART).map(|at| (at % 251) as u8).collect();
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1]] {
            let mut transfers = Transfers::new(4, Arc::default());
            transfers.add(sqe, 3 * PART);
            let parts = transfers.ready();
            assert_eq!(parts.len(), 3);
            let mut complete = order.iter().filter_map(|part| {
                let part = parts[*part];
                let from = part.offset as usize;
                send(&mut transfers, part, &data[from..from + part.length as usize])
            });
            let done = complete.next().unwrap();
            assert!(*done.data == *data && done.intact, "{order:?}");
            assert!(matches!(done.data, Cow::Owned(_)) && complete.next().is_none());
        }
    }

    #[test]
    fn data_that_comes_at_once_is_not_copied() {
        let mut transfers = Transfers::new(1, Arc::default());
        transfers.add(Sqe::default(), PART);
        let parts = transfers.ready();
        let data = vec![5; PART as usize];
        let done = send(&mut transfers, parts[0], &data).unwrap();
        assert!(matches!(done.data, Cow::Borrowed(bytes) if std::ptr::eq(bytes, &data[..])));
    }
}
