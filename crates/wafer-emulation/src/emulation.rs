//! An emulation: its clock and its thread.

use std::io;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use wafer_interface::{MediaWork, TimingConfig};
use wafer_media::{Media, Request, Shape, Time};

use crate::schedule::{Schedule, Wake};

/// Media that run in real time. Dropping it stops the media, and commands that are still held never complete.
pub struct Emulation {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    tickets: AtomicU64,
}

/// State shared between the thread and the callers.
struct Shared {
    started: Instant,
    state: Mutex<State>,
    /// Notified when the next event comes before the thread would wake up.
    sooner: Condvar,
}

struct State {
    schedule: Schedule,
    /// The time at which the thread wakes up; 0 while it is awake.
    asleep_until: Time,
    ended: bool,
}

impl Emulation {
    /// Starts idle media.
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

    /// Returns a new ticket, which identifies a command and is never 0.
    pub fn ticket(&self) -> u64 {
        self.tickets.fetch_add(1, Ordering::Relaxed)
    }

    /// Starts media work. Must be called in the order in which the device executed the commands; `request` builds the
    /// request for the current time. A command may have several requests.
    pub fn submit(&self, request: impl FnOnce(Time) -> Request, work: &[MediaWork]) {
        let mut state = self.shared.lock();
        state.schedule.submit(request(self.shared.now()), work);
        self.shared.wake_if_sooner(&mut state);
    }

    /// Wakes `wake` when all requests of a ticket are done. Returns false if the ticket has no requests, so the command is
    /// complete.
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
        // By default, Linux lets a thread oversleep by 50 µs.
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
