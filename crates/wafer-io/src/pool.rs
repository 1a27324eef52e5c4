//! The memory for the buffers of all connections.
//!
//! It has three parts, because who holds memory of one may wait for another, but never in a circle:
//!
//! - Half is for data that hosts are asked for. A command holds its share until it is executed.
//! - A quarter is for copies that need all their data at once. The next command of the queue waits meanwhile.
//! - A quarter is for turns: output, and buffers of commands that compare. A turn waits for nothing but the host that
//!   takes the output, for a limited time. So turns continue, copies end, and commands with data are executed.
//!
//! Beside it are a few buffers that were used last, for the next commands.
//!
//! Who finds a part empty waits in turn: the semaphores of tokio are first come, first served. A queue that has
//! memory for data already gets more only while half of that part is free.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wafer_controller::MAX_TRANSFER;

/// Bytes of a permit.
const UNIT: u64 = 4 << 10;
/// Memory of a turn: the output of [`crate::TURN`] and of one more command, and a buffer as long as the
/// longest transfer. A MiB more is for what the allocator needs beside them.
const TURN: u64 = crate::TURN + 2 * MAX_TRANSFER + (1 << 20);
/// Buffers that are kept for the next commands, at most, and the longest of them, bytes.
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

/// What memory is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Data that a host is asked for, and long input buffers.
    Data,
    /// A copy that needs all its data at once.
    Copy,
}

/// Memory that a command needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// What it is for.
    pub purpose: Purpose,
    /// How much, in bytes.
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

/// A part of the pool. Dropping it gives it back.
#[derive(Debug)]
pub struct Share(OwnedSemaphorePermit);

impl Default for Pool {
    fn default() -> Self {
        Pool::new(Pool::DEFAULT)
    }
}

impl Pool {
    /// Bytes of a pool, if nothing else is asked for.
    pub const DEFAULT: u64 = 256 << 20;
    /// Bytes of the smallest pool: the longest copy has room in it, and a turn.
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

    /// Takes an empty buffer, the one that was used last if there is one: it has memory already.
    pub fn take_buffer(&self) -> Vec<u8> {
        self.buffers().pop().unwrap_or_default()
    }

    /// Keeps an empty buffer for the next who takes one, unless there are enough or it is very long.
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

    /// Takes memory, if there is some and nobody waits for it.
    pub fn try_take(&self, Wanted { purpose, bytes }: Wanted) -> Option<Share> {
        self.part(purpose).try_acquire_many_owned(permits(bytes)).ok().map(Share)
    }

    /// Returns whether a queue may take more than one share.
    pub fn is_plentiful(&self) -> bool {
        self.data.available_permits() > self.data_units / 2
    }

    /// Waits for memory. `None` never comes, because pools are not closed.
    pub async fn take(self: Arc<Self>, Wanted { purpose, bytes }: Wanted) -> Option<Share> {
        self.part(purpose).acquire_many_owned(permits(bytes)).await.ok().map(Share)
    }

    /// Takes the memory of a turn, if there is some and nobody waits for it.
    pub fn try_turn(&self) -> Option<Share> {
        Arc::clone(&self.turns).try_acquire_many_owned(permits(TURN)).ok().map(Share)
    }

    /// Waits for the memory of a turn.
    pub async fn turn(&self) -> Option<Share> {
        Arc::clone(&self.turns).acquire_many_owned(permits(TURN)).await.ok().map(Share)
    }
}

impl Share {
    /// Gives back all but `bytes`.
    pub fn keep(self, bytes: u64) -> Option<Share> {
        let mut permit = self.0;
        permit.split(permit.num_permits().min(permits(bytes) as usize)).map(Share)
    }

    /// Returns the bytes that it stands for.
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
        // Other uses have their own.
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
        // There would be room for this one, but it would keep the first waiting.
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
