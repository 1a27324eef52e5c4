//! What the device counted since the last checkpoint, in shared memory of a file.
//!
//! A record is in the file's pages as soon as it is stored, whatever becomes of this process; over a loss
//! of power those before the last [`Journal::sync`] are. Each carries a check over itself, its position and
//! the generation, so that what an earlier generation left is not taken for a record, nor one that was
//! written by half.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use memmap2::MmapMut;
use wafer_core::{Command, NsId, Op, Placement};

use crate::transport::crc32c;

const MAGIC: [u8; 8] = *b"WAFERJNL";
const HEADER: usize = 64;
const RECORD: usize = 24;
/// Code of a reclaim unit update; others are those of [`Op`].
const UPDATE: u8 = 4;

/// One thing that changed the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    Command(Command),
    Update(NsId, Placement),
}

/// An open journal.
pub(super) struct Journal {
    map: MmapMut,
    generation: u64,
    next: usize,
    capacity: usize,
}

impl Journal {
    /// Opens or makes the file, with room for about so many bytes of records.
    pub(super) fn open(path: &Path, bytes: u64) -> io::Result<Self> {
        let file: File =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        let length = file.metadata()?.len().max(HEADER as u64 + bytes);
        file.set_len(length)?;
        // SAFETY: the drive's data file is locked for as long as this map lives, and every server of it
        // locks it first: nobody else changes or cuts this file.
        let map = unsafe { MmapMut::map_mut(&file)? };
        let capacity = (map.len() - HEADER) / RECORD;
        Ok(Journal { map, generation: 0, next: 0, capacity })
    }

    /// Whether the last server that used it saved everything and said so, and the generation.
    pub(super) fn header(&self) -> Option<(u64, bool)> {
        if self.map[..8] != MAGIC {
            return None;
        }
        let generation = u64::from_le_bytes(self.map[8..16].try_into().ok()?);
        Some((generation, self.map[16] == 1))
    }

    /// Begins a generation: there are no records.
    pub(super) fn begin(&mut self, generation: u64) -> io::Result<()> {
        self.map[..8].copy_from_slice(&MAGIC);
        self.map[8..16].copy_from_slice(&generation.to_le_bytes());
        self.generation = generation;
        self.next = 0;
        self.set_clean(false)
    }

    /// Says whether a server uses it.
    pub(super) fn set_clean(&mut self, clean: bool) -> io::Result<()> {
        self.map[16] = u8::from(clean);
        self.map.flush_range(0, HEADER)
    }

    /// Records that still fit.
    pub(super) fn room(&self) -> usize {
        self.capacity - self.next
    }

    /// Adds a record; there must be room.
    pub(super) fn push(&mut self, entry: &Entry) {
        let mut record = [0; RECORD];
        let (op, placement, namespace) = match entry {
            Entry::Command(c) => {
                record[..8].copy_from_slice(&c.lba.to_le_bytes());
                record[8..12].copy_from_slice(&c.blocks.to_le_bytes());
                (c.op as u8, c.placement, c.namespace)
            }
            Entry::Update(namespace, placement) => (UPDATE, *placement, *namespace),
        };
        record[12..14].copy_from_slice(&placement.0.to_le_bytes());
        record[14] = op;
        record[15] = namespace.0;
        let check = self.check(self.next, &record);
        record[20..].copy_from_slice(&check.to_le_bytes());
        let at = HEADER + self.next * RECORD;
        self.map[at..at + RECORD].copy_from_slice(&record);
        self.next += 1;
    }

    fn check(&self, number: usize, record: &[u8; RECORD]) -> u32 {
        let mut bytes = [0; RECORD + 12];
        bytes[..20].copy_from_slice(&record[..20]);
        bytes[20..28].copy_from_slice(&self.generation.to_le_bytes());
        bytes[28..36].copy_from_slice(&(number as u64).to_le_bytes());
        crc32c(&bytes)
    }

    /// The records of a generation, up to the first that is not whole; afterwards more can be added.
    pub(super) fn read(&mut self, generation: u64) -> Vec<Entry> {
        self.generation = generation;
        let mut entries = Vec::new();
        while entries.len() < self.capacity {
            let at = HEADER + entries.len() * RECORD;
            let Ok(record) = <[u8; RECORD]>::try_from(&self.map[at..at + RECORD]) else { break };
            let sent = u32::from_le_bytes([record[20], record[21], record[22], record[23]]);
            if sent != self.check(entries.len(), &record) {
                break;
            }
            let Some(entry) = decode(&record) else { break };
            entries.push(entry);
        }
        self.next = entries.len();
        entries
    }

    /// All records survive a loss of power when this returns.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.map.flush_range(0, HEADER + self.next * RECORD)
    }
}

fn decode(record: &[u8; RECORD]) -> Option<Entry> {
    let placement = Placement(u16::from_le_bytes([record[12], record[13]]));
    let namespace = NsId(record[15]);
    let op = match record[14] {
        0 => Op::Write,
        1 => Op::Deallocate,
        2 => Op::Read,
        UPDATE => return Some(Entry::Update(namespace, placement)),
        _ => return None,
    };
    let lba = u64::from_le_bytes(record[..8].try_into().ok()?);
    let blocks = u32::from_le_bytes(record[8..12].try_into().ok()?);
    Some(Entry::Command(Command { lba, blocks, placement, op, namespace }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(count: u64) -> Vec<Entry> {
        (0..count)
            .map(|i| match i % 5 {
                4 => Entry::Update(NsId(i as u8), Placement(3)),
                _ => Entry::Command(Command::write(i * 8, 8, Placement(1)).on(NsId(2))),
            })
            .collect()
    }

    #[test]
    fn records_of_the_generation_come_back_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let mut journal = Journal::open(&path, 4096).unwrap();
        assert_eq!(journal.header(), None);
        journal.begin(7).unwrap();
        entries(100).iter().for_each(|e| journal.push(e));
        drop(journal);
        let mut journal = Journal::open(&path, 4096).unwrap();
        assert_eq!(journal.header(), Some((7, false)));
        assert_eq!(journal.read(7), entries(100));
        // A new generation hides what the old one left.
        journal.begin(8).unwrap();
        entries(3).iter().for_each(|e| journal.push(e));
        journal.set_clean(true).unwrap();
        let mut journal = Journal::open(&path, 4096).unwrap();
        assert_eq!(journal.header(), Some((8, true)));
        assert_eq!(journal.read(8), entries(3));
    }

    #[test]
    fn a_torn_record_ends_the_journal() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let mut journal = Journal::open(&path, 4096).unwrap();
        journal.begin(1).unwrap();
        entries(50).iter().for_each(|e| journal.push(e));
        journal.map[HEADER + 30 * RECORD + 3] ^= 1;
        assert_eq!(journal.read(1), entries(30));
        assert_eq!(journal.room(), 4096 / RECORD - 30);
    }
}
