//! Moves the bytes of one connection.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::time::{Instant, sleep_until, timeout};

use super::connection::{Connection, Over};
use super::network::Stream;
use super::pdu::MAX_PDU;
use crate::controller::{Controller, Subsystem};
use crate::latch::Latch;

/// Bytes read at a time: a whole PDU of the longest kind, and a batch of short ones.
const INPUT: usize = MAX_PDU.next_power_of_two();
/// Output buffers longer than this are given back when they are empty.
const KEPT_OUTPUT: usize = 256 << 10;

/// Why a connection ended.
#[derive(Debug)]
pub(super) enum End {
    /// By the protocol.
    Over(#[allow(dead_code, reason = "shown in the log")] Over),
    /// The host closed it.
    Closed,
    /// The host was too slow.
    TimedOut,
    /// Its controller is gone, or the server stops.
    Stopped,
    /// The keep alive timer of its controller expired.
    KeepAlive,
    /// Input or output failed.
    Io(#[allow(dead_code, reason = "shown in the log")] std::io::Error),
}

/// Serves a connection to its end. `limit` is [`ServerOptions::timeout`](super::ServerOptions::timeout).
pub(super) async fn serve(
    mut stream: impl Stream,
    subsystem: Arc<Subsystem>,
    limit: Duration,
    stop: Latch,
) -> End {
    stream.configure();
    let local = stream.local_addr().map(|a| a.to_string()).unwrap_or_default();
    // A runtime of one thread has no other thread to hand its tasks to.
    let threads = Handle::current().runtime_flavor() != RuntimeFlavor::CurrentThread;
    let blocks = threads && subsystem.drive.may_block();
    let mut connection = Connection::new(subsystem, local);
    let mut input = vec![0; INPUT];
    let (mut filled, mut out) = (0, Vec::new());
    let mut heard = Instant::now();
    loop {
        let controller = connection.queue().map(|(c, qid)| (Arc::clone(c), qid));
        // A host may be silent for as long as it likes, once it is connected and owes nothing.
        let deadline = (controller.is_none() || connection.waits_for_data()).then(|| heard + limit);
        let event = tokio::select! {
            // In a fixed order, so that a simulated run can be repeated.
            biased;
            () = stop.wait() => return End::Stopped,
            event = wait(controller.as_ref(), deadline) => event,
            read = stream.read(&mut input[filled..]) => match read {
                Ok(0) => return End::Closed,
                Ok(count) => Event::Read(count),
                Err(error) => return End::Io(error),
            },
        };
        match event {
            Event::Read(count) => {
                filled += count;
                heard = Instant::now();
            }
            Event::Wake => {}
            Event::TimedOut => return End::TimedOut,
            Event::Closed => return End::Stopped,
            Event::KeepAlive => {
                if let Some((controller, _)) = &controller {
                    tracing::info!(cntlid = controller.cntlid, "keep alive timer expired");
                    controller.close();
                }
                return End::KeepAlive;
            }
        }
        let mut taken = 0;
        loop {
            let mut work = || connection.receive(&input[taken..filled], &mut out);
            // Others must not wait for a file.
            let result = if blocks { tokio::task::block_in_place(work) } else { work() };
            connection.events(&mut out);
            if !out.is_empty() {
                match timeout(limit, stream.write_all(&out)).await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => return End::Io(error),
                    Err(_) => return End::TimedOut,
                }
                out.clear();
                out.shrink_to(KEPT_OUTPUT);
            }
            match result {
                Ok(0) => break,
                Ok(count) => taken += count,
                Err(over) => {
                    let _ = timeout(limit, finish(&mut stream)).await;
                    return End::Over(over);
                }
            }
        }
        input.copy_within(taken..filled, 0);
        filled -= taken;
    }
}

/// Ends sending, and waits for the host to end: a connection closed with data unread is reset, and the
/// host might not see the last PDU.
async fn finish(stream: &mut impl Stream) -> std::io::Result<()> {
    stream.shutdown().await?;
    let mut rest = [0; 4096];
    for _ in 0..256 {
        if stream.read(&mut rest).await? == 0 {
            break;
        }
    }
    Ok(())
}

enum Event {
    Read(usize),
    Wake,
    Closed,
    TimedOut,
    KeepAlive,
}

/// Waits for anything but data.
async fn wait(controller: Option<&(Arc<Controller>, u16)>, deadline: Option<Instant>) -> Event {
    let timed_out = async {
        match deadline {
            Some(at) => sleep_until(at).await,
            None => std::future::pending().await,
        }
    };
    let Some((controller, qid)) = controller else {
        timed_out.await;
        return Event::TimedOut;
    };
    let admin = *qid == 0;
    tokio::select! {
        biased;
        () = timed_out => Event::TimedOut,
        () = controller.closed() => Event::Closed,
        () = controller.wake.notified(), if admin => Event::Wake,
        () = expired(controller), if admin => Event::KeepAlive,
    }
}

/// Waits until the controller's keep alive timer has expired.
async fn expired(controller: &Controller) {
    loop {
        match controller.deadline() {
            None => tokio::time::sleep(Duration::from_secs(1)).await,
            Some(deadline) if deadline <= Instant::now() => return,
            Some(deadline) => sleep_until(deadline).await,
        }
    }
}
