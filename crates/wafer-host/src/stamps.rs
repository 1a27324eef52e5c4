//! Verifiable data of a load: each block begins with its address and a serial number, and the last serial number
//! written to every address is remembered.

use std::collections::BTreeMap;

use crate::command::Io;
use crate::protocol::HostError;
use crate::queue::Queue;

/// The result of reading everything back.
#[derive(Clone, Copy, Default)]
pub(crate) struct Verified {
    /// Slots read.
    pub(crate) read: u64,
    /// Number of those whose data was not the data written last.
    pub(crate) wrong: u64,
}

/// The stamps of one connection, which owns every `step`-th slot starting at `number`.
pub(crate) struct Stamps {
    number: u64,
    step: u64,
    /// Logical blocks of a slot.
    blocks: u32,
    serial: u64,
    /// Serial number last written to each slot; 0 means never written.
    pub(crate) last: Vec<u64>,
    busy: Vec<bool>,
    /// Slot of each outstanding command.
    pub(crate) of_cid: BTreeMap<u16, u64>,
}

impl Stamps {
    pub(crate) fn new(number: u64, step: u64, own: u64, blocks: u32) -> Self {
        Stamps {
            number,
            step,
            blocks,
            serial: 0,
            last: vec![0; own as usize],
            busy: vec![false; own as usize],
            of_cid: BTreeMap::new(),
        }
    }

    /// Stamps `data` for the first idle slot starting at the connection's `own`-th, and returns the slot, or `None` if
    /// all are being written.
    pub(crate) fn stamp(&mut self, own: u64, data: &mut [u8]) -> Option<u64> {
        let own = own as usize;
        let all = self.last.len();
        let free = (own..all).chain(0..own).find(|at| !self.busy[*at])?;
        self.serial += 1;
        self.last[free] = self.serial;
        self.busy[free] = true;
        let slot = self.slot(free);
        let size = data.len() / self.blocks as usize;
        for (block, bytes) in data.chunks_exact_mut(size).enumerate() {
            bytes[..16].copy_from_slice(&self.expected(slot, block, self.serial));
        }
        Some(slot)
    }

    fn slot(&self, own: usize) -> u64 {
        own as u64 * self.step + self.number
    }

    fn expected(&self, slot: u64, block: usize, serial: u64) -> [u8; 16] {
        let lba = slot * u64::from(self.blocks) + block as u64;
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&lba.to_le_bytes());
        bytes[8..].copy_from_slice(&serial.to_le_bytes());
        bytes
    }

    pub(crate) fn completed(&mut self, cid: u16) {
        if let Some(slot) = self.of_cid.remove(&cid) {
            self.busy[(slot / self.step) as usize] = false;
        }
    }

    /// Reads every written slot and compares its stamps.
    pub(crate) fn verify(
        &self,
        queue: &mut Queue,
        io: Io,
        bytes: usize,
    ) -> Result<Verified, HostError> {
        let mut verified = Verified::default();
        let size = bytes / self.blocks as usize;
        for (own, serial) in self.last.iter().enumerate().filter(|(_, serial)| **serial > 0) {
            let slot = self.slot(own);
            let read =
                queue.execute(io.read(slot * u64::from(self.blocks), self.blocks), &[], bytes)?;
            let right = read.status.is_success()
                && read.data.len() == bytes
                && (read.data.chunks_exact(size).enumerate())
                    .all(|(block, data)| data[..16] == self.expected(slot, block, *serial));
            verified.read += 1;
            verified.wrong += u64::from(!right);
        }
        Ok(verified)
    }
}
