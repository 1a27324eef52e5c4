//! The state shared by the actors of a run: the reference model, the disk, and requests to the simulation.

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

/// Number of hosts, not counting the operator.
pub(crate) const HOSTS: usize = 3;

/// How to end the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Crash {
    /// With a power loss.
    pub(crate) power: bool,
    /// With files from another moment in place of its own.
    pub(crate) files: bool,
    /// After this many disk operations; 0 means immediately.
    pub(crate) after: u64,
}

/// Replaced files with their original contents.
pub(crate) struct Replaced {
    /// Description of the replacement.
    pub(crate) what: &'static str,
    /// The original files.
    pub(crate) files: Vec<(PathBuf, Option<Vec<u8>>)>,
}

/// The running server.
pub(crate) struct Running {
    /// Its subsystem.
    pub(crate) subsystem: Arc<Subsystem>,
    /// Ends it.
    pub(crate) stop: watch::Sender<bool>,
}

/// The state shared by the actors.
pub(crate) struct World {
    /// The plan.
    pub(crate) plan: Plan,
    /// The disk of the server.
    pub(crate) disk: Disk,
    /// Whether hosts should stop.
    pub(crate) finishing: AtomicBool,
    /// Number of hosts that have stopped.
    pub(crate) stopped: AtomicU64,
    /// Whether the run is over.
    pub(crate) over: AtomicBool,
    /// Controller identifiers of the hosts; 0 means none.
    pub(crate) cntlids: [AtomicU16; HOSTS],
    /// Simulated milliseconds until which hosts may have to wait, because the server or the network is down.
    pub(crate) disturbed: AtomicU64,
    /// Number of submitted commands.
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

    /// Records an event in the trace and in the fingerprint.
    pub(crate) fn event(&self, event: impl Display) {
        self.event_at(turmoil::sim_elapsed().unwrap_or_default(), event);
    }

    /// Records an event between steps of the simulation.
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

    /// Records a violation. Only the first is kept.
    pub(crate) fn violation(&self, what: impl Display) {
        let what = what.to_string();
        self.event(format_args!("violation: {what}"));
        lock(&self.violation).get_or_insert(what);
    }

    /// Records an error as a violation.
    pub(crate) fn check(&self, result: Result<(), String>) {
        if let Err(what) = result {
            self.violation(what);
        }
    }

    /// Returns the violation, if any.
    pub(crate) fn violated(&self) -> Option<String> {
        lock(&self.violation).clone()
    }

    /// Requests a crash of the server, unless one is pending.
    pub(crate) fn crash(&self, crash: Crash) {
        lock(&self.crash).get_or_insert(crash);
        if crash.after > 0 {
            self.disk.kill_in(crash.after);
        }
    }

    /// Takes the crash that is due.
    pub(crate) fn take_crash(&self) -> Option<Crash> {
        let mut crash = lock(&self.crash);
        // Wait until the disk has died, if it is to die in an operation.
        let due = crash.is_some_and(|crash| crash.after == 0) || self.disk.is_dead();
        if due { crash.take() } else { None }
    }

    /// Returns whether a crash is pending.
    pub(crate) fn crash_pending(&self) -> bool {
        lock(&self.crash).is_some()
    }

    /// Sets the running server.
    pub(crate) fn set_running(&self, running: Option<Running>) {
        *lock(&self.running) = running;
    }

    /// Returns the subsystem of the running server.
    pub(crate) fn subsystem(&self) -> Option<Arc<Subsystem>> {
        lock(&self.running).as_ref().map(|running| Arc::clone(&running.subsystem))
    }

    /// Shuts the running server down cleanly.
    pub(crate) fn stop_server(&self) {
        if let Some(running) = &*lock(&self.running) {
            running.stop.send_replace(true);
        }
    }

    /// Records replaced files.
    pub(crate) fn set_replaced(&self, replaced: Replaced) {
        *lock(&self.replaced) = Some(replaced);
    }

    /// Takes the replaced files.
    pub(crate) fn take_replaced(&self) -> Option<Replaced> {
        lock(&self.replaced).take()
    }

    /// Records that hosts may have to wait for this many milliseconds from now.
    pub(crate) fn disturb(&self, milliseconds: u64) {
        self.disturb_at(turmoil::sim_elapsed().unwrap_or_default(), milliseconds);
    }

    /// Records the same between steps of the simulation.
    pub(crate) fn disturb_at(&self, at: Duration, milliseconds: u64) {
        let until = at.as_millis() as u64 + milliseconds;
        self.disturbed.fetch_max(until, Ordering::Relaxed);
    }

    /// Returns whether hosts that waited for this many milliseconds had no reason to wait.
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
