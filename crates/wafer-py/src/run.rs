//! Runs an experiment without the interpreter's lock.

use std::ffi::{CString, c_long};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use wafer_cache::Cache;
use wafer_lab::{Control, LabError, Progress, Stage, SteadyStates, Workload as LabWorkload};

use wafer_record::text::escaped;

use crate::error::{PendingError, of_lab, raise};
use crate::experiment::Experiment;
use crate::policy::PythonPolicy;

/// Interval at which signals are checked.
const POLL: Duration = Duration::from_millis(50);
/// Time in which a stopped run must end.
const GRACE: Duration = Duration::from_millis(500);
/// Time after which Python code that a stopped run is calling is interrupted.
const INTERRUPT_AFTER: Duration = Duration::from_millis(100);

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

    /// Stops all runs that were given this object, within a batch of commands.
    fn cancel(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    #[getter]
    fn cancelled(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }
}

impl Cancel {
    /// Returns the flag that stops the runs.
    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.flag
    }
}

/// Runs an experiment and returns its record as JSON. `progress(stage, done, total)` is called about
/// every 50 ms. `policy` is a name, `select_victim` and optionally `select_destination`. All of
/// these are called in another thread. An exception in them or in the workload ends the run, as does
/// Ctrl-C. With `numbers`, the record is brief, with about that many values in its timeline.
#[pyfunction]
#[pyo3(signature = (experiment, policy, progress, cancel, numbers=None))]
pub(crate) fn run(
    py: Python<'_>,
    experiment: &Experiment,
    policy: Option<(String, Py<PyAny>, Option<Py<PyAny>>)>,
    progress: Option<Py<PyAny>>,
    cancel: Option<&Cancel>,
    numbers: Option<usize>,
) -> PyResult<String> {
    let pending = PendingError::default();
    let outside = cancel.map(|cancel| cancel.flag.clone());
    let mut inner = experiment.inner.clone();
    if let Some(iterator) = &experiment.iterator {
        inner.workload = LabWorkload::new(iterator.for_run(&pending));
    }
    let policy = policy
        .map(|(name, victim, destination)| {
            let policy = PythonPolicy::new(py, victim, destination, &pending)?;
            Ok::<_, PyErr>((name, policy))
        })
        .transpose()?;

    // The name of a Python function does not determine its behaviour.
    let named = policy.is_none() && experiment.iterator.is_none();
    let not_kept = Arc::new(Mutex::new(Vec::new()));
    let cache = match named {
        true => cache(py, &not_kept).map_err(|error| of_lab(py, &error))?,
        false => None,
    };
    let run = {
        let (pending, outside) = (pending.clone(), outside.clone());
        move || {
            let report = |now: Progress| tell(now, progress.as_ref(), outside.as_deref(), &pending);
            let checked = inner.check()?;
            let steady = cache.as_ref().map(|cache| cache as &dyn SteadyStates);
            let control = Control { cancel: &pending.stop, progress: &report, watch: None, steady };
            match policy {
                None => wafer_lab::run(&checked.experiment, control),
                Some((name, policy)) => {
                    let policy = Box::new(policy);
                    wafer_lab::run_with_policy(&checked.experiment, &name, policy, control)
                }
            }
        }
    };
    let outcome = watched(py, run, outside.as_deref(), &pending)?;
    // An exception of Python code comes first: it stopped the run, or ended it early.
    if let Some(error) = pending.take() {
        return Err(error);
    }
    let warn = |text: String| {
        let text = CString::new(text).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 2)
    };
    not_kept.lock().unwrap_or_else(PoisonError::into_inner).drain(..).try_for_each(warn)?;
    let record = outcome.map_err(|error| match error {
        LabError::Cancelled => raise(py, "Cancelled", "the run was cancelled"),
        error => of_lab(py, &error),
    })?;
    if numbers.is_none() {
        let mut texts =
            wafer_lab::warnings(&record).into_iter().chain(wafer_lab::early_end(&record));
        texts.try_for_each(warn)?;
    }
    let text = py.detach(|| match numbers {
        Some(numbers) => serde_json::to_string(&record.brief(numbers)),
        // The same text as in a result file of the command line.
        None => serde_json::to_string_pretty(&record),
    });
    text.map(escaped).map_err(|e| raise(py, "WaferError", &e.to_string()))
}

/// Returns the folder of steady-state drives, if any. `not_kept` receives notices for the user.
fn cache(py: Python<'_>, not_kept: &Arc<Mutex<Vec<String>>>) -> Result<Option<Cache>, LabError> {
    let file = py.import("wafer._wafer").and_then(|module| module.getattr("__file__")?.extract());
    let program: PathBuf = file.unwrap_or_default();
    let not_kept = Arc::clone(not_kept);
    Cache::of_environment(&program, move |text| {
        not_kept.lock().unwrap_or_else(PoisonError::into_inner).push(text.to_owned());
    })
}

/// Calls `progress`, unless the run must stop.
fn tell(
    now: Progress,
    progress: Option<&Py<PyAny>>,
    outside: Option<&AtomicBool>,
    pending: &PendingError,
) {
    if outside.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
        pending.stop.store(true, Ordering::Relaxed);
    }
    let Some(progress) = progress else { return };
    if pending.stop.load(Ordering::Relaxed) {
        return;
    }
    let stage = match now.stage {
        Stage::Preconditioning => "preconditioning",
        Stage::Running => "running",
    };
    Python::attach(|py| {
        if let Err(error) = progress.call1(py, (stage, now.done, now.total)) {
            pending.report(error);
        }
    });
}

/// Runs in another thread while this one, which may receive the signals, checks for them.
///
/// A run checks its flag after each batch of commands. Python code that it calls is interrupted by an exception. Only
/// allocating the tables of a device of terabytes takes ten seconds, or what Python code calls in other languages: a run
/// that has not ended `GRACE` after it was stopped is abandoned.
pub(crate) fn watched<T: Send + 'static>(
    py: Python<'_>,
    run: impl FnOnce() -> Result<T, LabError> + Send + 'static,
    outside: Option<&AtomicBool>,
    pending: &PendingError,
) -> PyResult<Result<T, LabError>> {
    let is_cancelled = || outside.is_some_and(|flag| flag.load(Ordering::Relaxed));
    // With many short runs, none might last until the flag is checked below.
    if is_cancelled() {
        return Ok(Err(LabError::Cancelled));
    }
    let (ended, mut end) = mpsc::channel();
    let number = Arc::new(OnceLock::new());
    let own_number = Arc::clone(&number);
    let thread = std::thread::Builder::new().name("wafer run".to_owned()).spawn(move || {
        // Use one thread state of the interpreter for all calls: creating one for each takes longer
        // than most of the called code.
        let outcome = Python::attach(|py| {
            if let Ok(number) = thread_number(py) {
                let _ = own_number.set(number);
            }
            py.detach(run)
        });
        // After `GRACE`, nobody waits any more.
        let _ = ended.send(outcome);
    })?;
    let mut stopped: Option<Instant> = None;
    let mut interrupted = false;
    loop {
        let (received, back) = py.detach(move || (end.recv_timeout(POLL), end));
        end = back;
        match received {
            // A stopped run may have ended early without knowing, if its Python code was interrupted.
            Ok(Ok(_)) if pending.stop.load(Ordering::Relaxed) => {
                return Ok(Err(LabError::Cancelled));
            }
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
            pending.report(error);
        }
        if is_cancelled() {
            pending.stop.store(true, Ordering::Relaxed);
        }
        if !pending.stop.load(Ordering::Relaxed) {
            continue;
        }
        let since = stopped.get_or_insert_with(Instant::now).elapsed();
        if since > INTERRUPT_AFTER
            && let Some(number) = number.get()
            && !std::mem::replace(&mut interrupted, true)
        {
            interrupt(py, *number)?;
        }
        if since > GRACE {
            return Ok(Err(LabError::Cancelled));
        }
    }
}

/// Returns Python's number of this thread.
fn thread_number(py: Python<'_>) -> PyResult<c_long> {
    py.import("threading")?.getattr("get_ident")?.call0()?.extract()
}

/// Makes the Python code that a thread executes, or is about to, raise `Cancelled`. An interpreter that ends while the
/// thread is still in Python code would otherwise abort the process.
fn interrupt(py: Python<'_>, thread: c_long) -> PyResult<()> {
    let cancelled = py.import("wafer._errors")?.getattr("Cancelled")?;
    // SAFETY: the interpreter is attached, and the exception is a class. A thread that has ended is not found, which is
    // no error.
    unsafe { pyo3::ffi::PyThreadState_SetAsyncExc(thread, cancelled.as_ptr()) };
    Ok(())
}
