//! The commands of a workload, taken once and kept: many runs of it then cost no more than the device.

use pyo3::prelude::*;
use wafer_core::{Command, Op};
use wafer_lab::source::SourceTarget;
use wafer_lab::{CommandsSource, Experiment, Source, Workload as LabWorkload};

use crate::error::{Trouble, of_lab};
use crate::iterator::IteratorSource;
use crate::workload::Workload;

/// Commands asked for at a time; signals are looked at in between.
const BATCH: usize = 1 << 16;

/// The writes and deallocations of an experiment up to so many written bytes, as a workload, with the
/// largest power of two of logical blocks, at most 256, at which all of them begin and end. `None` when
/// there are more than `most`.
pub(crate) fn record(
    py: Python<'_>,
    experiment: &Experiment,
    iterator: Option<&IteratorSource>,
    bytes: u64,
    most: usize,
) -> PyResult<Option<(Workload, u64)>> {
    let trouble = Trouble::default();
    let source = iterator.map(|iterator| iterator.for_run(&trouble));
    let target = SourceTarget {
        device: &experiment.device,
        seed: experiment.seed,
        until_volume: true,
        pace: experiment.pace.as_deref(),
        pace_from: experiment.pace_from.as_deref(),
        pace_place: experiment.pace_place.as_deref(),
    };
    let built = py.detach(|| match &source {
        Some(source) => source.build(&target),
        None => experiment.workload.build(&target),
    });
    let mut stream = built.map_err(|e| of_lab(py, &e))?.stream;
    let (mut kept, mut batch) = (Vec::<Command>::new(), Vec::new());
    let (mut written, mut ends) = (0u64, 256u64);
    while written < bytes {
        py.check_signals()?;
        batch.clear();
        py.detach(|| stream.fill(&mut batch, BATCH));
        if let Some(error) = trouble.take() {
            return Err(error);
        }
        if batch.is_empty() {
            break;
        }
        for command in batch.iter().filter(|c| c.op != Op::Read && c.blocks > 0) {
            if written >= bytes {
                break;
            }
            ends |= command.lba | (command.lba + u64::from(command.blocks));
            written += if command.op == Op::Write { command.bytes() } else { 0 };
            kept.push(*command);
        }
        if kept.len() > most {
            return Ok(None);
        }
    }
    let name = experiment.workload.path();
    let source = CommandsSource { name, commands: kept.into(), repeat: false };
    Ok(Some((Workload::of(LabWorkload::new(source)), 1 << ends.trailing_zeros())))
}
