//! Tests of the target without a network.

mod atomic;
mod common;
mod deallocated;
mod fuzz;
mod lba_status;
mod medium;
mod monitoring;
mod ocp;
mod persistent;
mod protection;
mod reservations;
mod sanitize;
mod self_test;
mod slices;
mod telemetry;
