//! Lines of JSON over a Unix socket.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::execute;
use super::request::{Request, Response};
use wafer_controller::Subsystem;

/// Longest line of a client, bytes.
pub const MAX_LINE: u64 = 256 << 10;
/// Maximum number of concurrent clients; further ones are disconnected immediately.
const MOST_CLIENTS: usize = 8;
/// Time that a client has to send a line, and to take the response.
const PATIENCE: Duration = Duration::from_secs(30);

/// Serves the operators of a subsystem, and of those that its ports offer, forever. Dropping the future ends their
/// connections.
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
            // The system is out of some resource; wait until others release it.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// Serves one client until it ends, is too slow, or sends too long a line.
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

/// Returns the request of a line and the subsystem that its `subsystem` names, which is optional if there is only one.
fn address(line: &[u8], subsystem: &Arc<Subsystem>) -> Result<(Arc<Subsystem>, Request), String> {
    let wrong = |error: serde_json::Error| format!("not a request: {error}");
    let mut object: Map<String, Value> = serde_json::from_slice(line).map_err(wrong)?;
    let asked = object.remove("subsystem");
    let request = serde_json::from_value(object.into()).map_err(wrong)?;
    let offered = subsystem.offered();
    let found = match &asked {
        None if offered.len() == 1 => offered.first(),
        None => None,
        Some(nqn) => offered.iter().find(|s| nqn.as_str() == Some(&s.options.nqn)),
    };
    match found {
        Some(found) => Ok((Arc::clone(found), request)),
        None => {
            let names: Vec<&str> = offered.iter().map(|s| s.options.nqn.as_str()).collect();
            Err(format!("expected `subsystem`, one of: {}", names.join(", ")))
        }
    }
}

/// Executes the request of a line. May wait for the files of the drive.
pub fn answer(line: &[u8], subsystem: &Arc<Subsystem>) -> Response {
    match address(line, subsystem) {
        Ok((subsystem, request)) => execute(&subsystem, request),
        Err(reason) => Response::Refused(reason),
    }
}

async fn respond(line: &[u8], subsystem: &Arc<Subsystem>) -> Response {
    let (line, subsystem) = (line.to_vec(), Arc::clone(subsystem));
    // It may wait for a file.
    let executed = tokio::task::spawn_blocking(move || answer(&line, &subsystem)).await;
    executed.unwrap_or_else(|error| Response::Failed(error.to_string()))
}
