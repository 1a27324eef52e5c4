//! Tests of the device through its public interface.

mod devices;
mod fuzz;
mod media;
mod small;
mod state;
