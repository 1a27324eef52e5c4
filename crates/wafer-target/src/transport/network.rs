//! The network that a server listens on: TCP of the operating system, or a simulated one.

use std::future::Future;
use std::io::{self, Read as _};
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
    /// No connection can be made at the moment.
    fn accept(&self) -> impl Future<Output = io::Result<(Self::Stream, SocketAddr)>> + Send;

    /// Returns the address that it listens on.
    ///
    /// # Errors
    /// The network cannot report it.
    fn local_addr(&self) -> io::Result<SocketAddr>;
}

/// A connection: bytes in both directions, in order.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static {
    /// Returns the address that the host connected to.
    ///
    /// # Errors
    /// The connection is gone.
    fn local_addr(&self) -> io::Result<SocketAddr>;

    /// Sets the options of a new connection. Without them the connection works, but more slowly.
    fn configure(&self) {}

    /// Whether the connection can be polled: a simulated one has a time of its own.
    const POLLS: bool = false;

    /// Reads input that is here already, without the event queue; `None` if there is none, or it cannot be polled.
    fn read_now(&self, room: &mut [u8]) -> Option<io::Result<usize>> {
        let _ = room;
        None
    }

    /// Prepares the end of a connection that is not served: bytes that nobody read would turn the close into a reset.
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

    const POLLS: bool = true;

    fn read_now(&self, room: &mut [u8]) -> Option<io::Result<usize>> {
        match (&*socket2::SockRef::from(self)).read(room) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            read => Some(read),
        }
    }

    fn refuse(&self) {
        let _ = self.try_read(&mut [0; 256]);
    }
}
