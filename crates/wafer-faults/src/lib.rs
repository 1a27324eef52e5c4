//! A storage that fails on demand and a clock moved by tests, for tests of the drive and its users.
//!
//! # What it is
//! [`FaultyStorage`] keeps files in memory. It loses power, fills up, and fails, tears or refuses operations.
//! [`ManualClock`] is a clock that moves only when told to.
//!
//! # Invariants
//! - Data that [`sync`](wafer_storage::StorageFile::sync) made durable survives a power loss.
//! - After a failed sync, data not yet synced never becomes durable until it is written again: operating
//!   systems mark such pages as clean.
//!
//! # Error model
//! Injected errors are those that a file system returns.
//!
//! # What it does not implement
//! Directories, permissions, and the loss of names: a file created or renamed keeps its name.

mod clock;
mod storage;

pub use clock::ManualClock;
pub use storage::{FaultyStorage, Operation, Verdict};
