//! Models of applications, and tenants that share a drive.
//!
//! # What it is
//! [`model`]: applications with a state of their own, one file or folder each; [`tenants`]: several
//! streams on one drive.
//!
//! # Invariants
//! The same configuration and seed give the same commands, however they are batched.
//!
//! # Error model
//! A model checks its configuration and its space when it is built; a stream cannot fail afterwards.
//!
//! # What it does not implement
//! Data (commands carry no payload), and feedback from the device.

pub mod model;
pub mod tenants;
