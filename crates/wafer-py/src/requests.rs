//! Requests of a trace as NumPy arrays, piece by piece.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use wafer_lab::LabError;
use wafer_trace::{Format, Request, TraceReader, format};

use crate::error::{of_lab, raise};

/// Time in nanoseconds, operation (0 write, 1 deallocate, 2 read, 3 flush, 4 reclaim unit update), volume,
/// process (2^32 - 1: unknown), offset and length in bytes, placement identifier.
type Arrays<'py> = (
    Bound<'py, PyArray1<u64>>,
    Bound<'py, PyArray1<u8>>,
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<u64>>,
    Bound<'py, PyArray1<u64>>,
    Bound<'py, PyArray1<u16>>,
);

/// A trace being read.
#[pyclass(frozen, module = "wafer._wafer")]
pub(crate) struct TraceRequests {
    reader: Mutex<TraceReader>,
}

impl TraceRequests {
    fn with<T>(&self, ask: impl FnOnce(&mut TraceReader) -> T) -> T {
        ask(&mut self.reader.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Minimum number of requests in a piece; the readers return whole chunks.
const PIECE: usize = 1 << 16;

#[pymethods]
impl TraceRequests {
    #[new]
    fn new(py: Python<'_>, path: &str, name: Option<&str>) -> PyResult<Self> {
        let named: Option<Format> = match name {
            None => None,
            Some(name) => {
                let unknown = || raise(py, "WorkloadError", &format!("{path}: no format `{name}`"));
                Some(format(name).ok_or_else(unknown)?)
            }
        };
        let opened = py.detach(|| TraceReader::open(Path::new(path), named));
        let reader = opened.map_err(|e| of_lab(py, &LabError::Trace(e)))?;
        Ok(TraceRequests { reader: Mutex::new(reader) })
    }

    /// Returns the next requests; none at the end.
    fn next<'py>(&self, py: Python<'py>) -> Option<Arrays<'py>> {
        let requests = py.detach(|| {
            self.with(|reader| {
                let mut requests: Vec<Request> = Vec::new();
                while requests.len() < PIECE && reader.read(&mut requests) {}
                requests
            })
        });
        if requests.is_empty() {
            return None;
        }
        fn column<'py, T: numpy::Element>(
            py: Python<'py>,
            requests: &[Request],
            of: impl Fn(&Request) -> T,
        ) -> Bound<'py, PyArray1<T>> {
            requests.iter().map(of).collect::<Vec<T>>().into_pyarray(py)
        }
        Some((
            column(py, &requests, |r| r.time_ns),
            column(py, &requests, |r| r.op as u8),
            column(py, &requests, |r| r.volume),
            column(py, &requests, |r| r.process),
            column(py, &requests, |r| r.offset),
            column(py, &requests, |r| r.bytes),
            column(py, &requests, |r| r.placement.0),
        ))
    }

    /// Returns the names of the volumes read so far.
    #[getter]
    fn volumes(&self) -> Vec<String> {
        self.with(|reader| reader.names().volumes().to_vec())
    }

    /// Returns the names of the processes read so far.
    #[getter]
    fn processes(&self) -> Vec<String> {
        self.with(|reader| reader.names().processes().to_vec())
    }

    /// Returns the name of the format.
    #[getter]
    fn format(&self) -> String {
        self.with(|reader| reader.format().name.to_owned())
    }

    /// Returns the number of damaged records read so far, and messages about the first ones.
    #[getter]
    fn damage(&self) -> (u64, Vec<String>) {
        self.with(|reader| (reader.faults().count, reader.messages()))
    }
}
