//! An NVMe/TCP target with Flexible Data Placement over a drive of the device model.
//!
//! # What it is
//! [`wafer_controller::Subsystem`] gives a [`Drive`](wafer_drive::Drive) NVMe controllers. [`transport::Server`] lets
//! hosts connect to them over TCP, and [`control`] lets an operator inject faults.
//!
//! # Architecture
//! ```text
//! host ==TCP==> transport/link.rs        moves bytes, keeps time
//!               transport/connection.rs  bytes to PDUs: no input or output, what fuzzers drive
//!               transport/queue/         capsules to commands and back, digests, Ready to Transfer
//!               wafer_controller         admin commands, log pages, features: checked, then executed
//!               wafer_io                 I/O commands, the same, and the memory for their buffers
//! operator =====> control/               faults to inject, as JSON lines
//!               wafer_drive              counts in the device, moves data, records, saves
//! ```
//! The device is behind one lock. Each connection collects what a batch of commands has it count and applies
//! that in one go, before the host hears of any of them; data moves without the lock.
//!
//! # Invariants
//! - Counters are those of the commands in the order in which the device got them, which is the order in
//!   captures and in the journal: replaying either gives the same counters.
//! - A completed Flush means that data and journal are in the file.
//! - Memory is bounded whatever hosts send: a [`Pool`](wafer_io::Pool) has the buffers of all connections, and each connection has
//!   less than 256 KiB beside it. A few buffers of 1 MiB at most are kept for the next commands.
//! - A turn of a queue moves 3 MiB at most, about a millisecond without the medium; a command that takes longer is
//!   executed in slices.
//! - A host that breaks the protocol loses its connection and disturbs no other.
//!
//! # Error model
//! A command fails with a [`Failure`](wafer_controller::Failure), whose status goes on the wire, with the location of the
//! field into the error log. A PDU that breaks the protocol ends the connection with a Terminate Connection
//! Request. Nothing that comes from a host panics.
//!
//! # What it does not implement
//! [`wafer_controller::support`] lists the commands, log pages and features that have a handler. Beside those that it lacks:
//! - TLS, and transports other than TCP.
//! - Time: commands take as long as the machine needs. Reclaim unit time limits.
//! - Metadata and protection information, zoned namespaces.
//! - Reordering or priorities among the commands of a queue: each is done before the next is looked at.

pub mod control;
#[doc(hidden)]
pub mod fuzzing;
pub mod transport;
