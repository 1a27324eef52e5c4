//! Tests of the device through its public interface.

mod background;
mod devices;
mod firmware;
mod fuzz;
mod groups;
mod media;
mod sizes;
mod small;
mod state;
