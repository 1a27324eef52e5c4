//! Lines of JSON over a Unix socket.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::execute;
use super::request::{Request, Response};
use wafer_controller::Subsystem;

/// Longest line of a client, bytes.
pub const MAX_LINE: u64 = 16 << 10;
/// Maximum number of clients at a time; further ones are closed at once.
const MOST_CLIENTS: usize = 8;
/// Time that a client has for a line, and to take the response.
const PATIENCE: Duration = Duration::from_secs(30);

/// Serves operators for ever. Their connections end when this is dropped.
pub async fn serve(listener: UnixListener, subsystem: Arc<Subsystem>) {
    let mut clients = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            // Clients that have ended make room first.
            biased;
            Some(_) = clients.join_next(), if !clients.is_empty() => continue,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) if clients.len() < MOST_CLIENTS => {
                clients.spawn(client(stream, Arc::clone(&subsystem)));
            }
            Ok(_) => tracing::debug!("refused: too many clients of the control socket"),
            // Out of some resource of the system, until others give it back.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// Serves one client until it ends, is too slow, or sends a line that is too long.
async fn client(stream: UnixStream, subsystem: Arc<Subsystem>) {
    let (input, mut output) = stream.into_split();
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut bounded = (&mut input).take(MAX_LINE);
        match timeout(PATIENCE, bounded.read_until(b'\n', &mut line)).await {
            Ok(Ok(1..)) => {}
            _ => return,
        }
        let whole = line.last() == Some(&b'\n');
        let response = if whole {
            respond(&line, &subsystem).await
        } else {
            Response::Refused(format!("a request is one line of at most {MAX_LINE} bytes"))
        };
        let Ok(mut text) = serde_json::to_vec(&response) else { return };
        text.push(b'\n');
        let sent = timeout(PATIENCE, output.write_all(&text)).await;
        if !whole || !matches!(sent, Ok(Ok(()))) {
            return;
        }
    }
}

async fn respond(line: &[u8], subsystem: &Arc<Subsystem>) -> Response {
    let request: Request = match serde_json::from_slice(line) {
        Ok(request) => request,
        Err(error) => return Response::Refused(format!("not a request: {error}")),
    };
    let subsystem = Arc::clone(subsystem);
    // It may wait for a file.
    let executed = tokio::task::spawn_blocking(move || execute(&subsystem, request)).await;
    executed.unwrap_or_else(|error| Response::Failed(error.to_string()))
}
