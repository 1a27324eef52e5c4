//! How quickly the host of a connection sends one command after another, and whether other connections are in use.
//!
//! A host that is quick and alone gets a thread of its own (`direct.rs`), which polls for the next command: it comes sooner
//! than a thread falls asleep and wakes up. The thread polls only while its connection is the only one in use, so that it takes the
//! processor from nobody, and no longer than [`LONGEST_POLL`] at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

/// Longest time that a connection polls, and that its host took for the last command if it does.
const LONGEST_POLL: Duration = Duration::from_millis(1);
/// Longest time that a quick host takes for a command.
pub(super) const QUICK: Duration = Duration::from_millis(10);
/// What a connection receives in a row before it counts as the only one in use.
const ALONE: u32 = 16;
/// Maximum commands that are waited for asleep after one that did not come in time.
const MOST_REST: u32 = 32;

/// What the connections of a server have in common.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// Connections that were made.
    made: AtomicU64,
    /// The number of the connection that received something last.
    last: AtomicU64,
}

/// The pace of a connection.
pub(super) struct Pace {
    shared: Arc<Shared>,
    number: u64,
    /// What this connection received since another one last did.
    alone: u32,
    /// When the wait for the next command began.
    since: Option<Instant>,
    /// How long the host took for the last command.
    last: Duration,
    /// Whether to poll at all.
    may_poll: bool,
    /// Commands that are still waited for asleep.
    rest: u32,
    /// How many will be after the next that does not come in time: twice as many each time, half after one that does.
    next_rest: u32,
}

impl Pace {
    /// Returns the pace of a new connection.
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let number = shared.made.fetch_add(1, Ordering::Relaxed) + 1;
        // With a single processor the host, where it is on this machine, could not send anything.
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

    /// Begins the wait for the next command.
    pub(super) fn begin(&mut self) {
        self.since = Some(Instant::now());
    }

    /// Ends it.
    pub(super) fn received(&mut self) {
        let before = self.shared.last.swap(self.number, Ordering::Relaxed);
        self.alone = if before == self.number { self.alone.saturating_add(1) } else { 0 };
        self.last = self.since.take().map_or(Duration::MAX, |since| since.elapsed());
        self.rest = self.rest.saturating_sub(1);
    }

    /// Begins anew to count what is received in a row.
    pub(super) fn reset(&mut self) {
        self.alone = 0;
    }

    /// Returns whether the connection is the only one in use, and its host quick.
    pub(super) fn is_quick(&self) -> bool {
        self.alone >= ALONE && self.last <= QUICK && self.is_alone()
    }

    /// Returns whether no other connection has received anything since this one did.
    fn is_alone(&self) -> bool {
        self.shared.last.load(Ordering::Relaxed) == self.number
    }

    /// Polls for input by `read`, if that promises some. Returns what came of it.
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

    /// Returns the pace of a connection on a machine that has another processor.
    fn connection(shared: &Arc<Shared>) -> Pace {
        Pace { may_poll: true, ..Pace::new(Arc::clone(shared)) }
    }

    /// Has the host send this many commands, the last of them quickly however busy the machine is.
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
        // Another one is used, too.
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
        // After each one in vain it rests for longer.
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
