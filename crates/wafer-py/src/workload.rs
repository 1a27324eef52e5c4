//! Workloads: any source of the lab, or commands that Python generates.

use std::path::Path;

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use wafer_lab::{CommandsSource, FioSource, TraceSource, Workload as LabWorkload};

use crate::arrays;
use crate::error::of_lab;
use crate::iterator::IteratorSource;

/// A workload.
#[pyclass(frozen, module = "wafer._wafer")]
pub(crate) struct Workload {
    pub(crate) inner: LabWorkload,
    /// The source if Python code generates the commands, for its exceptions.
    pub(crate) iterator: Option<IteratorSource>,
}

impl Workload {
    pub(crate) fn of(inner: LabWorkload) -> Self {
        Workload { inner, iterator: None }
    }
}

#[pymethods]
impl Workload {
    /// Reads a fio job file.
    #[staticmethod]
    fn fio(py: Python<'_>, path: &str) -> PyResult<Self> {
        LabWorkload::fio(Path::new(path)).map(Workload::of).map_err(|e| of_lab(py, &e))
    }

    /// Reads the text of a fio job file; `path` is its name in messages.
    #[staticmethod]
    fn fio_text(path: &str, text: &str) -> Self {
        Workload::of(LabWorkload::new(FioSource::new(path.as_ref(), text)))
    }

    /// Returns the text of a fio job file, including the files it includes.
    #[staticmethod]
    fn job_text(py: Python<'_>, path: &str) -> PyResult<String> {
        FioSource::whole_text(Path::new(path)).map_err(|e| of_lab(py, &e))
    }

    /// Reads a TOML document with a `[workload]` table, as in an experiment file.
    #[staticmethod]
    fn from_toml(py: Python<'_>, label: &str, text: &str, folder: &str) -> PyResult<Self> {
        let read = LabWorkload::from_text(label, text, Path::new(folder));
        read.map(Workload::of).map_err(|e| of_lab(py, &e))
    }

    /// Creates a trace from the keys of a `[workload]` table and a placement identifier for each request.
    #[staticmethod]
    fn trace(
        py: Python<'_>,
        text: &str,
        folder: &str,
        placements: PyReadonlyArray1<'_, u16>,
    ) -> PyResult<Self> {
        let source = TraceSource::from_text("trace", text, Path::new(folder));
        let source = source.map_err(|e| of_lab(py, &e))?;
        let source = source.with_placements(placements.as_slice()?.into());
        Ok(Workload::of(LabWorkload::new(source)))
    }

    /// Creates commands from arrays of equal length; see [`arrays::commands`].
    #[staticmethod]
    fn commands(
        py: Python<'_>,
        name: String,
        columns: arrays::Columns<'_>,
        repeat: bool,
    ) -> PyResult<Self> {
        let commands = arrays::commands(py, &columns)?.into();
        Ok(Workload::of(LabWorkload::new(CommandsSource {
            name,
            commands,
            identifiers: false,
            repeat,
        })))
    }

    /// Creates a workload from `start()`, which returns an iterator of tuples of arrays as for `commands`.
    #[staticmethod]
    fn iterator(name: String, start: Py<PyAny>) -> Self {
        let source = IteratorSource::new(name, start);
        Workload { inner: LabWorkload::new(source.clone()), iterator: Some(source) }
    }

    #[getter]
    fn kind(&self) -> &'static str {
        self.inner.kind()
    }

    #[getter]
    fn path(&self) -> String {
        self.inner.path()
    }

    #[getter]
    fn text(&self) -> String {
        self.inner.text()
    }
}
