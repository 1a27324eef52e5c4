//! What is written to the device.

pub mod fio;
pub mod job;
mod stream;

pub use job::JobSpec;
pub use stream::CommandStream;
