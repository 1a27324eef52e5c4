//! The TCP transport: PDUs, connections, the server.
//!
//! `connection.rs` is the protocol without I/O: bytes in, bytes out. The server moves the bytes; tests and fuzzers call
//! it directly.

mod connection;
mod direct;
mod end;
mod input;
mod link;
mod log_work;
mod network;
mod output;
mod pace;
pub(crate) mod pdu;
mod queue;
mod server;
mod transfer;

pub use connection::{Connection, Over, Turn};
pub use network::{Listener, Stream};
pub use server::{Server, ServerOptions};
