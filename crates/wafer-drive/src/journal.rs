//! The commands applied since the last checkpoint, in a memory-mapped file.
//!
//! A stored record survives a kill of the process. The records before the last [`Journal::sync`] also survive a
//! loss of power. Each record carries a check over itself, its position and the generation, which excludes
//! records of earlier generations and torn ones.

use std::io;

use wafer_interface::{Command, NsId, Op, Placement};
use wafer_nvme::crc32c;

use crate::storage::{SharedMemory, StorageFile};

const MAGIC: [u8; 8] = *b"WAFERJNL";
const HEADER: usize = 64;
const RECORD: usize = 24;

/// An open journal.
pub(super) struct Journal {
    map: Box<dyn SharedMemory>,
    generation: u64,
    next: usize,
    capacity: usize,
}

impl Journal {
    /// Opens a journal in `file`, with room for about `bytes` of records.
    pub(super) fn open(file: &dyn StorageFile, bytes: u64) -> io::Result<Self> {
        file.set_len(file.len()?.max(HEADER as u64 + bytes))?;
        let map = file.map()?;
        let capacity = (map.bytes().len() - HEADER) / RECORD;
        Ok(Journal { map, generation: 0, next: 0, capacity })
    }

    /// Returns the generation, and whether its last server shut down cleanly.
    pub(super) fn header(&self) -> Option<(u64, bool)> {
        let bytes = self.map.bytes();
        if bytes[..8] != MAGIC {
            return None;
        }
        let generation = u64::from_le_bytes(bytes[8..16].try_into().ok()?);
        Some((generation, bytes[16] == 1))
    }

    /// Begins a generation, without records.
    pub(super) fn begin(&mut self, generation: u64) -> io::Result<()> {
        let bytes = self.map.bytes_mut();
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..16].copy_from_slice(&generation.to_le_bytes());
        self.generation = generation;
        self.next = 0;
        self.set_clean(false)
    }

    /// Stores whether the server shut down cleanly.
    pub(super) fn set_clean(&mut self, clean: bool) -> io::Result<()> {
        self.map.bytes_mut()[16] = u8::from(clean);
        self.map.sync(HEADER)
    }

    /// Returns the number of records that still fit.
    pub(super) fn room(&self) -> usize {
        self.capacity - self.next
    }

    /// Adds a record; there must be room.
    pub(super) fn push(&mut self, command: &Command) {
        let mut record = [0; RECORD];
        record[..8].copy_from_slice(&command.lba.to_le_bytes());
        record[8..12].copy_from_slice(&command.blocks.to_le_bytes());
        record[12..14].copy_from_slice(&command.placement.0.to_le_bytes());
        record[14] = command.op as u8;
        record[15] = command.namespace.0;
        let check = self.check(self.next, &record);
        record[20..].copy_from_slice(&check.to_le_bytes());
        let at = HEADER + self.next * RECORD;
        self.map.bytes_mut()[at..at + RECORD].copy_from_slice(&record);
        self.next += 1;
    }

    fn check(&self, number: usize, record: &[u8; RECORD]) -> u32 {
        let mut bytes = [0; RECORD + 12];
        bytes[..20].copy_from_slice(&record[..20]);
        bytes[20..28].copy_from_slice(&self.generation.to_le_bytes());
        bytes[28..36].copy_from_slice(&(number as u64).to_le_bytes());
        crc32c(&bytes)
    }

    /// Returns the records of a generation up to the first torn one; more are added after them.
    pub(super) fn read(&mut self, generation: u64) -> Vec<Command> {
        self.generation = generation;
        let mut commands = Vec::new();
        while commands.len() < self.capacity {
            let at = HEADER + commands.len() * RECORD;
            let Ok(record) = <[u8; RECORD]>::try_from(&self.map.bytes()[at..at + RECORD]) else {
                break;
            };
            let sent = u32::from_le_bytes([record[20], record[21], record[22], record[23]]);
            if sent != self.check(commands.len(), &record) {
                break;
            }
            let Some(command) = decode(&record) else { break };
            commands.push(command);
        }
        self.next = commands.len();
        commands
    }

    /// Makes all records survive a loss of power.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.map.sync(HEADER + self.next * RECORD)
    }
}

fn decode(record: &[u8; RECORD]) -> Option<Command> {
    Some(Command {
        lba: u64::from_le_bytes(record[..8].try_into().ok()?),
        blocks: u32::from_le_bytes(record[8..12].try_into().ok()?),
        placement: Placement(u16::from_le_bytes([record[12], record[13]])),
        op: Op::from_code(record[14])?,
        namespace: NsId(record[15]),
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::storage::{Files, Storage as _};

    fn commands(count: u64) -> Vec<Command> {
        (0..count)
            .map(|i| match i % 5 {
                4 => Command::update(NsId(i as u8), Placement(3)),
                _ => Command::write(i * 8, 8, Placement(1)).on(NsId(2)),
            })
            .collect()
    }

    fn open(folder: &Path) -> Journal {
        Journal::open(&*Files.open(&folder.join("journal")).unwrap(), 4096).unwrap()
    }

    #[test]
    fn records_of_the_generation_come_back_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = open(folder.path());
        assert_eq!(journal.header(), None);
        journal.begin(7).unwrap();
        commands(100).iter().for_each(|e| journal.push(e));
        drop(journal);
        let mut journal = open(folder.path());
        assert_eq!(journal.header(), Some((7, false)));
        assert_eq!(journal.read(7), commands(100));
        // A new generation hides what the old one left.
        journal.begin(8).unwrap();
        commands(3).iter().for_each(|e| journal.push(e));
        journal.set_clean(true).unwrap();
        drop(journal);
        let mut journal = open(folder.path());
        assert_eq!(journal.header(), Some((8, true)));
        assert_eq!(journal.read(8), commands(3));
    }

    #[test]
    fn a_torn_record_ends_the_journal() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = open(folder.path());
        journal.begin(1).unwrap();
        commands(50).iter().for_each(|e| journal.push(e));
        journal.map.bytes_mut()[HEADER + 30 * RECORD + 3] ^= 1;
        assert_eq!(journal.read(1), commands(30));
        assert_eq!(journal.room(), 4096 / RECORD - 30);
    }
}
