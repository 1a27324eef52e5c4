//! Tests of the device through its public interface.

mod background;
mod devices;
mod firmware;
mod fuzz;
mod media;
mod small;
mod state;
