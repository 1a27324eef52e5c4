//! What is written to the device.
//!
//! A [`JobSpec`] is one job of a fio file with every option resolved, a [`JobStream`] its commands,
//! and a [`Mixer`] all jobs of a workload as one [`CommandStream`]: phases one after the other, the
//! jobs of a phase together, by a closed loop or by given shares of the bytes.
//!
//! Invariants: the same jobs and seed give the same commands, however they are batched, on every
//! platform; no command leaves its job's region; a random map gives each block once a pass. The laws
//! are fio's, and `tests/fio_fidelity.rs` holds them against the real fio.
//!
//! Errors: everything that comes from outside is checked when a stream is built ([`WorkloadError`], one line
//! that names job, option, file and line); a stream cannot fail afterwards.
//!
//! Not implemented: data, verification, several files a job, fio's zone modes, `flow`, and feedback
//! from the device: service times are constants.

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
