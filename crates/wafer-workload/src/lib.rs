//! What is written to the device.

mod address;
mod error;
pub mod job;
mod random_map;
mod rng;
mod stream;

pub use error::WorkloadError;
pub use job::JobSpec;
pub use random_map::RandomMap;
pub use stream::CommandStream;
