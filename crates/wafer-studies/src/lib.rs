//! Studies: published figures, measured curves, policies and theory, compared with the model.
//!
//! # What it is
//! - [`reproduce`]: published figures and the model's;
//! - [`validate`]: measured curves and the model's;
//! - [`ranking`]: policies compared, with the WAF of future knowledge and a proven lower [`bound`];
//! - [`theory`]: closed forms of write amplification, an oracle for the device.
//!
//! # Error model
//! [`LabError`](wafer_lab::LabError), each one line.
//!
//! # What it does not implement
//! Running experiments: that is `wafer-lab`.

pub mod bound;
mod generated;
pub mod ranking;
pub mod reproduce;
pub mod theory;
pub mod validate;
