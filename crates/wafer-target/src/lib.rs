//! A drive that real hosts use: an NVMe/TCP target with Flexible Data Placement over the device model.
//!
//! # What it is
//! [`drive::Drive`] is a device model with the data of its namespaces, its events, a capture of what is asked of
//! it, and, with a file, a state that outlives the process. [`controller::Subsystem`] gives it NVMe controllers.
//! [`transport::Server`] lets hosts connect to them over TCP.
//!
//! # Architecture
//! ```text
//! host ==TCP==> transport/link.rs        moves bytes, keeps time
//!               transport/connection.rs  bytes to PDUs: no input or output, what fuzzers drive
//!               transport/queue.rs       capsules to commands and back, digests, Ready to Transfer
//!               controller/              admin.rs, io.rs: what commands mean
//!               drive/                   counts in wafer_core::Device, records, saves
//!               backend/                 keeps the data: none, memory, file
//! ```
//! The device is behind one lock. Each connection collects what a batch of commands has it count and applies
//! that in one go, before the host hears of any of them; data moves without the lock.
//!
//! # Invariants
//! - Counters are those of the commands in the order in which the device got them, which is the order in
//!   captures and in the journal: replaying either gives the same counters.
//! - A completed Flush means that data and journal are in the file.
//! - Memory is bounded for each connection whatever a host sends: one PDU of input, about two commands'
//!   data of output, and [`controller::MAX_TRANSFER`] to 4 MiB of data under way.
//! - A host that breaks the protocol loses its connection and disturbs no other.
//!
//! # Error model
//! A command fails with a [`controller::Failure`], whose status goes on the wire and into the error log. A PDU
//! that must not be ends the connection with a Terminate Connection Request. [`drive::DriveError`] is for
//! whoever starts a server. Nothing that comes from a host or a file panics.
//!
//! # What it does not implement
//! - TLS, authentication, and transports other than TCP.
//! - Time: commands take as long as the machine needs. Reclaim unit time limits.
//! - Metadata and protection information, zoned namespaces, reservations, fused commands, multiple firmware
//!   slots, self-tests, sanitize, telemetry.
//! - Reordering or priorities among the commands of a queue: each is done before the next is looked at.

pub mod backend;
pub mod controller;
pub mod drive;
#[doc(hidden)]
pub mod fuzzing;
pub mod transport;
