//! The network that a server listens on: the operating system's TCP, or a simulated one.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};

/// A source of connections.
pub trait Listener: Send + 'static {
    /// A connection.
    type Stream: Stream;

    /// Waits for a host to connect, and returns its connection and address.
    ///
    /// # Errors
    /// No connection can be established at the moment.
    fn accept(&self) -> impl Future<Output = io::Result<(Self::Stream, SocketAddr)>> + Send;

    /// Returns the address that it listens on.
    ///
    /// # Errors
    /// The network cannot report it.
    fn local_addr(&self) -> io::Result<SocketAddr>;
}

/// A connection: bytes in both directions, in order.
pub trait Stream: AsyncRead + AsyncWrite + Send + Sized + Unpin + 'static {
    /// Returns the address that the host connected to.
    ///
    /// # Errors
    /// The connection is gone.
    fn local_addr(&self) -> io::Result<SocketAddr>;

    /// Sets the options of a new connection, which affect only its performance.
    fn configure(&self) {}

    /// Whether the connection can leave the event queue, which a simulated one cannot.
    const LEAVES_QUEUE: bool = false;

    /// Takes the connection out of the event queue, for a dedicated thread.
    ///
    /// # Errors
    /// The connection cannot leave the queue, and is closed.
    fn into_blocking(self) -> io::Result<std::net::TcpStream> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Returns a connection to the event queue.
    ///
    /// # Errors
    /// The queue does not accept it, and it is closed.
    fn from_blocking(stream: std::net::TcpStream) -> io::Result<Self> {
        drop(stream);
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Prepares closing an unserved connection: bytes that nobody read would turn the close into a reset.
    fn refuse(&self) {}
}

impl Listener for TcpListener {
    type Stream = TcpStream;

    async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        TcpListener::accept(self).await
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        TcpListener::local_addr(self)
    }
}

impl Stream for TcpStream {
    fn local_addr(&self) -> io::Result<SocketAddr> {
        TcpStream::local_addr(self)
    }

    fn configure(&self) {
        let _ = self.set_nodelay(true);
        let keepalive = socket2::TcpKeepalive::new().with_time(Duration::from_secs(60));
        let _ = socket2::SockRef::from(self).set_tcp_keepalive(&keepalive);
    }

    const LEAVES_QUEUE: bool = true;

    fn into_blocking(self) -> io::Result<std::net::TcpStream> {
        let stream = self.into_std()?;
        stream.set_nonblocking(false)?;
        Ok(stream)
    }

    fn from_blocking(stream: std::net::TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        TcpStream::from_std(stream)
    }

    fn refuse(&self) {
        let _ = self.try_read(&mut [0; 256]);
    }
}
