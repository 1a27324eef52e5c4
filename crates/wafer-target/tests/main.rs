//! Tests of the target without a network.

mod fuzz;
mod medium;
mod monitoring;
mod slices;
