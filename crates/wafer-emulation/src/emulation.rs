//! An emulation: its clock and its thread.

use std::io;
use std::mem::take;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use wafer_device::Geometry;
use wafer_interface::{Command, MediaWork, NsId, Placement, RuhId, TimingConfig};
use wafer_latency::{Latencies, Statistics};
use wafer_media::{Done, Media, Parts, Request, Shape, Time};
use wafer_record::TimeRecord;

use crate::schedule::{Completed, Schedule, Wake};

/// Media that run in real time. Dropping it stops the media, and commands that are still held never complete.
pub struct Emulation {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    tickets: AtomicU64,
    queues: AtomicU16,
    timing: TimingConfig,
    /// How much later than in the model commands have completed.
    late: Mutex<Latencies>,
}

/// Bits of a ticket that number commands; the bits above number the submission queue.
const QUEUE_SHIFT: u32 = 48;

/// Returns the sizes of a device, as the media see them.
pub fn shape(geometry: &Geometry) -> Shape {
    Shape {
        page_bytes: geometry.page_bytes,
        pages_per_ru: geometry.pages_per_ru,
        ru_count: geometry.ru_count,
        groups: geometry.groups,
    }
}

/// State shared between the thread and the callers.
struct Shared {
    started: Instant,
    state: Mutex<State>,
    /// Has its own lock, because creating a record takes a millisecond. Nobody waits for this lock while holding the
    /// state's.
    statistics: Mutex<Statistics>,
    /// Notified when the next event comes before the thread would wake up.
    sooner: Condvar,
}

struct State {
    schedule: Schedule,
    /// The time at which the thread will wake up; 0 while it is awake.
    asleep_until: Time,
    /// Commands that have completed but are not in the statistics yet.
    uncounted: Vec<(Done, Command)>,
    ended: bool,
}

impl Emulation {
    /// Starts idle media.
    ///
    /// # Errors
    /// A key of the configuration does not fit the device, or no thread can be started. The error has the key and the
    /// reason.
    pub fn start(config: &TimingConfig, shape: Shape) -> Result<Self, (&'static str, String)> {
        let schedule = Schedule::new(Media::new(config, shape)?);
        let shared = Arc::new(Shared {
            started: Instant::now(),
            state: Mutex::new(State {
                schedule,
                asleep_until: 0,
                uncounted: Vec::new(),
                ended: false,
            }),
            statistics: Mutex::new(Statistics::new(Vec::new(), 0)),
            sooner: Condvar::new(),
        });
        let clock = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("media".to_owned());
        let thread = thread.spawn(move || clock.follow());
        let failed = |error: io::Error| ("timing", format!("no thread for its clock: {error}"));
        Ok(Emulation {
            shared,
            thread: Some(thread.map_err(failed)?),
            tickets: AtomicU64::new(1),
            queues: AtomicU16::new(1),
            timing: config.clone(),
            late: Mutex::default(),
        })
    }

    /// Returns the number of a new submission queue. Commands that nobody waits for are in queue 0.
    pub fn queue(&self) -> u16 {
        self.queues.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns a new ticket, which identifies a command of a submission queue and is never 0.
    pub fn ticket(&self, queue: u16) -> u64 {
        let number = self.tickets.fetch_add(1, Ordering::Relaxed);
        u64::from(queue) << QUEUE_SHIFT | number
    }

    /// Starts media work. Must be called in the order in which the device executed the commands; `request` creates the
    /// request for the current time. A command may have several requests.
    pub fn submit(
        &self,
        command: &Command,
        request: impl FnOnce(Time) -> Request,
        work: &[MediaWork],
    ) {
        let mut state = self.shared.lock();
        let request = request(self.shared.now());
        let request = Request { queue: (request.ticket >> QUEUE_SHIFT) as u16, ..request };
        state.schedule.submit(command, request, work);
        self.shared.wake_if_sooner(&mut state);
    }

    /// Wakes `wake` when all requests of a ticket are done. Returns false if the ticket has no requests, in which case
    /// the command is complete.
    pub fn hold(&self, ticket: u64, wake: Weak<dyn Wake>) -> bool {
        let mut state = self.shared.lock();
        let held = state.schedule.hold(ticket, wake);
        self.shared.wake_if_sooner(&mut state);
        held
    }

    /// Records how late a command has completed. `due` is when it completed in the model.
    pub fn completed(&self, due: Time) {
        let late = self.shared.now().saturating_sub(due);
        lock(&self.late).add(late, 0, &Parts::default());
    }

    /// Returns the latencies since the start, in model time, and how late commands have completed. `handle_of` returns the
    /// handle of a write.
    pub fn record(&self, handle_of: impl Fn(NsId, Placement) -> Option<RuhId>) -> TimeRecord {
        let mut state = self.shared.lock();
        let now = self.shared.now();
        let (done, uncounted) = (state.schedule.counts(now), take(&mut state.uncounted));
        drop(state);
        let mut statistics = lock(&self.shared.statistics);
        uncounted.iter().for_each(|(done, command)| statistics.add(done, (*command, 0)));
        let record = statistics.record((0, now), done, &self.timing, handle_of);
        drop(statistics);
        TimeRecord { late_us: lock(&self.late).percentiles_us(), ..record }
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
        lock(&self.state)
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
                // Done before waking, so that a record has all commands that hosts know to be complete.
                state.uncounted.extend(completed.iter().map(|c| (c.done, c.command)));
                drop(state);
                for Completed { ticket, done, wake, .. } in completed.drain(..) {
                    if let Some(wake) = wake.upgrade() {
                        wake.wake(ticket, done.time);
                    }
                }
                state = self.lock();
                continue;
            }
            if !state.uncounted.is_empty()
                && let Ok(mut statistics) = self.statistics.try_lock()
            {
                let mut uncounted = take(&mut state.uncounted);
                drop(state);
                uncounted.iter().for_each(|(done, command)| statistics.add(done, (*command, 0)));
                drop(statistics);
                uncounted.clear();
                state = self.lock();
                // Keeps the allocation for the next commands.
                if state.uncounted.is_empty() {
                    state.uncounted = uncounted;
                }
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
