//! Fits the times of a device to measured latency.

use std::path::PathBuf;

use pyo3::prelude::*;
use wafer_calibrate::{Measured, Task, Watch, calibrate};

use crate::error::{PendingError, of_lab, raise};
use crate::run::{Cancel, watched};

/// Fits the times of a device to a table of measured latency, or to results of fio. Returns the device file,
/// and the parameters, rows and notices as JSON. `progress(done, total)` is called in another thread.
#[pyfunction]
#[pyo3(signature = (device, table, fio_json, hold_out, predict, seed, progress, cancel))]
#[expect(clippy::too_many_arguments, reason = "the keywords of wafer.calibrate_timing")]
pub(crate) fn calibrate_timing(
    py: Python<'_>,
    device: String,
    table: Option<PathBuf>,
    fio_json: Vec<PathBuf>,
    hold_out: usize,
    predict: Option<PathBuf>,
    seed: u64,
    progress: Option<Py<PyAny>>,
    cancel: Option<&Cancel>,
) -> PyResult<(String, String)> {
    let read = || {
        let measured = match &table {
            Some(path) => Measured::csv(path)?,
            None => Measured::fio(&fio_json)?,
        };
        let predict = predict.as_deref().map(Measured::csv).transpose()?;
        Ok(Task { device, measured, hold_out, predict, seed })
    };
    let task = read().map_err(|e| of_lab(py, &e))?;
    let pending = PendingError::default();
    let fit = {
        let pending = pending.clone();
        move || {
            let report = |done: usize, all: usize| {
                let Some(progress) = &progress else { return };
                Python::attach(|py| {
                    if let Err(error) = progress.call1(py, (done, all)) {
                        pending.report(error);
                    }
                });
            };
            calibrate(&task, Watch { cancel: &pending.stop, progress: &report })
        }
    };
    let fit = watched(py, fit, cancel.map(Cancel::flag), &pending)?;
    if let Some(error) = pending.take() {
        return Err(error);
    }
    let fit = fit.map_err(|e| of_lab(py, &e))?;
    let json = serde_json::to_string(&fit).map_err(|e| raise(py, "WaferError", &e.to_string()))?;
    Ok((fit.toml, json))
}
