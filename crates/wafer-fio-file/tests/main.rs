//! Tests of job files, and comparisons with the installed fio.

mod errors;
mod fidelity;
mod fio;
mod jobs;
mod parity;
