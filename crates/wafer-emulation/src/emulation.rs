//! The clock of an emulation, and the thread that follows it.

use std::io;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use wafer_interface::{MediaWork, TimingConfig};
use wafer_media::{Media, Request, Shape, Time};

use crate::schedule::{Schedule, Wake};

/// Media that work in the time of the machine. Dropping it stops the clock: what is held then never completes.
pub struct Emulation {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    tickets: AtomicU64,
}

/// What the thread shares with those that execute commands.
struct Shared {
    started: Instant,
    state: Mutex<State>,
    /// Notified if something happens before the thread would wake up.
    sooner: Condvar,
}

struct State {
    schedule: Schedule,
    /// Until when the thread sleeps.
    asleep_until: Time,
    ended: bool,
}

impl Emulation {
    /// Starts the clock of idle media.
    ///
    /// # Errors
    /// The key of the configuration that does not fit the device, and why; or the system has no thread left.
    pub fn start(config: &TimingConfig, shape: Shape) -> Result<Self, (&'static str, String)> {
        let schedule = Schedule::new(Media::new(config, shape)?);
        let shared = Arc::new(Shared {
            started: Instant::now(),
            state: Mutex::new(State { schedule, asleep_until: 0, ended: false }),
            sooner: Condvar::new(),
        });
        let clock = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("media".to_owned());
        let thread = thread.spawn(move || clock.follow());
        let failed = |error: io::Error| ("timing", format!("no thread for its clock: {error}"));
        Ok(Emulation { shared, thread: Some(thread.map_err(failed)?), tickets: AtomicU64::new(1) })
    }

    /// Returns a ticket for a command: a number that no other has, and never 0.
    pub fn ticket(&self) -> u64 {
        self.tickets.fetch_add(1, Ordering::Relaxed)
    }

    /// Begins what a command has the media do. It is called in the order in which the device executes commands; `request`
    /// makes the request of the time at which this one begins. A command may cause several requests.
    pub fn submit(&self, request: impl FnOnce(Time) -> Request, work: &[MediaWork]) {
        let mut state = self.shared.lock();
        state.schedule.submit(request(self.shared.now()), work);
        self.shared.wake_if_sooner(&mut state);
    }

    /// Has `wake` called when the media have done all that a command caused. Returns false if it caused nothing: the
    /// command is complete.
    pub fn hold(&self, ticket: u64, wake: Weak<dyn Wake>) -> bool {
        let mut state = self.shared.lock();
        let held = state.schedule.hold(ticket, wake);
        self.shared.wake_if_sooner(&mut state);
        held
    }
}

impl Drop for Emulation {
    fn drop(&mut self) {
        self.shared.lock().ended = true;
        self.shared.sooner.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn now(&self) -> Time {
        self.started.elapsed().as_nanos() as Time
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake_if_sooner(&self, state: &mut State) {
        if state.schedule.next().is_some_and(|next| next < state.asleep_until) {
            self.sooner.notify_one();
        }
    }

    /// Wakes the holders of completions until the emulation ends.
    fn follow(&self) {
        // By default Linux lets a thread sleep 50 µs longer than it asked to.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let mut completed = Vec::new();
        let mut state = self.lock();
        while !state.ended {
            let now = self.now();
            state.schedule.advance(now, &mut completed);
            if !completed.is_empty() {
                drop(state);
                for (ticket, wake) in completed.drain(..) {
                    if let Some(wake) = wake.upgrade() {
                        wake.wake(ticket);
                    }
                }
                state = self.lock();
                continue;
            }
            let next = state.schedule.next();
            state.asleep_until = next.unwrap_or(Time::MAX);
            state = match next {
                None => self.sooner.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(next) => {
                    let sleep = Duration::from_nanos(next.saturating_sub(now));
                    let slept = self.sooner.wait_timeout(state, sleep);
                    slept.unwrap_or_else(PoisonError::into_inner).0
                }
            };
            state.asleep_until = 0;
        }
    }
}

#[cfg(test)]
mod tests;
