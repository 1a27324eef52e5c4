//! How fast the host of a connection sends commands, and whether other connections are in use.
//!
//! A fast host that is alone gets a dedicated thread (`direct.rs`), which polls for the next command, because the
//! command arrives sooner than a thread can fall asleep and wake up. The thread polls only while its connection is the
//! only one in use, so that it takes the processor from nobody, and for at most [`LONGEST_POLL`] at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

/// Longest time that a connection polls, and the longest time between commands at which it does.
const LONGEST_POLL: Duration = Duration::from_millis(1);
/// Longest time between commands of a fast host.
pub(super) const QUICK: Duration = Duration::from_millis(10);
/// Consecutive receptions after which a connection counts as the only one in use.
const ALONE: u32 = 16;
/// Maximum commands to wait for without polling after polling in vain.
const MOST_REST: u32 = 32;

/// State shared by the connections of a server.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// Number of connections so far.
    made: AtomicU64,
    /// The number of the connection that last received anything.
    last: AtomicU64,
}

/// The pace of a connection.
pub(super) struct Pace {
    shared: Arc<Shared>,
    number: u64,
    /// Receptions of this connection since another one received anything.
    alone: u32,
    /// Start of the wait for the next command.
    since: Option<Instant>,
    /// Time that the host took for the last command.
    last: Duration,
    /// Whether to poll at all.
    may_poll: bool,
    /// Commands to wait for without polling from now on.
    rest: u32,
    /// The value of `rest` after polling in vain again: doubles each time, and halves when polling succeeds.
    next_rest: u32,
}

impl Pace {
    /// Returns the pace of a new connection.
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let number = shared.made.fetch_add(1, Ordering::Relaxed) + 1;
        // With a single processor, a host on this machine could not send anything during polling.
        let may_poll = available_parallelism().is_ok_and(|n| n.get() > 1);
        Pace {
            shared,
            number,
            alone: 0,
            since: None,
            last: Duration::MAX,
            may_poll,
            rest: 0,
            next_rest: 1,
        }
    }

    /// Starts the wait for the next command.
    pub(super) fn begin(&mut self) {
        self.since = Some(Instant::now());
    }

    /// Ends the wait.
    pub(super) fn received(&mut self) {
        let before = self.shared.last.swap(self.number, Ordering::Relaxed);
        self.alone = if before == self.number { self.alone.saturating_add(1) } else { 0 };
        self.last = self.since.take().map_or(Duration::MAX, |since| since.elapsed());
        self.rest = self.rest.saturating_sub(1);
    }

    /// Restarts counting consecutive receptions.
    pub(super) fn reset(&mut self) {
        self.alone = 0;
    }

    /// Returns whether the connection is the only one in use and its host is fast.
    pub(super) fn is_quick(&self) -> bool {
        self.alone >= ALONE && self.last <= QUICK && self.is_alone()
    }

    /// Returns whether no other connection has received anything since this one did.
    fn is_alone(&self) -> bool {
        self.shared.last.load(Ordering::Relaxed) == self.number
    }

    /// Polls `read` for input if that is promising. Returns its result.
    pub(super) fn poll<T>(&mut self, mut read: impl FnMut() -> Option<T>) -> Option<T> {
        let polls = self.may_poll && self.rest == 0 && self.last <= LONGEST_POLL;
        let since = self.since.filter(|_| polls)?;
        while self.is_alone() {
            if let Some(read) = read() {
                self.next_rest = (self.next_rest / 2).max(1);
                return Some(read);
            }
            if since.elapsed() > LONGEST_POLL {
                self.rest = self.next_rest;
                self.next_rest = (2 * self.next_rest).min(MOST_REST);
                return None;
            }
            std::hint::spin_loop();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the pace of a connection on a machine with a second processor.
    fn connection(shared: &Arc<Shared>) -> Pace {
        Pace { may_poll: true, ..Pace::new(Arc::clone(shared)) }
    }

    /// Has the host send this many commands, the last one fast, however busy the machine is.
    fn receive(pace: &mut Pace, commands: u32) {
        for _ in 0..commands {
            pace.begin();
            pace.received();
        }
        pace.last = LONGEST_POLL;
        pace.begin();
    }

    fn polls(pace: &mut Pace) -> bool {
        pace.poll(|| Some(())).is_some()
    }

    #[test]
    fn only_the_connection_that_is_alone_is_quick_and_only_while_its_host_is() {
        let shared = Arc::new(Shared::default());
        let (mut first, mut second) = (connection(&shared), connection(&shared));
        receive(&mut first, ALONE);
        assert!(!first.is_quick());
        receive(&mut first, 1);
        assert!(first.is_quick() && polls(&mut first));
        // The other connection is used too.
        receive(&mut second, 1);
        assert!(!first.is_quick() && !second.is_quick());
        receive(&mut first, ALONE + 1);
        assert!(first.is_quick());
        first.last = QUICK + LONGEST_POLL;
        assert!(!first.is_quick());
        first.last = QUICK;
        assert!(first.is_quick() && !polls(&mut first), "the thread sleeps meanwhile");
        first.reset();
        assert!(!first.is_quick());
    }

    #[test]
    fn polling_ends_when_another_connection_is_used_or_the_host_takes_its_time() {
        let shared = Arc::new(Shared::default());
        let (mut first, mut second) = (connection(&shared), connection(&shared));
        receive(&mut first, ALONE + 1);
        let mut looks = 0;
        let nothing = first.poll(|| {
            looks += 1;
            receive(&mut second, 1);
            None::<()>
        });
        assert_eq!((nothing, looks), (None, 1));
        // It rests longer each time that polling is in vain.
        for rest in [1, 2, 4, 8, 16, 32, 32] {
            receive(&mut first, ALONE + 1 + rest);
            assert_eq!(first.poll(|| None::<()>), None);
            receive(&mut first, rest - 1);
            assert!(!polls(&mut first), "after {rest}");
        }
        receive(&mut first, 1);
        assert!(polls(&mut first));
        assert_eq!(first.next_rest, 16);
    }
}
