//! An NVMe/TCP target with Flexible Data Placement over a drive of the device model.
//!
//! # What it is
//! [`wafer_controller::Subsystem`] gives a [`Drive`](wafer_drive::Drive) NVMe controllers. [`transport::Server`] lets
//! hosts connect to them over TCP, and [`control`] lets an operator inject faults.
//!
//! # Architecture
//! ```text
//! host ==TCP==> transport/link.rs        moves bytes, keeps time
//!               transport/connection.rs  bytes to PDUs, without I/O; driven by fuzzers
//!               transport/queue/         capsules to commands and back, digests, Ready to Transfer
//!               wafer_controller         admin commands, log pages, features: checked, then executed
//!               wafer_io                 I/O commands, likewise, and the memory for their buffers
//! operator =====> control/               faults to inject, as JSON lines
//!               wafer_drive              counts in the device, moves data, records, saves
//! ```
//! The device is behind one lock. Each connection collects the commands of a batch that the device has to count and
//! applies them together, before the host receives any of their completions; data moves without the lock.
//!
//! # Invariants
//! - The device counts commands in the order in which it receives them. Captures and the journal have the same order,
//!   so replaying either yields the same counters.
//! - After a completed Flush, data and journal are in the file.
//! - Memory is bounded whatever hosts send: a [`Pool`](wafer_io::Pool) holds the buffers of all connections, and each
//!   connection has less than 256 KiB in addition. A few buffers of at most 1 MiB are kept for the next commands.
//! - A turn of a queue moves at most 3 MiB, which takes about a millisecond without the medium; longer commands are
//!   executed in slices.
//! - A host that violates the protocol loses its connection and disturbs no other host.
//!
//! # Error model
//! A command fails with a [`Failure`](wafer_controller::Failure), whose status goes on the wire and, with the location
//! of the field, into the error log. A PDU that violates the protocol ends the connection with a Terminate Connection
//! Request. No input from a host causes a panic.
//!
//! # What it does not implement
//! [`wafer_controller::support`] lists the commands, log pages and features that have a handler. Also missing are:
//! - TLS, and transports other than TCP.
//! - Time: commands take as long as the machine needs. Reclaim unit time limits.
//! - Metadata and protection information, zoned namespaces.
//! - Reordering or priorities among the commands of a queue, which are executed one after another.

pub mod control;
#[doc(hidden)]
pub mod fuzzing;
pub mod transport;
