//! Errors of the lab as Python exceptions, and exceptions of Python code called during a run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use wafer_config::ConfigError;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use wafer_config::Place;
use wafer_lab::LabError;

/// Creates an exception of `wafer._errors`.
pub(crate) fn raise(py: Python<'_>, class: &str, message: &str) -> PyErr {
    let made = py
        .import("wafer._errors")
        .and_then(|module| module.getattr(class))
        .and_then(|class| class.call1((message,)));
    made.map_or_else(|error| error, PyErr::from_value)
}

fn is_cancelled(error: &PyErr) -> bool {
    Python::attach(|py| {
        let class = py.import("wafer._errors").and_then(|module| module.getattr("Cancelled"));
        class.is_ok_and(|class| error.is_instance(py, &class))
    })
}

/// Converts an error of the lab into an exception.
pub(crate) fn of_lab(py: Python<'_>, error: &LabError) -> PyErr {
    let message = wafer_config::line(error, |cause| match cause.downcast_ref() {
        Some(LabError::Config(ConfigError::Invalid { place, reason, overrides })) => {
            in_python(place, reason, overrides)
        }
        _ => cause.to_string(),
    });
    let class = match error.innermost() {
        LabError::Config(ConfigError::Invalid { .. }) => "ConfigError",
        LabError::Config(ConfigError::Io { .. }) => return PyOSError::new_err(message),
        LabError::Memory { .. } => "NotEnoughMemory",
        LabError::Run(_) | LabError::Part { .. } => "RunError",
        LabError::Cancelled => "Cancelled",
        LabError::Config(ConfigError::MissingData { .. })
        | LabError::JobFile(_)
        | LabError::Jobs(_)
        | LabError::Trace(_)
        | LabError::Workload(_) => "WorkloadError",
    };
    raise(py, class, &message)
}

/// Returns the message with overrides named as keyword arguments: `gc_policy` for `gc.policy`.
fn in_python(place: &Place, reason: &str, overrides: &[String]) -> String {
    // Keys within a list are those of dicts.
    let keyword = |key: &str| match key.contains('[') {
        true => key.to_owned(),
        false => key.replace('.', "_"),
    };
    let place = match place {
        Place::Override { key, .. } => keyword(key),
        other => other.to_string(),
    };
    if overrides.is_empty() {
        return format!("{place}: {reason}");
    }
    let keywords = overrides.iter().map(|one| match one.split_once('=') {
        Some((key, value)) => format!("{}={value}", keyword(key)),
        None => one.clone(),
    });
    format!("{place}: {reason} (with {})", keywords.collect::<Vec<_>>().join(", "))
}

/// The first exception of Python code called during a run, and the flag that stops the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct PendingError {
    first: Arc<Mutex<Option<PyErr>>>,
    /// Set to stop the run.
    pub(crate) stop: Arc<AtomicBool>,
}

impl PendingError {
    /// Keeps the first exception and stops the run.
    pub(crate) fn report(&self, error: PyErr) {
        // Raised to interrupt the Python code of a stopped run.
        if self.stop.load(Ordering::Relaxed) && is_cancelled(&error) {
            return;
        }
        self.first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Takes the exception, if there is one.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
