//! The memory for the buffers of all connections.
//!
//! It has three parts. The holder of memory of one part may wait for another part, but never in a circle:
//!
//! - Half is for data that hosts have yet to send. A command holds its share until it has been executed.
//! - A quarter is for copies that need all their data at once. The next command of the queue waits until then.
//! - A quarter is for turns: output, and the buffers of commands that compare. A turn waits only for the host to take
//!   the output, and for a limited time. So turns continue, copies end, and commands with data are executed.
//!
//! In addition, it keeps a few recently used buffers for the next commands.
//!
//! Whoever finds a part empty waits in line: tokio's semaphores are first come, first served. A queue that already has
//! memory for data gets more only while half of that part is free.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wafer_controller::MAX_TRANSFER;

/// Bytes per permit.
const UNIT: u64 = 4 << 10;
/// Memory of a turn: the output of [`crate::TURN`] and of one more command, a buffer as long as the longest transfer,
/// and 1 MiB for allocator overhead.
const TURN: u64 = crate::TURN + 2 * MAX_TRANSFER + (1 << 20);
/// Maximum number of buffers kept for the next commands, and maximum length of each in bytes.
const KEPT_BUFFERS: usize = 4;
const KEPT_BYTES: usize = 1 << 20;

/// The memory for the buffers of all connections of a server.
#[derive(Debug)]
pub struct Pool {
    data: Arc<Semaphore>,
    data_units: usize,
    copies: Arc<Semaphore>,
    turns: Arc<Semaphore>,
    buffers: Mutex<Vec<Vec<u8>>>,
}

/// The purpose of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Data that a host has yet to send, and long input buffers.
    Data,
    /// A copy that needs all its data at once.
    Copy,
}

/// Memory that a command needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Its purpose.
    pub purpose: Purpose,
    /// Amount in bytes.
    pub bytes: u64,
}

impl Wanted {
    /// Memory for data.
    pub fn data(bytes: u64) -> Self {
        Wanted { purpose: Purpose::Data, bytes }
    }

    /// Memory for a copy.
    pub fn copy(bytes: u64) -> Self {
        Wanted { purpose: Purpose::Copy, bytes }
    }
}

/// A share of the pool, returned on drop.
#[derive(Debug)]
pub struct Share(OwnedSemaphorePermit);

impl Default for Pool {
    fn default() -> Self {
        Pool::new(Pool::DEFAULT)
    }
}

impl Pool {
    /// Bytes of a pool by default.
    pub const DEFAULT: u64 = 256 << 20;
    /// Bytes of the smallest pool: enough for the longest copy, and for a turn.
    pub const SMALLEST: u64 = 32 << 20;

    /// Creates a pool of `bytes` bytes, at least [`Self::SMALLEST`].
    pub fn new(bytes: u64) -> Self {
        let units = |bytes: u64| (bytes / UNIT).min(Semaphore::MAX_PERMITS as u64) as usize;
        let quarter = units(bytes.max(Pool::SMALLEST) / 4);
        let data_units = 2 * quarter;
        Pool {
            data: Arc::new(Semaphore::new(data_units)),
            data_units,
            copies: Arc::new(Semaphore::new(quarter)),
            turns: Arc::new(Semaphore::new(quarter)),
            buffers: Mutex::default(),
        }
    }

    fn buffers(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an empty buffer, preferably the one used last, which has memory already.
    pub fn take_buffer(&self) -> Vec<u8> {
        self.buffers().pop().unwrap_or_default()
    }

    /// Keeps an empty buffer for reuse, unless there are enough or it is very long.
    pub fn keep_buffer(&self, buffer: Vec<u8>) {
        let mut buffers = self.buffers();
        if buffers.len() < KEPT_BUFFERS && buffer.capacity() <= KEPT_BYTES {
            buffers.push(buffer);
        }
    }

    fn part(&self, purpose: Purpose) -> Arc<Semaphore> {
        Arc::clone(match purpose {
            Purpose::Data => &self.data,
            Purpose::Copy => &self.copies,
        })
    }

    /// Takes memory if some is free and nobody waits for it.
    pub fn try_take(&self, Wanted { purpose, bytes }: Wanted) -> Option<Share> {
        self.part(purpose).try_acquire_many_owned(permits(bytes)).ok().map(Share)
    }

    /// Returns whether a queue may take more than one share.
    pub fn is_plentiful(&self) -> bool {
        self.data.available_permits() > self.data_units / 2
    }

    /// Waits for memory. Never returns `None`, because pools are not closed.
    pub async fn take(self: Arc<Self>, Wanted { purpose, bytes }: Wanted) -> Option<Share> {
        self.part(purpose).acquire_many_owned(permits(bytes)).await.ok().map(Share)
    }

    /// Takes the memory of a turn if some is free and nobody waits for it.
    pub fn try_turn(&self) -> Option<Share> {
        Arc::clone(&self.turns).try_acquire_many_owned(permits(TURN)).ok().map(Share)
    }

    /// Waits for the memory of a turn.
    pub async fn turn(&self) -> Option<Share> {
        Arc::clone(&self.turns).acquire_many_owned(permits(TURN)).await.ok().map(Share)
    }
}

impl Share {
    /// Returns all but `bytes` to the pool.
    pub fn keep(self, bytes: u64) -> Option<Share> {
        let mut permit = self.0;
        permit.split(permit.num_permits().min(permits(bytes) as usize)).map(Share)
    }

    /// Returns its size in bytes.
    pub fn bytes(&self) -> u64 {
        self.0.num_permits() as u64 * UNIT
    }
}

fn permits(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_comes_back_when_it_is_dropped() {
        let pool = Pool::new(0);
        let all = pool.try_take(Wanted::data(16 << 20)).unwrap();
        assert!(pool.try_take(Wanted::data(1)).is_none() && !pool.is_plentiful());
        // Other purposes have their own part.
        assert!(pool.try_take(Wanted::copy(8 << 20)).is_some());
        let rest = all.keep(5000).unwrap();
        assert_eq!(rest.bytes(), 8192);
        assert!(pool.is_plentiful());
        drop(rest);
        assert!(pool.try_take(Wanted::data(16 << 20)).is_some());
    }

    #[test]
    fn a_few_buffers_are_used_again() {
        let pool = Pool::new(0);
        assert_eq!(pool.take_buffer().capacity(), 0);
        let lengths = [KEPT_BYTES + 1, 1 << 10, 2 << 10, 3 << 10, 4 << 10, 5 << 10];
        for length in lengths {
            pool.keep_buffer(Vec::with_capacity(length));
        }
        let again = [(); 5].map(|()| pool.take_buffer().capacity());
        assert_eq!(again, [4 << 10, 3 << 10, 2 << 10, 1 << 10, 0]);
    }

    #[tokio::test]
    async fn who_waits_is_served_before_who_comes_later() {
        let pool = Arc::new(Pool::new(0));
        let held = pool.try_take(Wanted::data(12 << 20)).unwrap();
        let mut waits = Box::pin(Arc::clone(&pool).take(Wanted::data(8 << 20)));
        assert!(once(waits.as_mut()).await.is_none(), "4 MiB are free");
        // There would be room for this one, but it must not overtake the first.
        assert!(pool.try_take(Wanted::data(1 << 20)).is_none());
        drop(held);
        assert!(waits.await.is_some());
    }

    /// Polls a future once.
    async fn once<F: Future + Unpin>(mut future: F) -> Option<F::Output> {
        std::future::poll_fn(|cx| {
            std::task::Poll::Ready(match std::pin::Pin::new(&mut future).poll(cx) {
                std::task::Poll::Ready(done) => Some(done),
                std::task::Poll::Pending => None,
            })
        })
        .await
    }
}
