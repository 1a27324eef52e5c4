//! Polling for the next command of a host that sends one after another: it comes sooner than a thread falls asleep and wakes
//! up.
//!
//! A connection polls only while it is the only one in use, so that it takes the processor from nobody, and no longer than
//! [`MOST`] at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

/// Time that a connection polls at most, and the longest time that its host took for the last command.
const MOST: Duration = Duration::from_micros(60);
/// What a connection receives in a row before it counts as the only one in use.
const ALONE: u32 = 16;
/// Commands that are waited for asleep after one that did not come in time.
const REST: u32 = 32;

/// What the connections of a server have in common.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// Connections that were made.
    made: AtomicU64,
    /// The number of the connection that received something last.
    last: AtomicU64,
}

/// The polling of a connection.
pub(super) struct Polling {
    shared: Arc<Shared>,
    number: u64,
    /// What this connection received since another one last did.
    alone: u32,
    /// When the wait for the next command began.
    since: Option<Instant>,
    /// The host was quick to send the last command.
    soon: bool,
    /// Commands that are still waited for asleep.
    rest: u32,
}

impl Polling {
    /// Makes the state of a new connection, which may poll if it can.
    pub(super) fn new(shared: Arc<Shared>, can: bool) -> Self {
        let number = shared.made.fetch_add(1, Ordering::Relaxed) + 1;
        // With a single processor the host, where it is on this machine, could not send anything.
        let may = can && available_parallelism().is_ok_and(|n| n.get() > 1);
        let rest = if may { 0 } else { u32::MAX };
        Polling { shared, number, alone: 0, since: None, soon: false, rest }
    }

    /// Begins the wait for the next command.
    pub(super) fn begin(&mut self) {
        self.since = Some(Instant::now());
    }

    /// Ends it.
    pub(super) fn received(&mut self) {
        let before = self.shared.last.swap(self.number, Ordering::Relaxed);
        self.alone = if before == self.number { self.alone.saturating_add(1) } else { 0 };
        self.soon = self.since.take().is_some_and(|since| since.elapsed() <= MOST);
        if self.rest != u32::MAX {
            self.rest = self.rest.saturating_sub(1);
        }
    }

    /// Polls for input by `read`, if that promises some. Returns what came of it.
    pub(super) fn poll<T>(&mut self, mut read: impl FnMut() -> Option<T>) -> Option<T> {
        let since = self.since.filter(|_| self.alone >= ALONE && self.soon && self.rest == 0)?;
        while self.shared.last.load(Ordering::Relaxed) == self.number {
            if let Some(read) = read() {
                return Some(read);
            }
            if since.elapsed() > MOST {
                self.rest = REST;
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

    /// Returns whether a connection polls after its host sent so many commands, the last of them quickly however busy the
    /// machine is.
    fn polls(polling: &mut Polling, commands: u32) -> bool {
        for _ in 0..commands {
            polling.begin();
            polling.received();
        }
        polling.soon = true;
        polling.begin();
        polling.poll(|| Some(())).is_some()
    }

    #[test]
    fn only_a_connection_that_is_alone_polls_and_only_for_a_host_that_is_quick() {
        let shared = Arc::new(Shared::default());
        let mut first = Polling { rest: 0, ..Polling::new(Arc::clone(&shared), true) };
        let mut second = Polling { rest: 0, ..Polling::new(Arc::clone(&shared), true) };
        assert!(!polls(&mut first, ALONE) && polls(&mut first, 1));
        // Another one is used, too.
        assert!(!polls(&mut second, 1) && !polls(&mut first, 1));
        assert!(polls(&mut first, ALONE));
        // It ends when another one receives something.
        let mut looks = 0;
        let nothing = first.poll(|| {
            looks += 1;
            polls(&mut second, 1);
            None::<()>
        });
        assert_eq!((nothing, looks), (None, 1));
        // The host takes its time: no polling for a while.
        assert!(polls(&mut first, ALONE + 1));
        assert_eq!(first.poll(|| None::<()>), None);
        assert!(!polls(&mut first, REST - 1) && polls(&mut first, 1));
        std::thread::sleep(2 * MOST);
        first.received();
        first.begin();
        assert_eq!(first.poll(|| Some(())), None, "the last command was late");
    }
}
