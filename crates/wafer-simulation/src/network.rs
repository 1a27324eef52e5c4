//! The network of the simulated server: turmoil's, with connections that split PDUs into pieces and that die with the
//! machine.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore as _, SeedableRng as _};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use turmoil::net::{TcpListener, TcpStream};
use wafer_target::transport::{Listener, Stream};

use crate::disk::Disk;

/// The port that the server listens on.
pub const PORT: u16 = 4420;

/// A listener of the simulated network.
pub struct SimulatedListener {
    listener: TcpListener,
    disk: Disk,
    accepted: AtomicU64,
}

impl SimulatedListener {
    /// Listens on [`PORT`].
    ///
    /// # Errors
    /// Another server is listening on it.
    pub async fn bind(disk: Disk) -> io::Result<Self> {
        let listener = TcpListener::bind(("0.0.0.0", PORT)).await?;
        Ok(SimulatedListener { listener, disk, accepted: AtomicU64::new(0) })
    }
}

impl Listener for SimulatedListener {
    type Stream = SimulatedStream;

    async fn accept(&self) -> io::Result<(SimulatedStream, SocketAddr)> {
        let (stream, peer) = self.listener.accept().await?;
        let number = self.accepted.fetch_add(1, Ordering::Relaxed);
        let random = Xoshiro256PlusPlus::seed_from_u64(self.disk.fingerprint().0 ^ number);
        let death = Box::pin(self.disk.clone().death());
        let disk = self.disk.clone();
        Ok((SimulatedStream { stream, disk, death, number, random }, peer))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// The server's end of a connection.
pub struct SimulatedStream {
    stream: TcpStream,
    disk: Disk,
    /// Ends the connection with the machine, in an order that does not depend on how tasks are dropped.
    death: Pin<Box<dyn Future<Output = ()> + Send>>,
    number: u64,
    random: Xoshiro256PlusPlus,
}

impl SimulatedStream {
    fn check(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        let dead = self.disk.is_dead() || self.death.as_mut().poll(cx).is_ready();
        if dead { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
    }
}

impl Stream for SimulatedStream {
    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.stream.local_addr()
    }
}

impl AsyncRead for SimulatedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(cx)?;
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        self.disk.witness(0x100 | self.number << 16, &buffer.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for SimulatedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check(cx)?;
        let random = self.random.next_u32();
        let most = if random & 7 == 0 {
            (random >> 3) as usize % bytes.len().max(1) + 1
        } else {
            bytes.len()
        };
        let bytes = &bytes[..most.min(bytes.len())];
        let written = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes))?;
        self.disk.witness(0x200 | self.number << 16, &bytes[..written]);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
