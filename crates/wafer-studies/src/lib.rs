//! Published studies beside ours.
//!
//! # What it is
//! - [`reproduce`]: published studies beside ours;
//! - [`validate`]: measured curves as a study, with a command of its own;
//! - [`ranking`]: policies compared, with the [`bound`] of perfect knowledge;
//! - [`theory`]: closed forms of write amplification, the oracle of the device.
//!
//! # Error model
//! [`LabError`](wafer_lab::LabError), one line each.
//!
//! # What it does not implement
//! Runs; `wafer-lab` runs.

pub mod bound;
mod generated;
pub mod ranking;
pub mod reproduce;
pub mod theory;
pub mod validate;
