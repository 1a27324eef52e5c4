//! A device, a workload and the settings of a run.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use wafer_lab::{Experiment as LabExperiment, Options};

use crate::device::Device;
use crate::error::{of_lab, raise};
use crate::iterator::IteratorSource;
use crate::recorded;
use crate::workload::Workload;

/// An experiment, ready to run.
#[pyclass(frozen, module = "wafer._wafer")]
pub(crate) struct Experiment {
    pub(crate) inner: LabExperiment,
    pub(crate) iterator: Option<IteratorSource>,
}

/// Settings of an experiment. `None` keeps the value of the file, or the default.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Settings {
    volume: Option<String>,
    seed: Option<u64>,
    samples: Option<usize>,
    pace: Option<String>,
    pace_from: Option<PathBuf>,
    precondition: Option<String>,
    time: Option<bool>,
}

impl Settings {
    fn options(self, py: Python<'_>) -> PyResult<Options> {
        let wrong =
            |key: &str, reason: String| raise(py, "ConfigError", &format!("{key}: {reason}"));
        if self.samples.is_some_and(|samples| !(2..=1_000_000).contains(&samples)) {
            return Err(wrong("samples", "expected a number from 2 to 1000000".to_owned()));
        }
        Ok(Options {
            volume: self.volume.map(|v| v.parse()).transpose().map_err(|e| wrong("volume", e))?,
            precondition: (self.precondition.map(|p| p.parse()).transpose())
                .map_err(|e| wrong("precondition", e))?,
            seed: self.seed,
            samples: self.samples,
            pace: self.pace,
            pace_from: self.pace_from,
            timed: self.time,
            ..Options::default()
        })
    }
}

#[pymethods]
impl Experiment {
    /// Creates an experiment from a device and a workload.
    #[new]
    fn new(
        py: Python<'_>,
        device: &Device,
        workload: &Workload,
        settings: Settings,
    ) -> PyResult<Self> {
        let options = settings.options(py)?;
        let inner = LabExperiment::of(device.inner.clone(), workload.inner.clone(), &options);
        Ok(Experiment { inner, iterator: workload.iterator.clone() })
    }

    /// Reads an experiment file, or its text.
    #[staticmethod]
    #[pyo3(signature = (path, text, device, overrides, settings))]
    fn from_toml(
        py: Python<'_>,
        path: &str,
        text: Option<&str>,
        device: Option<String>,
        overrides: Vec<String>,
        settings: Settings,
    ) -> PyResult<Self> {
        let options = Options { device, set: overrides, ..settings.options(py)? };
        let path = Path::new(path);
        let read = match text {
            Some(text) => LabExperiment::from_text(path, text, &options),
            None => LabExperiment::from_file(path, &options),
        };
        Ok(Experiment { inner: read.map_err(|e| of_lab(py, &e))?, iterator: None })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.inner.name
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.inner.seed
    }

    #[getter]
    fn volume_bytes(&self) -> Option<u64> {
        self.inner.volume_bytes()
    }

    /// Returns a note if the run ends late, only by the runtime of its jobs, or before a fresh drive is full.
    fn unusual_end(&self, py: Python<'_>) -> PyResult<Option<String>> {
        // The written bytes matter only if nothing else ends the run; an iterator does not report them.
        let total_bytes = match (&self.iterator, self.inner.volume) {
            (_, Some(_)) => None,
            (Some(_), None) => return Ok(None),
            (None, None) => {
                let inner = self.inner.clone();
                py.detach(|| inner.check()).map_err(|e| of_lab(py, &e))?.total_bytes
            }
        };
        Ok(self.inner.unusual_end(total_bytes))
    }

    #[getter]
    fn device(&self) -> Device {
        Device { inner: self.inner.device.clone() }
    }

    #[getter]
    fn workload(&self) -> Workload {
        Workload { inner: self.inner.workload.clone(), iterator: self.iterator.clone() }
    }

    /// Returns the table of published figures named in the file.
    #[getter]
    fn compare(&self) -> Option<PathBuf> {
        self.inner.compare.clone()
    }

    /// Returns a copy with another name.
    fn named(&self, name: String) -> Self {
        let inner = LabExperiment { name, ..self.inner.clone() };
        Experiment { inner, iterator: self.iterator.clone() }
    }

    /// Returns a copy on another device.
    fn on(&self, device: &Device) -> Self {
        let inner = LabExperiment { device: device.inner.clone(), ..self.inner.clone() };
        Experiment { inner, iterator: self.iterator.clone() }
    }

    /// Returns the commands of the workload, and the number of logical blocks to which they are
    /// aligned; see [`recorded::record`].
    fn recorded(
        &self,
        py: Python<'_>,
        bytes: u64,
        most: usize,
    ) -> PyResult<Option<(Workload, u64)>> {
        recorded::record(py, &self.inner, self.iterator.as_ref(), bytes, most)
    }

    /// Returns the files read by a run.
    fn files(&self) -> Vec<String> {
        self.inner.files().iter().map(|path| path.display().to_string()).collect()
    }

    /// Returns the memory that a run takes on any machine, in bytes.
    fn needed_memory(&self, py: Python<'_>) -> PyResult<u64> {
        py.detach(|| self.inner.needed_memory()).map_err(|e| of_lab(py, &e))
    }

    /// Reads the workload, checks that it can run here, and returns the memory of a run in bytes.
    fn check(&self, py: Python<'_>) -> PyResult<u64> {
        let inner = self.inner.clone();
        let checked = py.detach(|| inner.check()).map_err(|e| of_lab(py, &e))?;
        Ok(checked.memory_bytes)
    }
}
