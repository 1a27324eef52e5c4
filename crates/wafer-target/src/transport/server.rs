//! The server, which accepts connections and spawns a task for each.

use std::future::{Future as _, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use serde::Serialize;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::link::serve;
use super::log_work;
use super::network::{Listener, Stream as _};
use super::pace::{Pace, Shared};
use wafer_controller::Latch;
use wafer_controller::Subsystem;
use wafer_io::Pool;

/// Limits of a server.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ServerOptions {
    /// Maximum number of connections; further ones are closed immediately.
    pub max_connections: usize,
    /// Time limit for a host to connect its queue, to send the data of a command, and to receive output.
    pub timeout: Duration,
    /// Total size of the buffers of all connections, bytes.
    pub buffers: u64,
}

impl Default for ServerOptions {
    fn default() -> Self {
        ServerOptions {
            max_connections: 4096,
            timeout: Duration::from_secs(30),
            buffers: Pool::DEFAULT,
        }
    }
}

/// A listening server. Its listeners are the ports of the subsystem, numbered from 1.
pub struct Server<L = TcpListener> {
    listeners: Vec<L>,
    options: ServerOptions,
}

impl Server {
    /// Listens on an address; port 0 selects any port. Hosts that connect before [`Self::run`] wait.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub fn bind(address: SocketAddr, options: ServerOptions) -> io::Result<Self> {
        Ok(Server::new(listen(address)?, options))
    }

    /// Listens on a further address, which becomes the next port.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub fn and_bind(mut self, address: SocketAddr) -> io::Result<Self> {
        self.listeners.push(listen(address)?);
        Ok(self)
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(1024)
}

impl<L: Listener> Server<L> {
    /// Creates a server with one listener.
    pub fn new(listener: L, options: ServerOptions) -> Self {
        Server { listeners: vec![listener], options }
    }

    /// Returns the addresses that it listens on, one per port.
    ///
    /// # Errors
    /// The network cannot report them.
    pub fn local_addrs(&self) -> io::Result<Vec<SocketAddr>> {
        self.listeners.iter().map(L::local_addr).collect()
    }

    /// Serves a subsystem, and those that its ports [offer](Subsystem::offer), until `stop` is true. Then ends all
    /// associations and waits for their connections.
    pub async fn run(self, subsystem: Arc<Subsystem>, mut stop: watch::Receiver<bool>) {
        let permits = Arc::new(Semaphore::new(self.options.max_connections));
        let pool = Arc::new(Pool::new(self.options.buffers));
        let pace = Arc::new(Shared::default());
        let mut tasks = JoinSet::new();
        let stopping = Latch::default();
        let offered = subsystem.offered();
        for subsystem in &offered {
            subsystem.set_ports(self.listeners.iter().map(|listener| listener.local_addr().ok()));
        }
        let _working: Vec<_> = offered.iter().map(|s| log_work::start(&s.drive)).collect();
        loop {
            let accepted = tokio::select! {
                // In a fixed order, so that simulated runs are repeatable.
                biased;
                // This also returns if the sender is dropped.
                _ = stop.wait_for(|stop| *stop) => break,
                // Reap finished connections.
                Some(_) = tasks.join_next(), if !tasks.is_empty() => continue,
                accepted = accept(&self.listeners) => accepted,
            };
            let (port, accepted) = accepted;
            let Ok((stream, peer)) = accepted else {
                // The system is out of some resource; wait until others release it.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            let Ok(permit) = Arc::clone(&permits).try_acquire_owned() else {
                tracing::debug!(%peer, "refused: too many connections");
                stream.refuse();
                continue;
            };
            let (subsystem, pool) = (Arc::clone(&subsystem), Arc::clone(&pool));
            let (stopping, timeout) = (stopping.clone(), self.options.timeout);
            let pace = Pace::new(Arc::clone(&pace));
            tasks.spawn(async move {
                let over = serve(stream, port, subsystem, pool, pace, timeout, stopping).await;
                tracing::debug!(%peer, ?over, "connection over");
                drop(permit);
            });
        }
        drop(self.listeners);
        stopping.set();
        for controller in offered.iter().flat_map(|subsystem| subsystem.controllers()) {
            controller.close();
        }
        while tasks.join_next().await.is_some() {}
    }
}

/// Waits for a host to connect, and returns the port and the connection.
async fn accept<L: Listener>(listeners: &[L]) -> (u16, io::Result<(L::Stream, SocketAddr)>) {
    let mut accepting: Vec<_> =
        listeners.iter().map(|listener| Box::pin(listener.accept())).collect();
    poll_fn(|context| {
        for (port, accepting) in (1..).zip(&mut accepting) {
            if let Poll::Ready(accepted) = accepting.as_mut().poll(context) {
                return Poll::Ready((port, accepted));
            }
        }
        Poll::Pending
    })
    .await
}
