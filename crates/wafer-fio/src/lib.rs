//! The jobs of fio as streams of commands.
//!
//! # What it is
//! A [`JobSpec`] is one job of a fio file with every option resolved (`wafer-fio-file` reads them), a [`JobStream`] its commands, and a [`Mixer`] all
//! jobs of a workload as one [`CommandStream`](wafer_interface::CommandStream): phases one after another, the jobs of a
//! phase together, by a closed loop or by given shares of the bytes.
//!
//! # Architecture
//! - `job_stream/`: the commands of one job. `address.rs` draws addresses;
//!   a random map remembers which blocks a pass has visited.
//! - `rate.rs`: `rate` and `rate_iops`, for drivers with a clock and without.
//! - `mixer/`: clocks, shares and phases of many jobs; [`mod@flow`]: jobs in proportion to each other.
//! - `synthetic.rs`: jobs made in code.
//!
//! # Invariants
//! The same jobs and seed give the same commands, however they are batched, on every platform; no
//! command leaves its job's region (a sequential one may reach over its end, as in fio, never over the
//! namespace's); a random map gives each block once a pass. The laws are fio's, and
//! `tests/fidelity.rs` of `wafer-fio-file` holds them against the real fio.
//!
//! # Error model
//! Everything that comes from outside is checked when a stream is built ([`WorkloadError`], one line
//! that names job, option, file and line); a stream cannot fail afterwards.
//!
//! # What it does not implement
//! Data, verification, several files a job, and fio's zone modes. Without a clock nothing comes back from the device:
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
