//! A one-time event that any number of tasks can wait for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// A one-time event, shared by clones. Waiting tasks wake up in the order in which they began to wait, which keeps
/// simulated runs repeatable.
#[derive(Clone, Debug, Default)]
pub struct Latch(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    set: AtomicBool,
    notify: Notify,
}

impl Latch {
    /// Records that the event has happened.
    pub fn set(&self) {
        self.0.set.store(true, Ordering::SeqCst);
        self.0.notify.notify_waiters();
    }

    /// Returns whether the event has happened.
    pub fn is_set(&self) -> bool {
        self.0.set.load(Ordering::SeqCst)
    }

    /// Waits until the event has happened.
    pub async fn wait(&self) {
        let notified = self.0.notify.notified();
        tokio::pin!(notified);
        notified.as_mut().enable();
        if !self.is_set() {
            notified.await;
        }
    }
}
