//! Fused operations of a queue (Base 2.1, 3.4.2): the first command waits for the second, and both for their data.
//!
//! What is held here is outside of the pool, because who holds a share of it must not wait for another one. So it is
//! little: [`PAIRS`] operations of at most [`MAX_DATA`] bytes a command.

use wafer_drive::backend::ATOMIC_BLOCKS;
use wafer_nvme::Sqe;

use crate::controller::Failure;

/// Maximum number of operations of a queue that wait for data.
const PAIRS: usize = 2;
/// Maximum data of a command, bytes: the atomic unit of the longest logical blocks.
pub(crate) const MAX_DATA: u64 = ATOMIC_BLOCKS as u64 * 4096;
/// FUSE of the first command, and of the second.
pub(crate) const FIRST: u8 = 1;
pub(crate) const SECOND: u8 = 2;

/// The data of a command.
pub(crate) enum Data {
    Here(Vec<u8>),
    /// So many bytes, which the host sends apart from the command.
    Later(u32),
    /// There is none, because the command failed.
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
    /// A first command whose second has not come.
    pub(crate) first: Option<Half>,
    /// Controller level resets when it came.
    resets: u64,
    pairs: Vec<[Half; 2]>,
}

impl Fused {
    /// Holds a first command.
    pub(crate) fn hold(&mut self, first: Half, resets: u64) {
        (self.first, self.resets) = (Some(first), resets);
    }

    /// Forgets a first command that came before the last of so many resets: it gets no completion.
    pub(crate) fn reset(&mut self, resets: u64) {
        if self.resets != resets {
            self.first = None;
        }
    }

    /// Returns the number of commands that wait here and not for their data.
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

    /// Takes the data of a command, and returns the operation if it has all of it.
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
