//! Changes workloads: handles that overwrite nothing, or data with other placement.

use std::path::PathBuf;
use std::sync::Arc;

use wafer_device::Geometry;
use wafer_interface::{
    Batch, Command, CommandStream, Completion, Figure, LBA_BYTES, NsId, Op, StreamDescription,
    StreamState,
};
use wafer_lab::source::{Built, SourceTarget};
use wafer_lab::{LabError, Source, Workload};

use crate::MOST_CAPACITIES;
use crate::temperature::{Temperature, handle_of};

/// Number of batches of the workload searched for commands of the changed one.
const MOST_BATCHES: usize = 64;

#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// This handle overwrites nothing: its data takes the same space and stays valid.
    Quiet(u16),
    /// All other handles overwrite nothing.
    OthersQuiet(u16),
    /// Writes go to handles by how often their part of the drive is written.
    ByTemperature(Arc<Temperature>),
}

/// A workload with a change.
#[derive(Debug)]
pub(crate) struct Changed {
    pub(crate) inner: Workload,
    pub(crate) change: Change,
    pub(crate) geometry: Arc<Geometry>,
}

impl Source for Changed {
    fn kind(&self) -> &'static str {
        self.inner.kind()
    }

    fn path(&self) -> String {
        self.inner.path()
    }

    fn files(&self) -> Vec<PathBuf> {
        self.inner.files()
    }

    fn memory_bytes(&self, target: &SourceTarget<'_>) -> Result<u64, LabError> {
        self.inner.memory_bytes(target)
    }

    fn build(&self, target: &SourceTarget<'_>) -> Result<Built, LabError> {
        let built = self.inner.build(target)?;
        let stream = ChangedStream {
            inner: built.stream,
            change: self.change.clone(),
            geometry: Arc::clone(&self.geometry),
            written: Written::default(),
            scratch: Batch::default(),
            left_out: 0,
            most_left_out: (MOST_CAPACITIES * target.device.geometry.logical_bytes() as f64) as u64,
        };
        Ok(Built { stream: Box::new(stream), total_bytes: None, ..built })
    }
}

struct ChangedStream {
    inner: Box<dyn CommandStream>,
    change: Change,
    geometry: Arc<Geometry>,
    written: Written,
    scratch: Batch,
    /// Bytes of writes omitted since the last command that was passed on.
    left_out: u64,
    most_left_out: u64,
}

/// The parts of the namespaces that were written, one bit each.
#[derive(Default)]
struct Written(Vec<Vec<u64>>);

impl Written {
    /// Bytes of a part.
    const PART: u64 = 4096;

    /// Adds a write, and returns whether any part of it is new.
    fn add(&mut self, command: &Command) -> bool {
        let number = command.namespace.index();
        if self.0.len() <= number {
            self.0.resize(number + 1, Vec::new());
        }
        let bits = &mut self.0[number];
        let first = command.lba * LBA_BYTES / Self::PART;
        let end = (command.lba * LBA_BYTES + command.bytes()).div_ceil(Self::PART);
        if (bits.len() as u64) * 64 < end {
            bits.resize(end.div_ceil(64) as usize, 0);
        }
        let mut new = false;
        for part in first..end {
            let (word, bit) = (&mut bits[(part / 64) as usize], 1 << (part % 64));
            new |= *word & bit == 0;
            *word |= bit;
        }
        new
    }
}

impl ChangedStream {
    fn change(&mut self, command: Command) -> Option<Command> {
        if command.op != Op::Write {
            return Some(command);
        }
        match &self.change {
            Change::Quiet(handle) => {
                let quiet = handle_of(&self.geometry, &command) == *handle;
                (!quiet || self.written.add(&command)).then_some(command)
            }
            Change::OthersQuiet(handle) => {
                let quiet = handle_of(&self.geometry, &command) != *handle;
                (!quiet || self.written.add(&command)).then_some(command)
            }
            Change::ByTemperature(temperature) => {
                let handle = handle_of(&self.geometry, &command);
                Some(Command { placement: temperature.placement(handle, &command), ..command })
            }
        }
    }

    fn fill(
        &mut self,
        batch: &mut Batch,
        max: usize,
        more: impl Fn(&mut dyn CommandStream, &mut Batch, usize) -> StreamState,
    ) -> StreamState {
        let end = batch.len() + max;
        for _ in 0..MOST_BATCHES {
            let mut scratch = std::mem::take(&mut self.scratch);
            scratch.clear();
            let state = more(&mut *self.inner, &mut scratch, end - batch.len());
            for (at, command) in scratch.commands.iter().enumerate() {
                match self.change(*command) {
                    Some(command) => {
                        self.left_out = 0;
                        batch.commands.push(command);
                        batch.times.extend(scratch.times.get(at));
                    }
                    None => self.left_out += command.bytes(),
                }
            }
            self.scratch = scratch;
            if self.left_out > self.most_left_out {
                // Only quiet handles still write.
                return StreamState::Ended;
            }
            if state != StreamState::Ready || batch.len() >= end {
                return state;
            }
        }
        if batch.is_empty() {
            // The caller must be able to stop the run. A flush changes no data.
            batch.commands.push(Command::flush(NsId(0)));
        }
        StreamState::Ready
    }
}

impl CommandStream for ChangedStream {
    fn description(&self) -> StreamDescription {
        self.inner.description()
    }

    fn load(&mut self, batch: &mut Batch, max: usize) -> StreamState {
        self.fill(batch, max, |stream, batch, max| stream.load(batch, max))
    }

    fn next(&mut self, batch: &mut Batch, max: usize) -> StreamState {
        self.fill(batch, max, |stream, batch, max| stream.next(batch, max))
    }

    fn completed(&mut self, completions: &[Completion]) {
        self.inner.completed(completions);
    }

    fn figures(&self) -> Vec<Figure> {
        self.inner.figures()
    }
}
