//! Records and their metrics, read and computed by `wafer-record`.

use std::path::PathBuf;

use numpy::{IntoPyArray as _, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use wafer_record::metrics::{self, Waf};
use wafer_record::text::escaped;
use wafer_record::{Record, records_of_text};

use crate::error::{of_lab, raise};

/// Reads the records in a text and returns each as JSON, with metrics and findings.
#[pyfunction]
pub(crate) fn read_records(py: Python<'_>, label: &str, text: &str) -> PyResult<Vec<String>> {
    let wrong = |message: String| raise(py, "ConfigError", &message);
    let records = records_of_text(label, text).map_err(|e| wrong(e.to_string()))?;
    let json = |record| {
        serde_json::to_string_pretty(record).map(escaped).map_err(|e| wrong(e.to_string()))
    };
    records.iter().map(json).collect()
}

/// Returns a label for each record, made of the properties in which they differ.
#[pyfunction]
pub(crate) fn labels(py: Python<'_>, texts: Vec<String>) -> PyResult<Vec<String>> {
    Ok(wafer_record::labels(&read_all(py, &texts)?))
}

/// Returns reasons why figures of a record, which may be brief, do not have their usual meaning.
#[pyfunction]
pub(crate) fn remarks(py: Python<'_>, text: &str) -> PyResult<Vec<String>> {
    let wrong = |message: String| raise(py, "ConfigError", &message);
    let records = records_of_text("record", text).map_err(|e| wrong(e.to_string()))?;
    let of = |record| wafer_lab::warnings(record).into_iter().chain(wafer_lab::early_end(record));
    Ok(records.iter().flat_map(of).collect())
}

/// Returns a report page of records: a single self-contained HTML file.
#[pyfunction]
#[pyo3(signature = (texts, title = None))]
pub(crate) fn report(py: Python<'_>, texts: Vec<String>, title: Option<&str>) -> PyResult<String> {
    let records = read_all(py, &texts)?;
    let page = py.detach(|| wafer_web::report::page(title, records));
    page.map_err(|e| raise(py, "WaferError", &wafer_config::line(&e, |cause| cause.to_string())))
}

fn read_all(py: Python<'_>, texts: &[String]) -> PyResult<Vec<Record>> {
    let wrong = |message: String| raise(py, "ConfigError", &message);
    let read = |text: &String| records_of_text("record", text).map_err(|e| wrong(e.to_string()));
    let records: Vec<Vec<_>> = texts.iter().map(read).collect::<PyResult<_>>()?;
    Ok(records.concat())
}

/// Writes text to a file like the command line: completely or not at all.
#[pyfunction]
pub(crate) fn write_text(py: Python<'_>, path: PathBuf, text: &str) -> PyResult<()> {
    wafer_record::write_text(&path, text).map_err(|e| of_lab(py, &e.into()))
}

/// Returns the cumulative WAF at each sample; 1 if hosts have written nothing.
#[pyfunction]
pub(crate) fn cumulative_waf<'py>(
    py: Python<'py>,
    host_bytes: PyReadonlyArray1<'py, u64>,
    media_bytes: PyReadonlyArray1<'py, u64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let wafs = metrics::cumulative(host_bytes.as_slice()?, media_bytes.as_slice()?);
    let values: Vec<f64> = wafs.into_iter().map(|waf| waf.ratio().unwrap_or(1.0)).collect();
    Ok(values.into_pyarray(py))
}

/// Returns the WAF between each sample and the previous one; infinite if only the media were written,
/// not a number if nothing was.
#[pyfunction]
pub(crate) fn instantaneous_waf<'py>(
    py: Python<'py>,
    host_bytes: PyReadonlyArray1<'py, u64>,
    media_bytes: PyReadonlyArray1<'py, u64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let wafs = metrics::instantaneous(host_bytes.as_slice()?, media_bytes.as_slice()?);
    let value = |waf: Waf| match waf {
        Waf::Ratio(ratio) => ratio,
        Waf::Idle => f64::NAN,
        Waf::Unbounded => f64::INFINITY,
    };
    Ok(wafs.into_iter().map(value).collect::<Vec<f64>>().into_pyarray(py))
}

/// Returns the JSON Schema of records.
#[pyfunction]
pub(crate) fn record_schema(py: Python<'_>) -> PyResult<String> {
    serde_json::to_string(&wafer_record::schema())
        .map_err(|e| raise(py, "WaferError", &e.to_string()))
}
