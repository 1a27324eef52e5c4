//! What the actors of a run share: the reference model, the disk, and what the simulation is asked to do.

use std::fmt::Display;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use wafer_controller::Subsystem;

use crate::disk::Disk;
use crate::model::Model;
use crate::plan::Plan;

/// Number of hosts beside the operator.
pub(crate) const HOSTS: usize = 3;

/// How the server ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Crash {
    /// With a power loss.
    pub(crate) power: bool,
    /// With files of another moment in place of its own.
    pub(crate) files: bool,
    /// After this many operations of the disk; 0 is at once.
    pub(crate) after: u64,
}

/// Files that were replaced, and what they were.
pub(crate) struct Replaced {
    /// What was replaced by what.
    pub(crate) what: &'static str,
    /// The files that belong there.
    pub(crate) files: Vec<(PathBuf, Option<Vec<u8>>)>,
}

/// The server that runs now.
pub(crate) struct Running {
    /// Its subsystem.
    pub(crate) subsystem: Arc<Subsystem>,
    /// Ends it.
    pub(crate) stop: watch::Sender<bool>,
}

/// What the actors share.
pub(crate) struct World {
    /// The plan.
    pub(crate) plan: Plan,
    /// The disk of the server.
    pub(crate) disk: Disk,
    /// The hosts stop, and verify.
    pub(crate) finishing: AtomicBool,
    /// Hosts that have stopped.
    pub(crate) stopped: AtomicU64,
    /// The run is over.
    pub(crate) over: AtomicBool,
    /// Controller identifiers of the hosts; 0 is none.
    pub(crate) cntlids: [AtomicU16; HOSTS],
    /// Simulated milliseconds until which hosts may be kept waiting: the server is gone, or the network.
    pub(crate) disturbed: AtomicU64,
    /// Commands that were submitted.
    pub(crate) commands: AtomicU64,
    model: Mutex<Model>,
    violation: Mutex<Option<String>>,
    crash: Mutex<Option<Crash>>,
    running: Mutex<Option<Running>>,
    replaced: Mutex<Option<Replaced>>,
    trace: bool,
}

impl World {
    /// Creates the world of a plan.
    pub(crate) fn new(plan: Plan, trace: bool) -> Arc<Self> {
        Arc::new(World {
            disk: Disk::new(plan.seed, plan.rates),
            plan,
            finishing: AtomicBool::new(false),
            stopped: AtomicU64::new(0),
            over: AtomicBool::new(false),
            cntlids: Default::default(),
            disturbed: AtomicU64::new(0),
            commands: AtomicU64::new(0),
            model: Mutex::new(Model::new()),
            violation: Mutex::default(),
            crash: Mutex::default(),
            running: Mutex::default(),
            replaced: Mutex::default(),
            trace,
        })
    }

    /// Locks the reference model.
    pub(crate) fn model(&self) -> MutexGuard<'_, Model> {
        lock(&self.model)
    }

    /// Notes an event of the trace, and in the fingerprint.
    pub(crate) fn event(&self, event: impl Display) {
        self.event_at(turmoil::sim_elapsed().unwrap_or_default(), event);
    }

    /// Notes an event between the steps of the simulation.
    pub(crate) fn event_at(&self, at: Duration, event: impl Display) {
        let event = event.to_string();
        self.disk.witness(at.as_micros() as u64, event.as_bytes());
        if self.trace {
            println!("{:>9.3} {event}", at.as_secs_f64());
        }
    }

    /// Prints a detail of the trace.
    pub(crate) fn detail(&self, detail: impl Display) {
        if self.trace {
            println!("{:>9.3} {detail}", turmoil::sim_elapsed().unwrap_or_default().as_secs_f64());
        }
    }

    /// Notes that something is wrong. Only the first is kept.
    pub(crate) fn violation(&self, what: impl Display) {
        let what = what.to_string();
        self.event(format_args!("violation: {what}"));
        lock(&self.violation).get_or_insert(what);
    }

    /// Notes what is wrong if something is.
    pub(crate) fn check(&self, result: Result<(), String>) {
        if let Err(what) = result {
            self.violation(what);
        }
    }

    /// Returns what is wrong.
    pub(crate) fn violated(&self) -> Option<String> {
        lock(&self.violation).clone()
    }

    /// Asks for a crash of the server, unless one is due.
    pub(crate) fn crash(&self, crash: Crash) {
        lock(&self.crash).get_or_insert(crash);
        if crash.after > 0 {
            self.disk.kill_in(crash.after);
        }
    }

    /// Takes the crash that is due.
    pub(crate) fn take_crash(&self) -> Option<Crash> {
        let mut crash = lock(&self.crash);
        // Not before the disk has died, if it is to die in an operation.
        let due = crash.is_some_and(|crash| crash.after == 0) || self.disk.is_dead();
        if due { crash.take() } else { None }
    }

    /// Returns whether a crash is to come.
    pub(crate) fn crash_pending(&self) -> bool {
        lock(&self.crash).is_some()
    }

    /// Sets the server that runs now.
    pub(crate) fn set_running(&self, running: Option<Running>) {
        *lock(&self.running) = running;
    }

    /// Returns the subsystem of the server that runs now.
    pub(crate) fn subsystem(&self) -> Option<Arc<Subsystem>> {
        lock(&self.running).as_ref().map(|running| Arc::clone(&running.subsystem))
    }

    /// Ends the server that runs now in order.
    pub(crate) fn stop_server(&self) {
        if let Some(running) = &*lock(&self.running) {
            running.stop.send_replace(true);
        }
    }

    /// Sets the files that were replaced.
    pub(crate) fn set_replaced(&self, replaced: Replaced) {
        *lock(&self.replaced) = Some(replaced);
    }

    /// Takes the files that were replaced.
    pub(crate) fn take_replaced(&self) -> Option<Replaced> {
        lock(&self.replaced).take()
    }

    /// Notes that hosts may be kept waiting for this many milliseconds from now.
    pub(crate) fn disturb(&self, milliseconds: u64) {
        self.disturb_at(turmoil::sim_elapsed().unwrap_or_default(), milliseconds);
    }

    /// Notes the same between the steps of the simulation.
    pub(crate) fn disturb_at(&self, at: Duration, milliseconds: u64) {
        let until = at.as_millis() as u64 + milliseconds;
        self.disturbed.fetch_max(until, Ordering::Relaxed);
    }

    /// Returns whether hosts that waited for this many milliseconds had no reason to.
    pub(crate) fn is_calm(&self, milliseconds: u64) -> bool {
        self.disturbed.load(Ordering::Relaxed) + milliseconds < now()
    }

    /// Returns whether hosts should stop.
    pub(crate) fn is_finishing(&self) -> bool {
        self.finishing.load(Ordering::Relaxed)
    }
}

fn now() -> u64 {
    turmoil::sim_elapsed().unwrap_or_default().as_millis() as u64
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
