//! Moves the bytes of one connection.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::time::{Instant, sleep_until, timeout};

use super::connection::{Connection, Over};
use super::network::Stream;
use super::pdu::{MAX_CAPSULE, MAX_PDU};
use super::polling::Polling;
use wafer_controller::Latch;
use wafer_controller::{Controller, Reached, Subsystem};
use wafer_io::TURN;
use wafer_io::{Pool, Share, Wanted};

/// Bytes read at a time while a host sends data that it was asked for, or much at a time: a whole PDU of the longest
/// kind, and a batch of short ones.
pub(super) const INPUT: usize = MAX_PDU.next_power_of_two();
/// Bytes read at a time otherwise: any PDU but data that was asked for.
const SMALL_INPUT: usize = MAX_CAPSULE;
/// Output buffers longer than this are given back when they are empty.
const KEPT_OUTPUT: usize = 16 << 10;

/// The second command of a fused operation, beside the numbers of transfers.
const SECOND: u64 = u64::MAX;
/// The first message of its authentication; the others are before it.
const MESSAGE: u64 = u64::MAX - 1;

/// Why a connection ended.
#[derive(Debug)]
pub(super) enum End {
    /// By the protocol.
    Over(#[allow(dead_code, reason = "shown in the log")] Over),
    /// The host closed it.
    Closed,
    /// The host was too slow.
    TimedOut,
    /// Its controller is gone, an operator dropped it, or the server stops.
    Stopped,
    /// The keep alive timer of its controller expired.
    KeepAlive,
    /// Input or output failed.
    Io(#[allow(dead_code, reason = "shown in the log")] io::Error),
}

/// Serves a connection through a port to its end. `limit` is [`ServerOptions::timeout`](super::ServerOptions::timeout).
pub(super) async fn serve(
    mut stream: impl Stream,
    port: u16,
    subsystem: Arc<Subsystem>,
    pool: Arc<Pool>,
    mut polling: Polling,
    limit: Duration,
    stop: Latch,
) -> End {
    stream.configure();
    let address = stream.local_addr().map(|a| a.to_string()).unwrap_or_default();
    // A runtime of one thread has no other thread to hand its tasks to.
    let threads = Handle::current().runtime_flavor() != RuntimeFlavor::CurrentThread;
    let blocks = threads && subsystem.offered().iter().any(|s| s.drive.may_block());
    let mut connection = Connection::new(subsystem, Reached { port, address }, Arc::clone(&pool));
    let mut input = Input::new();
    let mut out = Vec::new();
    // When the host began to owe what it owes: its first commands, the oldest data that it was asked for, the second
    // command of a fused operation, or the rest of its authentication.
    let (mut owed, mut since) = (None, Instant::now());
    // Work since others had their turn.
    let mut spent = 0;
    let mut memory: Option<Pin<Box<dyn Future<Output = Option<Share>> + Send>>> = None;
    loop {
        let controller = connection.queue().map(|(c, qid)| (Arc::clone(c), qid));
        let transfer = connection.oldest_transfer();
        // The data may be here already, behind a command that waits for memory.
        let owes = transfer.filter(|_| !connection.is_blocked());
        let owes = owes.or(connection.holds_half().then_some(SECOND));
        let owes = owes.or(connection.owed_message().map(|number| MESSAGE - number));
        if owes != owed {
            (owed, since) = (owes, Instant::now());
        }
        // A host may be silent for as long as it likes, once it is connected and owes nothing.
        let deadline = (controller.is_none() || owed.is_some()).then(|| since + limit);
        match connection.wanted() {
            Some(wanted) if memory.is_none() => {
                memory = Some(Box::pin(Arc::clone(&pool).take(wanted)));
            }
            Some(_) => {}
            None => memory = None,
        }
        let (dropped, due) = connection.faults();
        input.fit(&pool, transfer.is_some());
        // Only where nothing but a command is waited for.
        let commands = controller.as_ref().is_some_and(|(_, qid)| *qid > 0) && due.is_none();
        let polled = if commands && owed.is_none() && memory.is_none() && input.has_room() {
            polling.poll(|| stream.read_now(input.room()))
        } else {
            None
        };
        let event = tokio::select! {
            // In a fixed order, so that a simulated run can be repeated.
            biased;
            () = stop.wait() => return End::Stopped,
            () = dropped.wait() => return End::Stopped,
            event = wait(controller.as_ref(), deadline) => event,
            () = until(due) => Event::Wake,
            share = granted(&mut memory) => Event::Memory(share),
            read = read(polled, &mut stream, input.room()), if input.has_room() => match read {
                Ok(0) => return End::Closed,
                Ok(count) => Event::Read(count),
                Err(error) => return End::Io(error),
            },
        };
        match event {
            Event::Read(count) => {
                polling.received();
                input.add(count);
            }
            Event::Memory(share) => {
                memory = None;
                if let Some(share) = share {
                    connection.grant(share, &mut out);
                }
            }
            Event::Wake => {}
            Event::TimedOut if owed == Some(SECOND) => connection.abort_half(&mut out),
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
            // Nothing is held for output that a host does not take, but this.
            let share = pool.turn().await;
            // Others must not wait for a file, nor for keys of large groups.
            let blocks = blocks || threads && connection.owed_message().is_some();
            let mut work = || connection.receive(input.bytes(), &mut out);
            let result = if blocks { tokio::task::block_in_place(work) } else { work() };
            connection.events(&mut out);
            let share = share.and_then(|share| share.keep(out.capacity() as u64));
            if !out.is_empty() {
                match timeout(limit, stream.write_all(&out)).await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => return End::Io(error),
                    Err(_) => return End::TimedOut,
                }
                out.clear();
                out.shrink_to(KEPT_OUTPUT);
            }
            drop(share);
            match result {
                Ok(turn) => {
                    input.take(turn.taken);
                    spent += turn.spent;
                    if turn.more || spent >= TURN {
                        // Input that is here already must not keep this task going for ever.
                        spent = 0;
                        tokio::task::yield_now().await;
                    }
                    if !turn.more {
                        break;
                    }
                    let ended = connection.queue().is_some_and(|(c, _)| c.is_closed());
                    if ended || connection.faults().0.is_set() || stop.is_set() {
                        return End::Stopped;
                    }
                }
                Err(over) => {
                    tokio::select! {
                        biased;
                        () = stop.wait() => {}
                        _ = timeout(limit, finish(&mut stream)) => {}
                    }
                    return End::Over(over);
                }
            }
        }
        input.compact();
        polling.begin();
    }
}

/// Returns the bytes that polling has read, or waits for others.
async fn read(
    polled: Option<io::Result<usize>>,
    stream: &mut impl Stream,
    room: &mut [u8],
) -> io::Result<usize> {
    match polled {
        Some(read) => read,
        None => stream.read(room).await,
    }
}

/// Bytes of the host that are not consumed yet.
struct Input {
    buffer: Vec<u8>,
    taken: usize,
    filled: usize,
    /// The last read filled the buffer.
    busy: bool,
    /// For a large buffer; that of a host that sends data it was asked for is part of the data's.
    share: Option<Share>,
}

impl Input {
    fn new() -> Self {
        Input { buffer: vec![0; SMALL_INPUT], taken: 0, filled: 0, busy: false, share: None }
    }

    /// Makes the buffer as large as it should be for the next read.
    fn fit(&mut self, pool: &Pool, data: bool) {
        if self.busy && !data && self.share.is_none() && pool.is_plentiful() {
            self.share = pool.try_take(Wanted::data((INPUT - SMALL_INPUT) as u64));
        }
        let large = data || self.share.is_some();
        if large && self.buffer.len() < INPUT {
            self.buffer.resize(INPUT, 0);
        } else if !self.busy
            && !data
            && self.filled <= SMALL_INPUT
            && self.buffer.len() > SMALL_INPUT
        {
            self.buffer.truncate(SMALL_INPUT);
            self.buffer.shrink_to_fit();
            self.share = None;
        }
    }

    fn has_room(&self) -> bool {
        self.filled < self.buffer.len()
    }

    fn room(&mut self) -> &mut [u8] {
        &mut self.buffer[self.filled..]
    }

    fn add(&mut self, count: usize) {
        self.filled += count;
        self.busy = self.filled >= SMALL_INPUT;
    }

    fn bytes(&self) -> &[u8] {
        &self.buffer[self.taken..self.filled]
    }

    fn take(&mut self, count: usize) {
        self.taken += count;
    }

    /// Moves what is not consumed to the front.
    fn compact(&mut self) {
        self.buffer.copy_within(self.taken..self.filled, 0);
        self.filled -= self.taken;
        self.taken = 0;
    }
}

/// Waits for memory of the pool, if any is wanted.
async fn granted(
    memory: &mut Option<Pin<Box<dyn Future<Output = Option<Share>> + Send>>>,
) -> Option<Share> {
    match memory {
        Some(memory) => memory.await,
        None => std::future::pending().await,
    }
}

/// Ends sending, and waits for the host to end: a connection closed with data unread is reset, and the
/// host might not see the last PDU.
async fn finish(stream: &mut impl Stream) -> io::Result<()> {
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

/// Waits until a time, if there is one.
async fn until(time: Option<Instant>) {
    match time {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Waits for anything but data.
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
