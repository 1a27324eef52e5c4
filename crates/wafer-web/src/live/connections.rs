//! Connections of the HTTP server, with limits on their number and on silence.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// Time after which a peer that takes no data is disconnected, so that dead viewers do not accumulate.
#[cfg(target_os = "linux")]
const PEER_TIMEOUT: Duration = Duration::from_secs(30);

/// Limits of the server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of connections; further ones are closed immediately.
    pub connections: usize,
    /// Time for a peer to send the header of its first or next request.
    pub silence: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { connections: 256, silence: Duration::from_secs(10) }
    }
}

/// Accepts connections as long as it is polled.
pub(crate) async fn accept(listener: TcpListener, app: Router, limits: Limits) {
    let seats = Arc::new(Semaphore::new(limits.connections));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // The system is out of some resource; wait until others release it.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let Ok(seat) = Arc::clone(&seats).try_acquire_owned() else {
            // Unread bytes would turn the close into a reset.
            let _ = stream.try_read(&mut [0; 1024]);
            continue;
        };
        prepare(&stream);
        let service = TowerToHyperService::new(app.clone());
        tokio::spawn(async move {
            let mut server = http1::Builder::new();
            server.timer(TokioTimer::new()).header_read_timeout(limits.silence);
            // Errors of a connection are its peer's concern.
            let _ = server.serve_connection(TokioIo::new(stream), service).await;
            drop(seat);
        });
    }
}

/// Sets options that the page works without.
fn prepare(stream: &TcpStream) {
    let socket = socket2::SockRef::from(stream);
    let _ = socket.set_tcp_nodelay(true);
    #[cfg(target_os = "linux")]
    let _ = socket.set_tcp_user_timeout(Some(PEER_TIMEOUT));
}
