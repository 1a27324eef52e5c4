//! Moves the bytes of one connection.

use std::future::{Future, ready};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::time::{Instant, sleep_until, timeout};

use super::connection::{Connection, Over};
use super::direct::{Direct, Left};
use super::end::{End, is_ended};
use super::input::Input;
use super::network::Stream;
use super::output::Output;
use super::pace::Pace;
use super::queue::Mailbox;
use wafer_controller::Latch;
use wafer_controller::{Controller, Reached, Subsystem};
use wafer_io::TURN;
use wafer_io::{Pool, Share};

/// Stands for the second command of a fused operation among the numbers of transfers.
const SECOND: u64 = u64::MAX;
/// Stands for the first authentication message; later ones count down from here.
const MESSAGE: u64 = u64::MAX - 1;

/// Serves a connection of a port until it ends. `limit` is [`ServerOptions::timeout`](super::ServerOptions::timeout).
pub(super) async fn serve<S: Stream>(
    mut stream: S,
    port: u16,
    subsystem: Arc<Subsystem>,
    pool: Arc<Pool>,
    mut pace: Pace,
    limit: Duration,
    stop: Latch,
) -> End {
    stream.configure();
    let address = stream.local_addr().map(|a| a.to_string()).unwrap_or_default();
    // A single-threaded runtime has no other thread to hand its tasks to.
    let threads = Handle::current().runtime_flavor() != RuntimeFlavor::CurrentThread;
    let blocks = threads && subsystem.offered().iter().any(|s| s.drive.may_block());
    let mut connection = Connection::new(subsystem, Reached { port, address }, Arc::clone(&pool));
    let mut input = Input::new();
    let mut out = Output::default();
    // When the host's current obligation began: its first commands, the oldest requested data, the second command of a
    // fused operation, or the rest of its authentication.
    let (mut owed, mut since) = (None, Instant::now());
    // Work since others last had their turn.
    let mut spent = 0;
    let mut memory: Option<Pin<Box<dyn Future<Output = Option<Share>> + Send>>> = None;
    loop {
        let controller = connection.queue().map(|(c, qid)| (Arc::clone(c), qid));
        let transfer = connection.oldest_transfer();
        // The data may have arrived already, behind a command that waits for memory.
        let owes = transfer.filter(|_| !connection.is_blocked());
        let owes = owes.or(connection.holds_half().then_some(SECOND));
        let owes = owes.or(connection.owed_message().map(|number| MESSAGE - number));
        if owes != owed {
            (owed, since) = (owes, Instant::now());
        }
        // Once a host is connected and owes nothing, it may be silent indefinitely.
        let deadline = (controller.is_none() || owed.is_some()).then(|| since + limit);
        match connection.wanted() {
            Some(wanted) if memory.is_none() => {
                memory = Some(Box::pin(Arc::clone(&pool).take(wanted)));
            }
            Some(_) => {}
            None => memory = None,
        }
        let (dropped, due) = connection.faults();
        let mailbox = connection.mailbox();
        input.fit(&pool, transfer.is_some());
        let mut left_thread = false;
        if S::LEAVES_QUEUE && threads && pace.is_quick() && connection.expects_command() {
            let socket = match stream.into_blocking() {
                Ok(socket) => socket,
                Err(error) => return End::Io(error),
            };
            let direct = Direct {
                socket: &socket,
                connection: &mut connection,
                input: &mut input,
                out: &mut out,
                pace: &mut pace,
                pool: &pool,
                stop: &stop,
                limit,
            };
            let left = tokio::task::block_in_place(|| direct.serve());
            stream = match S::from_blocking(socket) {
                Ok(stream) => stream,
                Err(error) => return End::Io(error),
            };
            match left {
                Left::Queue => left_thread = true,
                Left::Over(over) => return finish(stream, over, limit, &stop).await,
                Left::Ended(end) => return end,
            }
        }
        let event = tokio::select! {
            // In a fixed order, so that simulated runs are repeatable.
            biased;
            // First handle the input of that thread, and whatever the connection waits for by now.
            () = ready(()), if left_thread => Event::Wake,
            () = stop.wait() => return End::Stopped,
            () = dropped.wait() => return End::Stopped,
            event = wait(controller.as_ref(), deadline) => event,
            () = until(due) => Event::Wake,
            () = arrived(mailbox.as_deref()) => Event::Wake,
            share = granted(&mut memory) => Event::Memory(share),
            read = stream.read(input.room()), if input.has_room() => match read {
                Ok(0) => return End::Closed,
                Ok(count) => Event::Read(count),
                Err(error) => return End::Io(error),
            },
        };
        match event {
            Event::Read(count) => {
                pace.received();
                input.add(count);
            }
            Event::Memory(share) => {
                memory = None;
                if let Some(share) = share {
                    connection.grant(share, out.bytes());
                }
            }
            Event::Wake => {}
            Event::TimedOut if owed == Some(SECOND) => connection.abort_half(out.bytes()),
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
        loop {
            // This is the only memory held while a host does not take its output.
            let share = pool.turn().await;
            // Others must not wait for files, or for the keys of large groups.
            let blocks = blocks || threads && connection.owed_message().is_some();
            let bytes = out.begin(&pool);
            let mut work = || connection.receive(input.bytes(), bytes);
            let result = if blocks { tokio::task::block_in_place(work) } else { work() };
            connection.events(bytes);
            let share = share.and_then(|share| share.keep(bytes.capacity() as u64));
            if !bytes.is_empty() {
                match timeout(limit, stream.write_all(bytes)).await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => return End::Io(error),
                    Err(_) => return End::TimedOut,
                }
            }
            out.sent(&pool);
            drop(share);
            match result {
                Ok(turn) => {
                    input.take(turn.taken);
                    spent += turn.spent;
                    if turn.more || spent >= TURN {
                        // Input that has already arrived must not keep this task running forever.
                        spent = 0;
                        tokio::task::yield_now().await;
                    }
                    if !turn.more {
                        break;
                    }
                    if is_ended(&connection, &stop) {
                        return End::Stopped;
                    }
                }
                Err(over) => return finish(stream, over, limit, &stop).await,
            }
        }
        input.compact();
        pace.begin();
    }
}

/// Waits for memory from the pool if the connection needs any.
async fn granted(
    memory: &mut Option<Pin<Box<dyn Future<Output = Option<Share>> + Send>>>,
) -> Option<Share> {
    match memory {
        Some(memory) => memory.await,
        None => std::future::pending().await,
    }
}

/// Ends a connection after its protocol has ended: waits for the host to close it, for a limited time.
async fn finish(mut stream: impl Stream, over: Over, limit: Duration, stop: &Latch) -> End {
    tokio::select! {
        biased;
        () = stop.wait() => {}
        _ = timeout(limit, drain(&mut stream)) => {}
    }
    End::Over(over)
}

/// Shuts down sending and waits for the host to close: closing a connection with unread data resets it, and the host
/// might not see the last PDU.
async fn drain(stream: &mut impl Stream) -> io::Result<()> {
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
    Memory(Option<Share>),
    Wake,
    Closed,
    TimedOut,
    KeepAlive,
}

/// Waits until a held command is due, or forever without a mailbox.
async fn arrived(mailbox: Option<&Mailbox>) {
    match mailbox {
        Some(mailbox) => mailbox.arrived().await,
        None => std::future::pending().await,
    }
}

/// Waits until a time, or forever without one.
async fn until(time: Option<Instant>) {
    match time {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Waits for any event other than data.
async fn wait(controller: Option<&(Arc<Controller>, u16)>, deadline: Option<Instant>) -> Event {
    let timed_out = until(deadline);
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
