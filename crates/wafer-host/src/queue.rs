//! One connection to a controller over a blocking socket.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use wafer_nvme::{PduHeader, Sqe};

use crate::protocol::{Completion, HostError, MAX_PDU, Protocol, QueueOptions};

/// A connection with a queue.
pub struct Queue {
    stream: TcpStream,
    protocol: Protocol,
    input: Vec<u8>,
    start: usize,
    end: usize,
}

impl Queue {
    /// Connects the transport and exchanges ICReq and ICResp.
    ///
    /// # Errors
    /// The controller cannot be reached, or rejects the parameters.
    pub fn initialize(address: SocketAddr, options: QueueOptions) -> Result<Self, HostError> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        let protocol = Protocol::new(options);
        let mut queue = Queue { stream, protocol, input: vec![0; MAX_PDU], start: 0, end: 0 };
        queue.flush()?;
        queue.pdu()?;
        Ok(queue)
    }

    /// Returns the socket, for tests that break the protocol.
    pub fn stream(&mut self) -> &mut TcpStream {
        &mut self.stream
    }

    /// Returns the number of outstanding commands.
    pub fn outstanding(&self) -> usize {
        self.protocol.outstanding()
    }

    /// Forgets the outstanding commands, after a reset of their controller.
    pub(crate) fn abandon(&mut self) {
        self.protocol.abandon();
    }

    /// Returns whether another command may be submitted.
    pub fn has_room(&self) -> bool {
        self.protocol.has_room()
    }

    /// Queues a command for the next [`Self::flush`] and returns its identifier. `send` is its data, `receive` the
    /// maximum number of bytes that it returns.
    pub fn submit(&mut self, sqe: Sqe, send: &[u8], receive: usize) -> u16 {
        self.protocol.submit(sqe, send, receive)
    }

    /// Sends the submitted commands.
    ///
    /// # Errors
    /// The connection broke.
    pub fn flush(&mut self) -> Result<(), HostError> {
        let out = self.protocol.output();
        if !out.is_empty() {
            self.stream.write_all(out)?;
            out.clear();
        }
        Ok(())
    }

    /// Sends the submitted commands and returns the next completion.
    ///
    /// # Errors
    /// The connection broke, or the controller broke the protocol.
    pub fn complete(&mut self) -> Result<Completion, HostError> {
        self.flush()?;
        loop {
            if let Some(completion) = self.pdu()? {
                return Ok(completion);
            }
        }
    }

    /// Appends all completions that have arrived, after waiting for the first.
    ///
    /// # Errors
    /// As [`Self::complete`].
    pub fn complete_some(&mut self, some: &mut Vec<Completion>) -> Result<(), HostError> {
        some.push(self.complete()?);
        while self.whole_pdu() && self.outstanding() > 0 {
            if let Some(completion) = self.pdu()? {
                some.push(completion);
            }
        }
        Ok(())
    }

    /// Submits one command and waits for it.
    ///
    /// # Errors
    /// As [`Self::complete`].
    pub fn execute(
        &mut self,
        sqe: Sqe,
        send: &[u8],
        receive: usize,
    ) -> Result<Completion, HostError> {
        let cid = self.submit(sqe, send, receive);
        loop {
            let completion = self.complete()?;
            if completion.cid == cid {
                return Ok(completion);
            }
        }
    }

    fn whole_pdu(&self) -> bool {
        let have = &self.input[self.start..self.end];
        matches!(Protocol::pdu_length(have), Ok(Some(length)) if have.len() >= length)
    }

    /// Reads until at least `bytes` bytes are buffered.
    fn fill(&mut self, bytes: usize) -> Result<(), HostError> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        if self.start + bytes > self.input.len() {
            self.input.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        while self.end - self.start < bytes {
            let count = self.stream.read(&mut self.input[self.end..])?;
            if count == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
            self.end += count;
        }
        Ok(())
    }

    /// Takes one PDU, sends the data that it requests, and returns its completion, if any.
    fn pdu(&mut self) -> Result<Option<Completion>, HostError> {
        self.fill(size_of::<PduHeader>())?;
        let length = Protocol::pdu_length(&self.input[self.start..self.end])?.unwrap_or(0);
        self.fill(length)?;
        let completion = self.protocol.receive(&self.input[self.start..self.start + length])?;
        self.start += length;
        self.flush()?;
        Ok(completion)
    }
}
