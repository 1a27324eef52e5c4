//! Commands from NumPy arrays.

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use wafer_core::{Command, NsId, Op, Placement};

use crate::error::raise;

/// First logical block, logical blocks, placement identifier, operation (0 write, 1 deallocate, 2
/// read) and namespace from 0 of each command, in this order.
pub(crate) type Columns<'py> = (
    PyReadonlyArray1<'py, u64>,
    PyReadonlyArray1<'py, u32>,
    PyReadonlyArray1<'py, u16>,
    PyReadonlyArray1<'py, u8>,
    PyReadonlyArray1<'py, u8>,
);

/// The commands of arrays, which must have one length and be contiguous.
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
        let op = match op {
            0 => Op::Write,
            1 => Op::Deallocate,
            2 => Op::Read,
            other => {
                let message = format!("command {at}: operation {other} is none of 0, 1, 2");
                return Err(raise(py, "WorkloadError", &message));
            }
        };
        let (placement, namespace) = (Placement(*placement), NsId(*namespace));
        Ok(Command { lba: *lba, blocks: *blocks, placement, op, namespace })
    })
    .collect()
}
