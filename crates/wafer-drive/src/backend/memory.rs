//! Data in memory, in chunks that are allocated when they are written and freed when they are
//! deallocated as a whole.

use std::io;
use std::sync::{OnceLock, PoisonError, RwLock};

use super::store::Store;

/// Bytes of a chunk.
const CHUNK: u64 = 32 << 10;
/// Chunks of a leaf, which is allocated when the first of them is written.
const LEAF: u64 = 512;

type Chunk = RwLock<Option<Box<[u8]>>>;

pub(crate) struct MemoryStore {
    leaves: Vec<OnceLock<Box<[Chunk]>>>,
}

/// Splits a range by chunk: chunk, offset in it, offset in the range, length.
fn pieces(offset: u64, length: u64) -> impl Iterator<Item = (u64, usize, usize, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        if at == length {
            return None;
        }
        let place = offset + at;
        let (chunk, within) = (place / CHUNK, place % CHUNK);
        let count = (CHUNK - within).min(length - at);
        let piece = (chunk, within as usize, at as usize, count as usize);
        at += count;
        Some(piece)
    })
}

impl MemoryStore {
    /// Makes a store of `size` bytes that allocates nothing but its list of leaves.
    pub(crate) fn new(size: u64) -> io::Result<Self> {
        let leaves = usize::try_from(size.div_ceil(CHUNK * LEAF))
            .map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        Ok(MemoryStore { leaves: (0..leaves).map(|_| OnceLock::new()).collect() })
    }

    fn chunk(&self, chunk: u64) -> Option<&Chunk> {
        let leaf = self.leaves.get((chunk / LEAF) as usize)?.get()?;
        leaf.get((chunk % LEAF) as usize)
    }

    fn chunk_to_write(&self, chunk: u64) -> Option<&Chunk> {
        let leaf = self.leaves.get((chunk / LEAF) as usize)?;
        let leaf = leaf.get_or_init(|| (0..LEAF).map(|_| RwLock::new(None)).collect());
        leaf.get((chunk % LEAF) as usize)
    }
}

// A lock is poisoned only by a panic while bytes were copied, which leaves bytes.
impl Store for MemoryStore {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        for (chunk, within, at, count) in pieces(offset, buffer.len() as u64) {
            let target = &mut buffer[at..at + count];
            let held = self.chunk(chunk).map(|c| c.read().unwrap_or_else(PoisonError::into_inner));
            match held.as_ref().and_then(|held| held.as_ref()) {
                Some(bytes) => target.copy_from_slice(&bytes[within..within + count]),
                None => target.fill(0),
            }
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        for (chunk, within, at, count) in pieces(offset, data.len() as u64) {
            let chunk = self.chunk_to_write(chunk).ok_or(io::ErrorKind::InvalidInput)?;
            let mut held = chunk.write().unwrap_or_else(PoisonError::into_inner);
            let bytes = held.get_or_insert_with(|| vec![0; CHUNK as usize].into_boxed_slice());
            bytes[within..within + count].copy_from_slice(&data[at..at + count]);
        }
        Ok(())
    }

    fn deallocate(&self, offset: u64, length: u64) -> io::Result<()> {
        let mut at = 0;
        while at < length {
            let place = offset + at;
            let (chunk, within) = (place / CHUNK, place % CHUNK);
            let leaf = self.leaves.get((chunk / LEAF) as usize).and_then(OnceLock::get);
            if leaf.is_none() {
                // Nothing was ever written here: go on with the next leaf.
                at += CHUNK * LEAF - place % (CHUNK * LEAF);
                continue;
            }
            let count = (CHUNK - within).min(length - at);
            if let Some(chunk) = self.chunk(chunk) {
                let mut held = chunk.write().unwrap_or_else(PoisonError::into_inner);
                if count == CHUNK {
                    *held = None;
                } else if let Some(bytes) = held.as_mut() {
                    bytes[within as usize..(within + count) as usize].fill(0);
                }
            }
            at += count;
        }
        Ok(())
    }
}
