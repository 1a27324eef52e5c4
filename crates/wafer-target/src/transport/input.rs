//! Unconsumed input of a connection.

use wafer_io::{Pool, Share, Wanted};

use super::pdu::{MAX_CAPSULE, MAX_PDU};

/// Bytes read at a time while a host sends requested data or a lot of input: a complete PDU of the longest kind, or a
/// batch of short ones.
pub(super) const INPUT: usize = MAX_PDU.next_power_of_two();
/// Bytes read at a time otherwise: any PDU other than requested data.
const SMALL_INPUT: usize = MAX_CAPSULE;

/// Unconsumed bytes from the host.
pub(super) struct Input {
    buffer: Vec<u8>,
    taken: usize,
    filled: usize,
    /// Whether the last read filled the buffer.
    busy: bool,
    /// Memory of a large buffer, unless it is part of the memory of requested data.
    share: Option<Share>,
}

impl Input {
    pub(super) fn new() -> Self {
        Input { buffer: vec![0; SMALL_INPUT], taken: 0, filled: 0, busy: false, share: None }
    }

    /// Resizes the buffer for the next read.
    pub(super) fn fit(&mut self, pool: &Pool, data: bool) {
        if self.busy && !data && self.share.is_none() && pool.is_plentiful() {
            self.share = pool.try_take(Wanted::data((INPUT - SMALL_INPUT) as u64));
        }
        let large = data || self.share.is_some();
        if large && self.buffer.len() < INPUT {
            self.buffer.resize(INPUT, 0);
        } else if !self.busy
            && !data
            && self.filled <= SMALL_INPUT
            && self.buffer.len() > SMALL_INPUT
        {
            self.buffer.truncate(SMALL_INPUT);
            self.buffer.shrink_to_fit();
            self.share = None;
        }
    }

    pub(super) fn has_room(&self) -> bool {
        self.filled < self.buffer.len()
    }

    pub(super) fn room(&mut self) -> &mut [u8] {
        &mut self.buffer[self.filled..]
    }

    pub(super) fn add(&mut self, count: usize) {
        self.filled += count;
        self.busy = self.filled >= SMALL_INPUT;
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[self.taken..self.filled]
    }

    pub(super) fn take(&mut self, count: usize) {
        self.taken += count;
    }

    /// Moves the unconsumed bytes to the front.
    pub(super) fn compact(&mut self) {
        self.buffer.copy_within(self.taken..self.filled, 0);
        self.filled -= self.taken;
        self.taken = 0;
    }
}
