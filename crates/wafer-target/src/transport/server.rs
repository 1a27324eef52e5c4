//! The server: listens, and gives each connection a task.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::link::serve;
use super::log_work;
use super::network::{Listener, Stream as _};
use crate::controller::Subsystem;
use crate::latch::Latch;
use crate::pool::Pool;

/// Limits of a server.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ServerOptions {
    /// Maximum number of connections; further ones are closed at once.
    pub max_connections: usize,
    /// Time limit for a host to connect its queue, to send the data of a command, and to receive output.
    pub timeout: Duration,
    /// Bytes of the buffers of all connections together.
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

/// A listening server.
pub struct Server<L = TcpListener> {
    listener: L,
    options: ServerOptions,
}

impl Server {
    /// Listens on an address; port 0 is any. Hosts that connect before [`Self::run`] wait.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub fn bind(address: SocketAddr, options: ServerOptions) -> io::Result<Self> {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        Ok(Server::new(socket.listen(1024)?, options))
    }
}

impl<L: Listener> Server<L> {
    /// Makes a server of a listener.
    pub fn new(listener: L, options: ServerOptions) -> Self {
        Server { listener, options }
    }

    /// Returns the address that it listens on.
    ///
    /// # Errors
    /// The network cannot report it.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves a subsystem until `stop` is true, then ends all associations and waits for their connections.
    pub async fn run(self, subsystem: Arc<Subsystem>, mut stop: watch::Receiver<bool>) {
        let permits = Arc::new(Semaphore::new(self.options.max_connections));
        let pool = Arc::new(Pool::new(self.options.buffers));
        let mut tasks = JoinSet::new();
        let stopping = Latch::default();
        let _working = log_work::start(&subsystem.drive);
        loop {
            let accepted = tokio::select! {
                // In a fixed order, so that a simulated run can be repeated.
                biased;
                // Or its sender is gone.
                _ = stop.wait_for(|stop| *stop) => break,
                // Reaps finished connections.
                Some(_) = tasks.join_next(), if !tasks.is_empty() => continue,
                accepted = self.listener.accept() => accepted,
            };
            let Ok((stream, peer)) = accepted else {
                // Out of some resource of the system, until others give it back.
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
            tasks.spawn(async move {
                let over = serve(stream, subsystem, pool, timeout, stopping).await;
                tracing::debug!(%peer, ?over, "connection over");
                drop(permit);
            });
        }
        drop(self.listener);
        stopping.set();
        for controller in subsystem.controllers() {
            controller.close();
        }
        while tasks.join_next().await.is_some() {}
    }
}
