//! A resolved device.

use pyo3::prelude::*;
use wafer_config::{ResolvedDevice, device_from_text, load_device};

use crate::error::{of_lab, raise};

/// A device with every key resolved.
#[pyclass(frozen, module = "wafer._wafer")]
pub(crate) struct Device {
    pub(crate) inner: ResolvedDevice,
}

#[pymethods]
impl Device {
    /// Loads a profile or a TOML file, with `KEY=VALUE` overrides.
    #[new]
    fn new(py: Python<'_>, name: &str, overrides: Vec<String>) -> PyResult<Self> {
        let loaded = py.detach(|| load_device(name, &overrides));
        Ok(Device { inner: loaded.map_err(|e| of_lab(py, &e.into()))? })
    }

    /// Reads the text of a TOML file, with overrides; `label` is its name in messages.
    #[staticmethod]
    fn from_toml(
        py: Python<'_>,
        label: &str,
        text: &str,
        overrides: Vec<String>,
    ) -> PyResult<Self> {
        let loaded = device_from_text(label, text, &overrides);
        Ok(Device { inner: loaded.map_err(|e| of_lab(py, &e.into()))? })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.inner.name
    }

    #[getter]
    fn notices(&self) -> Vec<String> {
        self.inner.notices.clone()
    }

    /// Returns all keys and values as JSON.
    fn config_json(&self, py: Python<'_>) -> PyResult<String> {
        serde_json::to_string(&self.inner.config)
            .map_err(|e| raise(py, "WaferError", &e.to_string()))
    }

    /// Returns all keys and values as a device file.
    fn to_toml(&self, py: Python<'_>) -> PyResult<String> {
        toml::to_string(&self.inner.config).map_err(|e| raise(py, "WaferError", &e.to_string()))
    }

    #[getter]
    fn logical_bytes(&self) -> u64 {
        self.inner.logical_bytes()
    }

    #[getter]
    fn page_bytes(&self) -> u64 {
        self.inner.geometry.page_bytes
    }

    #[getter]
    fn pages_per_ru(&self) -> u32 {
        self.inner.geometry.pages_per_ru
    }

    #[getter]
    fn ru_count(&self) -> u32 {
        self.inner.geometry.ru_count
    }

    #[getter]
    fn overprovisioning(&self) -> f64 {
        self.inner.overprovisioning()
    }

    #[getter]
    fn memory_bytes(&self) -> u64 {
        self.inner.memory_bytes()
    }
}
