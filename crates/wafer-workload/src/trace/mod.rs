//! Traces: commands that were recorded elsewhere. One file per format.

pub mod capture;
