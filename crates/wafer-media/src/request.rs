//! A host command, as the media model sees it.

use wafer_interface::{Command, Op};

use crate::time::Time;

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Data goes to the host.
    Read,
    /// Data comes from the host.
    Write,
    /// Everything written before becomes durable.
    Flush,
    /// No data moves.
    Other,
}

/// A command on its way to the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Chosen by the caller.
    pub ticket: u64,
    /// The time at which the host submits it.
    pub submitted: Time,
    /// Its kind.
    pub kind: Kind,
    /// First page, numbered over all namespaces.
    pub page: u64,
    /// Number of pages that it touches.
    pub pages: u32,
    /// Bytes over the link.
    pub bytes: u64,
    /// Whether a write completes only once it is durable, as with Force Unit Access.
    pub durable: bool,
    /// The submission queue; [`Request::of`] uses queue 0.
    pub queue: u16,
}

impl Request {
    /// Creates the request of a command. `first_page` is the first page of its namespace; a page has `1 << page_shift`
    /// logical blocks.
    pub fn of(
        command: &Command,
        ticket: u64,
        submitted: Time,
        first_page: u64,
        page_shift: u32,
        durable: bool,
    ) -> Self {
        let kind = match command.op {
            Op::Read => Kind::Read,
            Op::Write => Kind::Write,
            Op::Flush => Kind::Flush,
            Op::Deallocate | Op::Update => Kind::Other,
        };
        let from = command.lba >> page_shift;
        let end = command.lba + u64::from(command.blocks) + (1 << page_shift) - 1;
        let moves = matches!(kind, Kind::Read | Kind::Write);
        Request {
            ticket,
            submitted,
            kind,
            page: first_page + from,
            pages: if moves { ((end >> page_shift) - from) as u32 } else { 0 },
            bytes: if moves { command.bytes() } else { 0 },
            durable: durable && kind == Kind::Write,
            queue: 0,
        }
    }
}
