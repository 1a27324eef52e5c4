//! A small NVMe/TCP initiator: what tests and benchmarks need of a host, and nothing more.
//!
//! # What it is
//! [`Queue`] is one connection: it connects, sends commands, and returns completions. [`Host`] has an admin
//! queue and makes I/O queues. `wafer-load` is a load generator on top of them.
//!
//! # Architecture
//! - `queue.rs`: PDUs in and out of a blocking socket, with as many commands outstanding as the queue has
//!   entries; [`Queue::submit`] writes to a buffer, [`Queue::complete`] reads.
//! - `host.rs`: connecting, enabling, admin commands. `command.rs`: the commands.
//! - `load.rs`: random reads and writes at a queue depth, measured.
//!
//! # Invariants
//! Every completion is of a command that was submitted and not completed; lengths, offsets and digests
//! of what the controller sends are checked.
//!
//! # Error model
//! [`HostError`]. A status that is not success is a result, not an error, except for the functions
//! that say otherwise.
//!
//! # What it does not implement
//! TLS, authentication, reconnecting, keep alive by itself, and asynchronous input and output.

mod command;
mod host;
mod load;
mod queue;
mod stamps;

pub use command::Io;
pub use host::{Host, HostOptions};
pub use load::{Load, LoadResult, Pattern};
pub use queue::{Completion, HostError, Queue, QueueOptions};
