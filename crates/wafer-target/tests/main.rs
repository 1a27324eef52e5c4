//! Tests of the target without a network.

mod atomic;
mod common;
mod copy;
mod deallocated;
mod emulated;
mod end_of_life;
mod firmware;
mod fuzz;
mod keep_alive;
mod lba_status;
mod lockdown;
mod medium;
mod monitoring;
mod namespaces;
mod ocp;
mod persistent;
mod placement;
mod protection;
mod reservations;
mod sanitize;
mod self_test;
mod slices;
mod streams;
mod telemetry;
mod transfer;
