//! The compiled half of the Python package `wafer`: conversions and error mapping.
//!
//! # What it is
//! The module `wafer._wafer`. Users import `python/wafer`, which is pure Python on top of this module.
//! `_wafer.pyi` has the types.
//!
//! # Architecture
//! - `device.rs`, `workload.rs`, `experiment.rs`: handles to the lab's own types.
//! - `run.rs`: one run without the interpreter's lock, with progress and signals every 50 ms.
//! - `arrays.rs`: commands from NumPy arrays. `iterator.rs`: commands from a Python iterator.
//!   `recorded.rs`: the commands of any workload, generated once and kept.
//! - `requests.rs`: requests of traces as NumPy arrays. `records.rs`, `statistics.rs`: functions of
//!   `wafer-record`.
//! - `calibration.rs`: times of a device from measured latency, fitted by `wafer-calibrate`.
//! - `policy.rs`: a Python object as a victim policy. `error.rs`: messages to exceptions.
//!
//! # Invariants
//! A run gives the same record as the command line, bit for bit except for its times. The lock is held
//! only while Python code runs. An exception of Python code ends the run. Every value returned by
//! Python code is checked before it reaches the device.
//!
//! # Error model
//! A [`wafer_lab::LabError`] becomes the corresponding exception of `wafer._errors`, with the same
//! message.
//!
//! # What it does not implement
//! Any part of the model, the lab or the experiments.

mod arrays;
mod calibration;
mod device;
mod error;
mod experiment;
mod iterator;
mod policy;
mod recorded;
mod records;
mod requests;
mod run;
mod statistics;
mod workload;

use pyo3::prelude::*;

/// Runs the command line of `wafer` and returns the exit status.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<String>) -> i32 {
    // The command line handles Ctrl-C from here on.
    py.detach(|| i32::from(wafer_cli::main_with(arguments)))
}

/// Returns the names of the shipped device profiles.
#[pyfunction]
fn profiles() -> Vec<String> {
    wafer_config::profiles().into_iter().map(|profile| profile.name).collect()
}

/// Returns names and one-line summaries of the victim policies that a configuration can name.
#[pyfunction]
fn policies() -> Vec<(&'static str, &'static str)> {
    wafer_device::policy::POLICIES.iter().map(|policy| (policy.name, policy.summary)).collect()
}

/// Returns names and one-line summaries of the application models.
#[pyfunction]
fn models() -> Vec<(&'static str, &'static str)> {
    wafer_lab::models().iter().map(|model| (model.name, model.summary)).collect()
}

/// Returns the bytes of memory that all runs may take; none if the system does not report them.
#[pyfunction]
fn available_memory() -> Option<u64> {
    wafer_lab::available_memory()
}

/// Returns the colours and dashes of series on the report page, as JSON.
#[pyfunction]
fn palette() -> String {
    wafer_web::report::palette()
}

#[pymodule]
mod _wafer {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::{available_memory, main, models, palette, policies, profiles};
    #[pymodule_export]
    use crate::calibration::calibrate_timing;
    #[pymodule_export]
    use crate::device::Device;
    #[pymodule_export]
    use crate::experiment::Experiment;
    #[pymodule_export]
    use crate::policy::ReclaimUnits;
    #[pymodule_export]
    use crate::records::{
        cumulative_waf, instantaneous_waf, labels, read_records, record_schema, remarks, report,
        write_text,
    };
    #[pymodule_export]
    use crate::requests::TraceRequests;
    #[pymodule_export]
    use crate::run::{Cancel, run};
    #[pymodule_export]
    use crate::statistics::{
        change, endurance_constants, life, mean, parse_size, rated_media_bytes, student,
        volume_bytes,
    };
    #[pymodule_export]
    use crate::workload::Workload;

    #[pymodule_export]
    const LBA_BYTES: u64 = wafer_interface::LBA_BYTES;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
