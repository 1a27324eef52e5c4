//! Errors of the lab as Python exceptions, and exceptions of Python code that runs inside a run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError};
use pyo3::prelude::*;
use wafer_lab::LabError;

/// An exception of `wafer._errors`.
pub(crate) fn raise(py: Python<'_>, class: &str, message: &str) -> PyErr {
    let made = py
        .import("wafer._errors")
        .and_then(|module| module.getattr(class))
        .and_then(|class| class.call1((message,)));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// The exception for an error of the lab.
pub(crate) fn of_lab(py: Python<'_>, error: &LabError) -> PyErr {
    let class = match error {
        LabError::Config { .. } => "ConfigError",
        LabError::Workload(_) => "WorkloadError",
        LabError::Memory { .. } => "NotEnoughMemory",
        LabError::Run(_) => "RunError",
        LabError::Io { .. } => return PyOSError::new_err(error.to_string()),
        LabError::Cancelled => return PyKeyboardInterrupt::new_err(error.to_string()),
    };
    raise(py, class, &error.to_string())
}

/// Where Python code that runs inside a run leaves its exception, and how it stops the run.
#[derive(Clone, Default)]
pub(crate) struct Trouble {
    first: Arc<Mutex<Option<PyErr>>>,
    /// Set to stop the run.
    pub(crate) stop: Arc<AtomicBool>,
}

impl std::fmt::Debug for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Trouble")
    }
}

impl Trouble {
    /// Keeps the first exception and stops the run.
    pub(crate) fn report(&self, error: PyErr) {
        self.first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// The exception, if there was one.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
