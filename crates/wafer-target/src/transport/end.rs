//! How a connection ends, inside or outside the event queue.

use std::io;

use wafer_controller::Latch;

use super::connection::{Connection, Over};

/// Why a connection ended.
#[derive(Debug)]
pub(super) enum End {
    /// By the protocol.
    Over(#[allow(dead_code, reason = "shown in the log")] Over),
    /// The host closed it.
    Closed,
    /// The host was too slow.
    TimedOut,
    /// Its controller was removed, an operator dropped it, or the server is stopping.
    Stopped,
    /// The keep alive timer of its controller expired.
    KeepAlive,
    /// I/O failed.
    Io(#[allow(dead_code, reason = "shown in the log")] io::Error),
}

/// Returns whether something other than the connection itself has ended it.
pub(super) fn is_ended(connection: &Connection, stop: &Latch) -> bool {
    let closed = connection.queue().is_some_and(|(controller, _)| controller.is_closed());
    closed || connection.faults().0.is_set() || stop.is_set()
}
