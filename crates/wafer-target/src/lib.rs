//! An NVMe/TCP target with Flexible Data Placement over a drive of the device model.
//!
//! # What it is
//! [`controller::Subsystem`] gives a [`Drive`](wafer_drive::Drive) NVMe controllers. [`transport::Server`] lets
//! hosts connect to them over TCP.
//!
//! # Architecture
//! ```text
//! host ==TCP==> transport/link.rs        moves bytes, keeps time
//!               transport/connection.rs  bytes to PDUs, without input or output: driven by fuzzers
//!               transport/queue.rs       capsules to commands and back, digests, Ready to Transfer
//!               controller/admin.rs      admin commands; also identify.rs, logs.rs, features.rs, namespaces.rs
//!               controller/io/           I/O commands
//!               controller/support.rs    derives Identify and the effects logs from the handlers
//!               wafer_drive              counts in the device, moves data, records, saves
//! ```
//! The device is behind one lock. Each connection collects the commands of a batch and applies them together,
//! before it sends their completions. Data moves without the lock.
//!
//! # Invariants
//! - Captures and the journal list commands in the order in which the device applied them: replaying either
//!   gives the same counters.
//! - A completed Flush means that data and journal are durable.
//! - Memory of a connection is bounded, regardless of what the host sends: one PDU of input, about two
//!   commands' data of output, and [`controller::MAX_TRANSFER`] to 4 MiB of data in flight.
//! - A host that breaks the protocol loses its connection and disturbs no other.
//!
//! # Error model
//! A command fails with a [`controller::Failure`], whose status goes on the wire, with the location of the
//! field into the error log. A PDU that breaks the protocol ends the connection with a Terminate Connection
//! Request. Nothing that comes from a host panics.
//!
//! # What it does not implement
//! [`controller::support_matrix`] lists unsupported commands, log pages and features. Also not implemented:
//! - TLS, authentication, and transports other than TCP.
//! - Latency: commands take as long as the machine needs. Reclaim unit time limits.
//! - Metadata and protection information, zoned namespaces, fused commands, multiple firmware slots.
//! - Reordering or priorities among the commands of a queue: they execute one after the other.

pub mod controller;
#[doc(hidden)]
pub mod fuzzing;
pub mod transport;
