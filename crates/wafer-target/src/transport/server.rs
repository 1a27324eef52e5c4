//! The server: listens, and gives each connection a task.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::link::{serve, stopped};
use crate::controller::Subsystem;
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
pub struct Server {
    listener: TcpListener,
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
        Ok(Server { listener: socket.listen(1024)?, options })
    }

    /// Returns the address that it listens on.
    ///
    /// # Errors
    /// The operating system cannot report it.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves a subsystem until `stop` is true, then ends all associations and waits for their connections.
    pub async fn run(self, subsystem: Arc<Subsystem>, mut stop: watch::Receiver<bool>) {
        let permits = Arc::new(Semaphore::new(self.options.max_connections));
        let pool = Arc::new(Pool::new(self.options.buffers));
        let mut tasks = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                // Reaps finished connections.
                Some(_) = tasks.join_next(), if !tasks.is_empty() => continue,
                () = stopped(&mut stop) => break,
            };
            let Ok((stream, peer)) = accepted else {
                // Out of some resource of the system, until others give it back.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            let Ok(permit) = Arc::clone(&permits).try_acquire_owned() else {
                tracing::debug!(%peer, "refused: too many connections");
                // Unread bytes would turn the close into a reset.
                let _ = stream.try_read(&mut [0; 256]);
                continue;
            };
            let (subsystem, pool) = (Arc::clone(&subsystem), Arc::clone(&pool));
            let (stop, timeout) = (stop.clone(), self.options.timeout);
            tasks.spawn(async move {
                let over = serve(stream, subsystem, pool, timeout, stop).await;
                tracing::debug!(%peer, ?over, "connection over");
                drop(permit);
            });
        }
        drop(self.listener);
        for controller in subsystem.controllers() {
            controller.close();
        }
        while tasks.join_next().await.is_some() {}
    }
}
