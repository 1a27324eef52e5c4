//! One run without the interpreter's lock.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use wafer_lab::{Control, LabError, Progress, Stage, Workload as LabWorkload};
use wafer_record::Record;

use crate::error::{Trouble, of_lab, raise};
use crate::experiment::Experiment;
use crate::policy::PythonPolicy;

/// How often signals are looked for, and how long a run that was stopped is waited for.
const LOOK: Duration = Duration::from_millis(50);
const PATIENCE: Duration = Duration::from_millis(500);

/// Stops runs from another thread.
#[pyclass(frozen, module = "wafer._wafer")]
pub(crate) struct Cancel {
    flag: Arc<AtomicBool>,
}

#[pymethods]
impl Cancel {
    #[new]
    fn new() -> Self {
        Cancel { flag: Arc::default() }
    }

    /// Stops all runs that were given this, within a batch of commands.
    fn cancel(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    #[getter]
    fn cancelled(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }
}

/// Runs an experiment and answers its record as JSON. `progress(stage, done, total)` is called about
/// every 50 ms; `policy` is its name, `select_victim` and perhaps `select_destination`. They are
/// called in another thread. An exception in them or in the workload ends the run, as Ctrl-C does.
#[pyfunction]
#[pyo3(signature = (experiment, policy, progress, cancel))]
pub(crate) fn run(
    py: Python<'_>,
    experiment: &Experiment,
    policy: Option<(String, Py<PyAny>, Option<Py<PyAny>>)>,
    progress: Option<Py<PyAny>>,
    cancel: Option<&Cancel>,
) -> PyResult<String> {
    let trouble = Trouble::default();
    let outside = cancel.map(|cancel| cancel.flag.clone());
    let mut inner = experiment.inner.clone();
    if let Some(iterator) = &experiment.iterator {
        inner.workload = LabWorkload::new(iterator.for_run(&trouble));
    }
    let policy = policy
        .map(|(name, victim, destination)| {
            let policy = PythonPolicy::new(py, victim, destination, &trouble)?;
            Ok::<_, PyErr>((name, policy))
        })
        .transpose()?;

    let run = {
        let (trouble, outside) = (trouble.clone(), outside.clone());
        move || {
            let told = |now: Progress| tell(now, progress.as_ref(), outside.as_deref(), &trouble);
            let checked = inner.check()?;
            let control = Control { cancel: &trouble.stop, progress: &told, watch: None };
            match policy {
                None => wafer_lab::run(&checked.experiment, control),
                Some((name, policy)) => {
                    let policy = Box::new(policy);
                    wafer_lab::run_with_policy(&checked.experiment, &name, policy, control)
                }
            }
        }
    };
    let outcome = watched(py, run, outside.as_deref(), &trouble)?;
    // An exception of Python code comes first: it is why the run was stopped, or why it ended early.
    if let Some(error) = trouble.take() {
        return Err(error);
    }
    let record = outcome.map_err(|error| match error {
        LabError::Cancelled => raise(py, "Cancelled", "the run was cancelled"),
        error => of_lab(py, &error),
    })?;
    as_json(py, &record)
}

/// Calls `progress`, unless the run is to stop.
fn tell(
    now: Progress,
    progress: Option<&Py<PyAny>>,
    outside: Option<&AtomicBool>,
    trouble: &Trouble,
) {
    if outside.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
        trouble.stop.store(true, Ordering::Relaxed);
    }
    let Some(progress) = progress else { return };
    if trouble.stop.load(Ordering::Relaxed) {
        return;
    }
    let stage = match now.stage {
        Stage::Preconditioning => "preconditioning",
        Stage::Running => "running",
    };
    Python::attach(|py| {
        if let Err(error) = progress.call1(py, (stage, now.done, now.total)) {
            trouble.report(error);
        }
    });
}

type Outcome = Result<Record, LabError>;

/// Runs in a thread of its own, while this one, which may be the one that signals come to, waits for them.
///
/// A run looks at its flag after each batch of commands, but to make the tables of a device of terabytes
/// takes ten seconds. What has not ended `PATIENCE` after it was stopped is left to end by itself.
fn watched(
    py: Python<'_>,
    run: impl FnOnce() -> Outcome + Send + 'static,
    outside: Option<&AtomicBool>,
    trouble: &Trouble,
) -> PyResult<Outcome> {
    let (ended, mut end) = mpsc::channel();
    let thread = std::thread::Builder::new().name("wafer run".to_owned()).spawn(move || {
        // One thread state of the interpreter for all calls: to make one for each takes longer than
        // most of what is called.
        let outcome = Python::attach(|py| py.detach(run));
        // Nobody waits any more after `PATIENCE`.
        let _ = ended.send(outcome);
    })?;
    let mut stopped: Option<Instant> = None;
    loop {
        let (told, back) = py.detach(move || (end.recv_timeout(LOOK), end));
        end = back;
        match told {
            Ok(outcome) => return Ok(outcome),
            Err(RecvTimeoutError::Disconnected) => match py.detach(|| thread.join()) {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(()) => {
                    return Ok(Err(LabError::Run("the run ended without a result".to_owned())));
                }
            },
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Err(error) = py.check_signals() {
            trouble.report(error);
        }
        if outside.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            trouble.stop.store(true, Ordering::Relaxed);
        }
        if trouble.stop.load(Ordering::Relaxed)
            && stopped.get_or_insert_with(Instant::now).elapsed() > PATIENCE
        {
            return Ok(Err(LabError::Cancelled));
        }
    }
}

fn as_json(py: Python<'_>, record: &Record) -> PyResult<String> {
    // The text of a result file of the command line.
    serde_json::to_string_pretty(record).map_err(|e| raise(py, "WaferError", &e.to_string()))
}
