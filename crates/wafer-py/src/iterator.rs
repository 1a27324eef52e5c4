//! Commands that a Python iterator makes while the run takes them.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyIterator;
use wafer_interface::{Command, stream};
use wafer_lab::source::{Built, SourceTarget};
use wafer_lab::{LabError, Source};

use crate::arrays;
use crate::arrays::Columns;
use crate::error::{Trouble, raise};

/// A Python callable that answers an iterator of tuples of arrays.
#[derive(Clone, Debug)]
pub(crate) struct IteratorSource {
    name: String,
    start: Arc<Py<PyAny>>,
    /// The trouble of the run that is built next. Runs of one workload at a time hand theirs over
    /// under the interpreter's lock.
    trouble: Arc<Mutex<Trouble>>,
}

impl IteratorSource {
    pub(crate) fn new(name: String, start: Py<PyAny>) -> Self {
        IteratorSource { name, start: Arc::new(start), trouble: Arc::default() }
    }

    /// The same source for one run, which hears of its exceptions.
    pub(crate) fn for_run(&self, trouble: &Trouble) -> Self {
        IteratorSource { trouble: Arc::new(Mutex::new(trouble.clone())), ..self.clone() }
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
            name: self.name.clone(),
            start: self.start.clone(),
            iterator: None,
            pending: Vec::new(),
            next: 0,
            pulled: 0,
            namespace_blocks: bytes
                .iter()
                .map(|bytes| bytes / wafer_interface::LBA_BYTES)
                .collect(),
            trouble: self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        };
        Ok(Built {
            stream: Box::new(stream::from_fn(move |out, max| pull.fill(out, max))),
            total_bytes: None,
            memory_bytes: 0,
            ignored: Vec::new(),
            notices: Vec::new(),
        })
    }
}

struct Pull {
    name: String,
    start: Arc<Py<PyAny>>,
    iterator: Option<Py<PyIterator>>,
    /// Commands of the last tuple of arrays that are still to be given, from `next`.
    pending: Vec<Command>,
    next: usize,
    /// Commands of earlier tuples.
    pulled: u64,
    namespace_blocks: Vec<u64>,
    trouble: Trouble,
}

impl Pull {
    /// Takes the next tuple of arrays; false at the end.
    fn pull(&mut self, py: Python<'_>) -> PyResult<bool> {
        if self.iterator.is_none() {
            self.iterator = Some(self.start.bind(py).call0()?.try_iter()?.unbind());
        }
        let Some(iterator) = &self.iterator else { return Ok(false) };
        self.pulled += self.pending.len() as u64;
        self.next = 0;
        self.pending.clear();
        let Some(item) = iterator.clone_ref(py).into_bound(py).next() else { return Ok(false) };
        let columns: Columns<'_> = item?.extract()?;
        self.pending = arrays::commands(py, &columns)?;
        for (at, command) in self.pending.iter().enumerate() {
            let room = self.namespace_blocks.get(command.namespace.index()).copied().unwrap_or(0);
            let end = command.lba.checked_add(u64::from(command.blocks));
            if end.is_none_or(|end| end > room) {
                let message = format!(
                    "{}: command {}: {} logical blocks from {} of namespace {}, which has {room}",
                    self.name,
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
            if self.next == self.pending.len() {
                let more = Python::attach(|py| {
                    self.pull(py).unwrap_or_else(|error| {
                        self.trouble.report(error);
                        false
                    })
                });
                if !more {
                    self.pending.clear();
                    self.next = 0;
                    return;
                }
            }
            let end = self.pending.len().min(self.next + left);
            out.extend_from_slice(&self.pending[self.next..end]);
            left -= end - self.next;
            self.next = end;
        }
    }
}
