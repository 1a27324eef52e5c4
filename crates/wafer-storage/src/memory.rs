//! Data in memory, in chunks that are allocated when they are written and freed when they are deallocated as a
//! whole.

use std::io;
use std::sync::{OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use smallvec::SmallVec;

use super::store::Store;

/// Bytes of a chunk.
const CHUNK: u64 = 32 << 10;
/// Chunks per leaf, which is allocated when the first of them is written.
const LEAF: u64 = 512;

type Chunk = RwLock<Option<Box<[u8]>>>;
type Locked<'a> = RwLockWriteGuard<'a, Option<Box<[u8]>>>;

fn lock_to_read(chunk: &Chunk) -> RwLockReadGuard<'_, Option<Box<[u8]>>> {
    chunk.read().unwrap_or_else(PoisonError::into_inner)
}

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
    /// Creates a store of `size` bytes that allocates only its list of leaves.
    pub(crate) fn new(size: u64) -> io::Result<Self> {
        let leaves = usize::try_from(size.div_ceil(CHUNK * LEAF))
            .map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        Ok(MemoryStore { leaves: (0..leaves).map(|_| OnceLock::new()).collect() })
    }

    fn chunk(&self, chunk: u64) -> Option<&Chunk> {
        let leaf = self.leaves.get((chunk / LEAF) as usize)?.get()?;
        leaf.get((chunk % LEAF) as usize)
    }

    /// Locks all chunks of a range, in ascending order.
    fn lock_to_write(&self, offset: u64, length: usize) -> io::Result<SmallVec<[Locked<'_>; 2]>> {
        let chunks = pieces(offset, length as u64).map(|piece| self.chunk_to_write(piece.0));
        let held: Option<_> = chunks
            .map(|chunk| chunk.map(|c| c.write().unwrap_or_else(PoisonError::into_inner)))
            .collect();
        Ok(held.ok_or(io::ErrorKind::InvalidInput)?)
    }

    /// Passes the pieces of a range in order: position in the range, length, and bytes, if any were written there.
    fn visit(
        &self,
        offset: u64,
        length: usize,
        mut piece: impl FnMut(usize, usize, Option<&[u8]>),
    ) {
        // Lock all chunks, in ascending order, before reading the first. A chunk without a leaf has no lock. If it gets
        // a leaf in the meantime, somebody may have written, so start over.
        let held = loop {
            let chunks = || pieces(offset, length as u64).map(|piece| self.chunk(piece.0));
            let held: SmallVec<[_; 2]> = chunks().map(|chunk| chunk.map(lock_to_read)).collect();
            if chunks().zip(&held).all(|(chunk, held)| chunk.is_some() == held.is_some()) {
                break held;
            }
        };
        for ((_, within, at, count), held) in pieces(offset, length as u64).zip(&held) {
            let chunk = held.as_ref().and_then(|held| held.as_ref());
            piece(at, count, chunk.map(|bytes| &bytes[within..within + count]));
        }
    }

    fn chunk_to_write(&self, chunk: u64) -> Option<&Chunk> {
        let leaf = self.leaves.get((chunk / LEAF) as usize)?;
        let leaf = leaf.get_or_init(|| (0..LEAF).map(|_| RwLock::new(None)).collect());
        leaf.get((chunk % LEAF) as usize)
    }
}

/// Bytes copied at a time. The C library copies more by an instruction that emulated processors execute byte by byte,
/// which makes 128 KiB take eight times as long.
const COPY: usize = 2048;

fn copy_bytes(to: &mut [u8], from: &[u8]) {
    for (to, from) in to.chunks_mut(COPY).zip(from.chunks(COPY)) {
        to.copy_from_slice(from);
    }
}

/// Copies data to locked chunks.
fn copy(held: &mut [Locked<'_>], offset: u64, data: &[u8]) {
    for ((_, within, at, count), held) in pieces(offset, data.len() as u64).zip(held) {
        let bytes = held.get_or_insert_with(|| vec![0; CHUNK as usize].into_boxed_slice());
        copy_bytes(&mut bytes[within..within + count], &data[at..at + count]);
    }
}

// A lock is poisoned only by a panic during a copy, which leaves valid bytes.
impl Store for MemoryStore {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.visit(offset, buffer.len(), |at, count, bytes| match bytes {
            Some(bytes) => copy_bytes(&mut buffer[at..at + count], bytes),
            None => buffer[at..at + count].fill(0),
        });
        Ok(())
    }

    // Avoids zeroes that the data would overwrite immediately.
    fn append_to(&self, out: &mut Vec<u8>, offset: u64, length: usize) -> io::Result<()> {
        out.reserve(length);
        self.visit(offset, length, |_, count, bytes| match bytes {
            Some(bytes) => bytes.chunks(COPY).for_each(|piece| out.extend_from_slice(piece)),
            None => out.resize(out.len() + count, 0),
        });
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut held = self.lock_to_write(offset, data.len())?;
        copy(&mut held, offset, data);
        Ok(())
    }

    fn compare_and_write(&self, offset: u64, expected: &[u8], data: &[u8]) -> io::Result<bool> {
        let mut held = self.lock_to_write(offset, data.len())?;
        for ((_, within, at, count), held) in pieces(offset, expected.len() as u64).zip(&held) {
            let expected = &expected[at..at + count];
            let equal = match held.as_ref() {
                Some(bytes) => bytes[within..within + count] == *expected,
                None => expected.iter().all(|byte| *byte == 0),
            };
            if !equal {
                return Ok(false);
            }
        }
        copy(&mut held, offset, data);
        Ok(true)
    }

    fn deallocate(&self, offset: u64, length: u64) -> io::Result<()> {
        let mut at = 0;
        while at < length {
            let place = offset + at;
            let (chunk, within) = (place / CHUNK, place % CHUNK);
            let leaf = self.leaves.get((chunk / LEAF) as usize).and_then(OnceLock::get);
            if leaf.is_none() {
                // Nothing was ever written here: continue with the next leaf.
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

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;

    /// Waits until a chunk remains locked.
    fn wait_for_lock(is_free: impl Fn() -> bool) {
        let (mut since, until) = (Instant::now(), Instant::now() + Duration::from_secs(20));
        while since.elapsed() < Duration::from_millis(20) {
            assert!(
                Instant::now() < until,
                "nobody keeps the first chunk while waiting for the second"
            );
            if is_free() {
                since = Instant::now();
            }
        }
    }

    #[test]
    fn all_chunks_of_a_range_are_locked_together() {
        let store = MemoryStore::new(4 * CHUNK).unwrap();
        store.write(0, &[1; 2 * CHUNK as usize]).unwrap();
        let (first, second) = (store.chunk(0).unwrap(), store.chunk(1).unwrap());
        thread::scope(|scope| {
            let held = second.read().unwrap();
            scope.spawn(|| store.write(0, &[2; 2 * CHUNK as usize]).unwrap());
            wait_for_lock(|| first.try_read().is_ok());
            drop(held);
        });
        thread::scope(|scope| {
            let held = second.write().unwrap();
            scope.spawn(|| {
                let mut buffer = vec![0; 2 * CHUNK as usize];
                store.read(0, &mut buffer).unwrap();
                assert_eq!(buffer, [2; 2 * CHUNK as usize]);
            });
            wait_for_lock(|| first.try_write().is_ok());
            drop(held);
        });
    }
}
