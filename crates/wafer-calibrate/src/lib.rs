//! Calibrates timed drives to real ones, from a data sheet or measured latency.
//!
//! # What it is
//! - [`Datasheet`]: turns the rates of a data sheet into a complete device file that marks every line as given,
//!   inferred or assumed.
//! - [`calibrate`]: fits a device's times to measured latency ([`Measured`]), with intervals and predictions.
//!
//! # Invariants
//! The same input gives the same output, bit by bit.
//!
//! # Error model
//! [`wafer_lab::LabError`], each one line. Contradictory input is refused before anything runs.
//!
//! # What it does not implement
//! Counters over time: the Python package fits over-provisioning to them.

mod datasheet;
mod timing;

pub use datasheet::{Basis, Datasheet, Line, Profile};
pub use timing::{
    Calibration, Figure, Latency, Measured, Parameter, Role, Row, RowResult, Task, Watch, calibrate,
};
