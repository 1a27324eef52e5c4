//! Timed drives from what is known of real ones: a data sheet, and measured latency.
//!
//! # What it is
//! - [`Datasheet`]: the rates of a data sheet to a complete device file, every line of which says whether it was
//!   given, inferred or assumed.
//! - [`calibrate`]: measured latency ([`Measured`]) to the times of a device, with intervals and predictions.
//!
//! # Invariants
//! The same input gives the same output, bit by bit.
//!
//! # Error model
//! [`wafer_lab::LabError`], one line each. Input that contradicts itself is refused before anything runs.
//!
//! # What it does not implement
//! Counters over time: the Python package fits over-provisioning to them.

mod datasheet;
mod timing;

pub use datasheet::{Basis, Datasheet, Line, Profile};
pub use timing::{
    Calibration, Figure, Latency, Measured, Parameter, Role, Row, RowResult, Task, Watch, calibrate,
};
