//! Several runs at once, on all cores and within the available memory.

use std::sync::{Condvar, Mutex, PoisonError};

use rayon::prelude::*;
use wafer_experiment::memory::available_memory;
use wafer_record::{Record, Snapshot};

use crate::control::{Control, Progress, SteadyStates};
use crate::filled::FilledDrives;
use crate::run::run;
use wafer_experiment::Checked;
use wafer_experiment::LabError;

/// A batch of runs, with its limits and callbacks.
pub struct Batch<'a> {
    /// Maximum number of simultaneous runs; `None`: one per core.
    pub threads: Option<usize>,
    /// Set to stop all runs soon.
    pub cancel: &'a std::sync::atomic::AtomicBool,
    /// Called with the number of the experiment.
    pub progress: &'a (dyn Fn(usize, Progress) + Sync),
    /// Called with the device of a run in progress; for batches of one.
    pub watch: Option<&'a (dyn Fn(Snapshot) + Sync)>,
    /// Store of steady-state drives for later runs.
    pub steady: Option<&'a dyn SteadyStates>,
    /// Called as each run ends.
    pub finished: &'a (dyn Fn(usize, &Result<Record, LabError>) + Sync),
}

impl Batch<'_> {
    /// Runs all experiments and returns their results in the same order.
    ///
    /// # Errors
    /// Threads cannot be started.
    pub fn run(&self, experiments: &[Checked]) -> Result<Vec<Result<Record, LabError>>, LabError> {
        let memory = MemoryGate::new(available_memory().unwrap_or(u64::MAX));
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(self.threads.unwrap_or(0))
            .build()
            .map_err(|e| LabError::Run(format!("cannot start threads: {e}")))?;
        let all = experiments.iter().map(|checked| &checked.experiment);
        let filled = FilledDrives::shared(all, self.steady);
        let one = |(number, checked): (usize, &Checked)| {
            let _taken = memory.take(checked.memory_bytes);
            let progress = |p: Progress| (self.progress)(number, p);
            let control = Control {
                cancel: self.cancel,
                progress: &progress,
                watch: self.watch,
                steady: Some(&filled),
            };
            let result = run(&checked.experiment, control);
            (self.finished)(number, &result);
            result
        };
        // One task per experiment, so that all threads are busy.
        Ok(pool.install(|| experiments.par_iter().enumerate().with_max_len(1).map(one).collect()))
    }
}

/// Admits runs as long as their memory fits.
struct MemoryGate {
    all: u64,
    free: Mutex<u64>,
    freed: Condvar,
}

struct Taken<'a> {
    gate: &'a MemoryGate,
    bytes: u64,
}

impl MemoryGate {
    fn new(bytes: u64) -> Self {
        MemoryGate { all: bytes, free: Mutex::new(bytes), freed: Condvar::new() }
    }

    /// Waits until `bytes` are free, or all memory if `bytes` exceeds it. Each run was checked to fit, but other
    /// processes may have taken memory since.
    fn take(&self, bytes: u64) -> Taken<'_> {
        let bytes = bytes.min(self.all);
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        while *free < bytes {
            free = self.freed.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
        *free -= bytes;
        Taken { gate: self, bytes }
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        *self.gate.free.lock().unwrap_or_else(PoisonError::into_inner) += self.bytes;
        self.gate.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn runs_never_take_more_memory_than_there_is() {
        let gate = MemoryGate::new(10);
        let (now, most) = (AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for bytes in [4, 7, 3, 11, 1, 6] {
                let (gate, now, most) = (&gate, &now, &most);
                scope.spawn(move || {
                    let taken = gate.take(bytes);
                    let bytes = taken.bytes;
                    let sum = now.fetch_add(bytes, Ordering::SeqCst) + bytes;
                    most.fetch_max(sum, Ordering::SeqCst);
                    std::thread::sleep(std::time::Duration::from_millis(2));
                    now.fetch_sub(bytes, Ordering::SeqCst);
                });
            }
        });
        assert!(most.load(Ordering::SeqCst) <= 10);
        assert_eq!(*gate.free.lock().unwrap(), 10);
    }
}
