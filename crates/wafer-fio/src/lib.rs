//! The jobs of fio as streams of commands.
//!
//! # What it is
//! A [`JobSpec`] is one job of a fio file with every option resolved, which `wafer-fio-file` reads. A [`JobStream`] is
//! its commands, and a [`Mixer`] all jobs of a workload as one [`CommandStream`](wafer_interface::CommandStream): phases
//! one after another, and the jobs of a phase together, in a closed loop or by given shares of the bytes.
//!
//! # Architecture
//! - `job_stream/`: the commands of one job. `address.rs` draws addresses; a random map records the blocks that a pass
//!   has visited.
//! - `rate.rs`: `rate` and `rate_iops`, for drivers with a clock and without.
//! - `mixer/`: clocks, shares and phases of many jobs; [`mod@flow`]: proportions between jobs.
//! - `synthetic.rs`: jobs created in code.
//!
//! # Invariants
//! The same jobs and seed give the same commands on every platform, however they are batched. No command leaves its
//! job's region (a sequential one may extend past its end, as in fio, but never past the namespace's). A random map
//! yields each block once per pass. The rules are fio's, and `tests/fidelity.rs` of `wafer-fio-file` compares them with
//! the real fio.
//!
//! # Error model
//! All input is checked when a stream is built ([`WorkloadError`], one line that names job, option, file and line); a
//! stream cannot fail afterwards.
//!
//! # What it does not implement
//! Data, verification, several files per job, and fio's zone modes. Without a clock, the device gives no feedback:
//! service times are constants.

mod address;
mod error;
pub mod flow;
pub mod job;
mod job_stream;
mod mixer;
mod rate;
mod synthetic;

pub use error::WorkloadError;
pub use flow::Flows;
pub use job::{Exit, JobSpec, LatencyTarget, Measure, SteadyState};
pub use job_stream::JobStream;
pub use mixer::{Mixer, MixerOptions, Pace, PaceTable, prepare};
pub use rate::Rates;
