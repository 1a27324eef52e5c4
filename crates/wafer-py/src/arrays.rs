//! Converts NumPy arrays to commands.

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use wafer_interface::{Command, NsId, Op, Placement};

use crate::error::raise;

/// The columns of a batch of commands: first logical block, number of logical blocks, placement
/// identifier, operation ([`Op`]'s code) and namespace, counted from 0.
pub(crate) type Columns<'py> = (
    PyReadonlyArray1<'py, u64>,
    PyReadonlyArray1<'py, u32>,
    PyReadonlyArray1<'py, u16>,
    PyReadonlyArray1<'py, u8>,
    PyReadonlyArray1<'py, u8>,
);

/// Returns the commands in contiguous arrays of equal length.
pub(crate) fn commands(py: Python<'_>, columns: &Columns<'_>) -> PyResult<Vec<Command>> {
    let (lba, blocks, placement, op, namespace) = (
        columns.0.as_slice()?,
        columns.1.as_slice()?,
        columns.2.as_slice()?,
        columns.3.as_slice()?,
        columns.4.as_slice()?,
    );
    let lengths = [blocks.len(), placement.len(), op.len(), namespace.len()];
    if lengths.iter().any(|length| *length != lba.len()) {
        return Err(raise(py, "WorkloadError", "the arrays of commands differ in length"));
    }
    let each = lba.iter().zip(blocks).zip(placement).zip(op).zip(namespace).enumerate();
    each.map(|(at, ((((lba, blocks), placement), op), namespace))| {
        let op = match Op::from_code(*op) {
            Some(known @ (Op::Write | Op::Deallocate | Op::Read)) => known,
            _ => {
                let message = format!(
                    "command {at}: operation {op}; expected 0 (write), 1 (deallocate) or 2 (read)"
                );
                return Err(raise(py, "WorkloadError", &message));
            }
        };
        let (placement, namespace) = (Placement(*placement), NsId(*namespace));
        Ok(Command { lba: *lba, blocks: *blocks, placement, op, namespace })
    })
    .collect()
}
