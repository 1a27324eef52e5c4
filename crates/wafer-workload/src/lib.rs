//! What is written to the device.

mod address;
mod error;
pub mod fio;
pub mod job;
mod job_stream;
mod mixer;
mod random_map;
mod rng;
mod stream;
mod synthetic;

pub use error::WorkloadError;
pub use job::JobSpec;
pub use job_stream::JobStream;
pub use mixer::{Mixer, MixerOptions, Pace};
pub use random_map::RandomMap;
pub use stream::CommandStream;
