//! One run without the interpreter's lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;
use wafer_lab::{Control, LabError, Progress, ResultRecord, Stage, Workload as LabWorkload};

use crate::error::{Trouble, of_lab, raise};
use crate::experiment::Experiment;
use crate::policy::PythonPolicy;

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
/// every 50 ms; `policy` is its name, `select_victim` and perhaps `select_destination`. An exception in it, in the policy or in the workload ends the run, as Ctrl-C does.
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

    let told = |now: Progress| {
        if outside.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            trouble.stop.store(true, Ordering::Relaxed);
        }
        Python::attach(|py| {
            let asked = py.check_signals().and_then(|()| match &progress {
                Some(progress) => {
                    let stage = match now.stage {
                        Stage::Preconditioning => "preconditioning",
                        Stage::Running => "running",
                    };
                    progress.call1(py, (stage, now.done, now.total)).map(drop)
                }
                None => Ok(()),
            });
            asked.unwrap_or_else(|error| trouble.report(error));
        });
    };
    let outcome = py.detach(|| {
        let checked = inner.check()?;
        let control = Control { cancel: &trouble.stop, progress: &told, watch: None };
        match policy {
            None => wafer_lab::run(&checked.experiment, control),
            Some((name, policy)) => {
                let policy = Box::new(policy);
                wafer_lab::run_with_policy(&checked.experiment, &name, policy, control)
            }
        }
    });
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

fn as_json(py: Python<'_>, record: &ResultRecord) -> PyResult<String> {
    // The text of a result file of the command line.
    serde_json::to_string_pretty(record).map_err(|e| raise(py, "WaferError", &e.to_string()))
}
