//! A host's end of a connection: the protocol of `wafer-host` on the simulated network.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;
use turmoil::net::TcpStream;
use wafer_host::{Admin, Completion, HostError, HostOptions, Protocol};
use wafer_nvme::{Cc, Property, Sqe};

use crate::network::PORT;

/// Simulated time after which a host gives up on a command.
pub(crate) const PATIENCE: Duration = Duration::from_millis(1_500);

/// A connection with a queue.
pub(crate) struct Link {
    stream: TcpStream,
    protocol: Protocol,
    input: Vec<u8>,
    taken: usize,
}

impl Link {
    /// Connects a queue to the server and returns it with the controller identifier.
    ///
    /// # Errors
    /// The server cannot be reached, or refuses.
    pub(crate) async fn connect(
        options: &HostOptions,
        qid: u16,
        cntlid: u16,
    ) -> Result<(Self, u16), HostError> {
        let stream = timeout(PATIENCE, TcpStream::connect(("server", PORT))).await;
        let stream = stream.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        let protocol = Protocol::new(options.queue);
        let mut link = Link { stream, protocol, input: Vec::new(), taken: 0 };
        while !link.protocol.is_initialized() {
            link.flush().await?;
            link.pdu().await?;
        }
        let (sqe, data) = Admin::connect(options, qid, cntlid, options.queue.entries);
        let done = link.execute(sqe, &data, 0).await?;
        if !done.status.is_success() {
            return Err(HostError::Status { command: "connect", status: done.status });
        }
        Ok((link, done.dw as u16))
    }

    /// Connects an admin queue and enables its controller.
    ///
    /// # Errors
    /// As [`Self::connect`].
    pub(crate) async fn connect_admin(options: &HostOptions) -> Result<(Self, u16), HostError> {
        let (mut link, cntlid) = Link::connect(options, 0, 0xffff).await?;
        link.enable(true).await?;
        Ok((link, cntlid))
    }

    /// Enables or resets the controller.
    ///
    /// # Errors
    /// The connection broke.
    pub(crate) async fn enable(&mut self, enable: bool) -> Result<(), HostError> {
        let cc = Cc::new().with_en(enable).with_iosqes(6).with_iocqes(4);
        let sqe = Admin::property_set(Property::CC, u64::from(cc.into_bits()));
        self.execute(sqe, &[], 0).await.map(|_| ())
    }

    /// Adds a command to the output.
    pub(crate) fn submit(&mut self, sqe: Sqe, send: &[u8], receive: usize) -> u16 {
        self.protocol.submit(sqe, send, receive)
    }

    /// Executes a command and waits for it.
    ///
    /// # Errors
    /// The connection broke, or the command took longer than [`PATIENCE`].
    pub(crate) async fn execute(
        &mut self,
        sqe: Sqe,
        send: &[u8],
        receive: usize,
    ) -> Result<Completion, HostError> {
        let cid = self.submit(sqe, send, receive);
        loop {
            let completion = self.complete().await?;
            if completion.cid == cid {
                return Ok(completion);
            }
        }
    }

    /// Sends pending output and returns the next completion.
    ///
    /// # Errors
    /// The connection broke, or nothing arrived within [`PATIENCE`].
    pub(crate) async fn complete(&mut self) -> Result<Completion, HostError> {
        loop {
            self.flush().await?;
            if let Some(completion) = self.pdu().await? {
                return Ok(completion);
            }
        }
    }

    async fn flush(&mut self) -> Result<(), HostError> {
        let out = self.protocol.output();
        if !out.is_empty() {
            let sent = timeout(PATIENCE, self.stream.write_all(out)).await;
            sent.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
            out.clear();
        }
        Ok(())
    }

    async fn pdu(&mut self) -> Result<Option<Completion>, HostError> {
        loop {
            let have = &self.input[self.taken..];
            if let Some(length) = Protocol::pdu_length(have)?
                && have.len() >= length
            {
                let completion = self.protocol.receive(&have[..length]);
                self.taken += length;
                return completion;
            }
            self.input.drain(..self.taken);
            self.taken = 0;
            let read = timeout(PATIENCE, self.stream.read_buf(&mut self.input)).await;
            if read.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?? == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
        }
    }
}

/// Returns whether the controller ended a connection for a fault. Hosts of the simulation respect the protocol.
pub(crate) fn is_fault(error: &HostError) -> bool {
    matches!(error, HostError::Terminated(_) | HostError::Protocol(_))
}

/// Returns whether a host gave up waiting.
pub(crate) fn is_timeout(error: &HostError) -> bool {
    matches!(error, HostError::Io(error) if error.kind() == io::ErrorKind::TimedOut)
}
