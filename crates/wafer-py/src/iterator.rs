//! Commands that a Python iterator generates during the run.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyIterator;
use wafer_interface::{Command, LBA_BYTES, stream};
use wafer_lab::source::{Built, Host, SourceTarget};
use wafer_lab::{LabError, Source};

use crate::arrays;
use crate::arrays::Columns;
use crate::error::{PendingError, raise};

/// A Python callable that returns an iterator of tuples of arrays.
#[derive(Clone, Debug)]
pub(crate) struct IteratorSource {
    name: String,
    start: Arc<Py<PyAny>>,
    /// Takes the exceptions of the run.
    error: PendingError,
}

impl IteratorSource {
    pub(crate) fn new(name: String, start: Py<PyAny>) -> Self {
        IteratorSource { name, start: Arc::new(start), error: PendingError::default() }
    }

    /// Returns the same source for one run, which takes its exceptions.
    pub(crate) fn for_run(&self, error: &PendingError) -> Self {
        IteratorSource { error: error.clone(), ..self.clone() }
    }
}

impl Source for IteratorSource {
    fn kind(&self) -> &'static str {
        "iterator"
    }

    fn path(&self) -> String {
        self.name.clone()
    }

    fn build(&self, target: &SourceTarget<'_>) -> Result<Built, LabError> {
        let bytes = target.device.geometry.namespace_bytes();
        let mut pull = Pull {
            source: self.clone(),
            iterator: None,
            batch: Vec::new(),
            next: 0,
            pulled: 0,
            namespace_blocks: bytes.iter().map(|bytes| bytes / LBA_BYTES).collect(),
        };
        Ok(Built {
            host: Host::default(),
            jobs: Vec::new(),
            stream: Box::new(stream::from_fn(move |out, max| pull.fill(out, max))),
            total_bytes: None,
            memory_bytes: 0,
            ignored: Vec::new(),
            notices: Vec::new(),
        })
    }
}

struct Pull {
    source: IteratorSource,
    iterator: Option<Py<PyIterator>>,
    /// Commands of the last tuple of arrays; those from `next` are still to be returned.
    batch: Vec<Command>,
    next: usize,
    /// Number of commands in earlier tuples.
    pulled: u64,
    namespace_blocks: Vec<u64>,
}

impl Pull {
    /// Takes the next tuple of arrays; returns false at the end.
    fn pull(&mut self, py: Python<'_>) -> PyResult<bool> {
        if self.iterator.is_none() {
            self.iterator = Some(self.source.start.bind(py).call0()?.try_iter()?.unbind());
        }
        let Some(iterator) = &self.iterator else { return Ok(false) };
        self.pulled += self.batch.len() as u64;
        self.next = 0;
        self.batch.clear();
        let Some(item) = iterator.clone_ref(py).into_bound(py).next() else { return Ok(false) };
        let columns: Columns<'_> = item?.extract()?;
        self.batch = arrays::commands(py, &columns)?;
        for (at, command) in self.batch.iter().enumerate() {
            let room = self.namespace_blocks.get(command.namespace.index()).copied().unwrap_or(0);
            let end = command.lba.checked_add(u64::from(command.blocks));
            if end.is_none_or(|end| end > room) {
                let message = format!(
                    "{}: command {}: {} logical blocks from {} of namespace {}, which has {room}",
                    self.source.name,
                    self.pulled + at as u64,
                    command.blocks,
                    command.lba,
                    command.namespace
                );
                return Err(raise(py, "WorkloadError", &message));
            }
        }
        Ok(true)
    }

    /// Appends up to `max` commands; fewer only at the end, or after an exception.
    fn fill(&mut self, out: &mut Vec<Command>, max: usize) {
        let mut left = max;
        while left > 0 {
            if self.next == self.batch.len() {
                let more = Python::attach(|py| {
                    self.pull(py).unwrap_or_else(|error| {
                        self.source.error.report(error);
                        false
                    })
                });
                if !more {
                    self.batch.clear();
                    self.next = 0;
                    return;
                }
            }
            let end = self.batch.len().min(self.next + left);
            out.extend_from_slice(&self.batch[self.next..end]);
            left -= end - self.next;
            self.next = end;
        }
    }
}
