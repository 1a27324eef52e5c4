//! A small NVMe/TCP initiator for tests and benchmarks.
//!
//! # What it is
//! [`Queue`] is one connection: it connects, sends commands, and returns completions. [`Host`] has an admin queue and
//! creates I/O queues. `wafer-load` is a load generator built on them.
//!
//! # Architecture
//! - `protocol.rs`: PDUs and outstanding commands, without I/O; simulated hosts use it directly. `queue.rs`: the same
//!   over a blocking socket; [`Queue::submit`] writes to a buffer, [`Queue::complete`] reads.
//! - `host.rs`: connecting, enabling, admin commands. `authenticate.rs`: authentication. `admin.rs`, `command.rs`: the
//!   commands.
//! - `load.rs`: random reads and writes at a queue depth, with measurements.
//!
//! # Invariants
//! Every completion belongs to an outstanding command. Lengths, offsets and digests of the controller's PDUs are
//! checked.
//!
//! # Error model
//! [`HostError`]. A status other than success is a result, not an error, unless the function documents
//! otherwise.
//!
//! # What it does not implement
//! TLS, reconnecting, automatic keep alive, and asynchronous I/O.

mod admin;
mod authenticate;
mod command;
mod host;
mod load;
mod options;
mod protocol;
mod queue;
mod stamps;

pub use admin::Admin;
pub use command::{Io, copy_ranges};
pub use host::Host;
pub use load::{Load, LoadResult, Pattern};
pub use options::{Credentials, HostOptions};
pub use protocol::{Completion, HostError, Protocol, QueueOptions};
pub use queue::Queue;
