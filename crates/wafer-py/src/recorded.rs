//! Generates the commands of a workload once, so that further runs cost only the device.

use pyo3::prelude::*;
use wafer_interface::{Batch, Command, Op};
use wafer_lab::source::SourceTarget;
use wafer_lab::{CommandsSource, Experiment, Source, Workload as LabWorkload};

use crate::error::{PendingError, of_lab};
use crate::iterator::IteratorSource;
use crate::workload::Workload;

/// Number of commands per batch; signals are checked between batches.
const BATCH: usize = 1 << 16;

/// Returns the commands of an experiment that change its device, up to `bytes` written bytes, as a
/// workload, and the largest power of two of logical blocks, at most 256, to which all of them are
/// aligned. `None` if there are more than `most`.
pub(crate) fn record(
    py: Python<'_>,
    experiment: &Experiment,
    iterator: Option<&IteratorSource>,
    bytes: u64,
    most: usize,
) -> PyResult<Option<(Workload, u64)>> {
    let pending = PendingError::default();
    let source = iterator.map(|iterator| iterator.for_run(&pending));
    // The requested bytes are the volume.
    let target = SourceTarget { until_volume: true, ..experiment.target() };
    let built = py.detach(|| match &source {
        Some(source) => source.build(&target),
        None => experiment.workload.build(&target),
    });
    let mut stream = built.map_err(|e| of_lab(py, &e))?.stream;
    let identifiers = stream.description().identifiers;
    let (mut kept, mut batch) = (Vec::<Command>::new(), Batch::default());
    let (mut written, mut ends) = (0u64, 256u64);
    while written < bytes {
        py.check_signals()?;
        batch.clear();
        py.detach(|| {
            let _ = stream.next(&mut batch, BATCH);
        });
        if let Some(error) = pending.take() {
            return Err(error);
        }
        if batch.is_empty() {
            break;
        }
        let changes = |c: &&Command| match c.op {
            Op::Write | Op::Deallocate => c.blocks > 0,
            Op::Update => true,
            Op::Read | Op::Flush => false,
        };
        for command in batch.commands.iter().filter(changes) {
            if written >= bytes {
                break;
            }
            ends |= command.lba | (command.lba + u64::from(command.blocks));
            written += command.written_bytes();
            kept.push(*command);
        }
        if kept.len() > most {
            return Ok(None);
        }
    }
    let name = experiment.workload.path();
    let source = CommandsSource { name, commands: kept.into(), identifiers, repeat: false };
    Ok(Some((Workload::of(LabWorkload::new(source)), 1 << ends.trailing_zeros())))
}
