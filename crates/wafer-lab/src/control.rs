//! Progress and cancellation of a run, and the stores that its caller provides.

use std::io::{self, Read, Write};
use std::sync::atomic::AtomicBool;

use serde_json::Value;
use wafer_record::Snapshot;

/// The stage of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Writing the precondition, which is not counted.
    Preconditioning,
    /// Writing the workload.
    Running,
}

/// The progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The stage.
    pub stage: Stage,
    /// Host bytes written in this stage.
    pub done: u64,
    /// Host bytes that the stage will write, if known.
    pub total: Option<u64>,
}

/// Lets a caller observe and stop a run.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    /// Set to stop the run soon.
    pub cancel: &'a AtomicBool,
    /// Called about every 50 ms, and once at the end of a stage.
    pub progress: &'a (dyn Fn(Progress) + Sync),
    /// Called equally often with a snapshot of the device, which costs a visit of all its reclaim units.
    pub watch: Option<&'a (dyn Fn(Snapshot) + Sync)>,
    /// Store of steady-state drives for later runs.
    pub steady: Option<&'a dyn SteadyStates>,
}

impl Control<'_> {
    /// Returns a control that neither observes nor stops a run.
    pub fn unattended() -> Control<'static> {
        static NEVER: AtomicBool = AtomicBool::new(false);
        Control { cancel: &NEVER, progress: &|_| {}, watch: None, steady: None }
    }
}

/// A store of steady-state drives, from which the next run with the same key starts immediately.
pub trait SteadyStates: Sync {
    /// Returns the drive that [`Self::keep`] wrote for this key, if there is one.
    fn find(&self, key: &Value) -> Option<Box<dyn Read>>;

    /// Stores the drive that `write` writes. A failure leaves nothing behind and is reported to the user; the run
    /// continues.
    fn keep(&self, key: &Value, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>);

    /// Removes the entry of a key because it cannot be read.
    fn remove(&self, key: &Value);

    /// Returns whether the store also saves drives with only their sequential and random precondition, which do not
    /// depend on the workload.
    fn saves_filled(&self) -> bool {
        false
    }
}
