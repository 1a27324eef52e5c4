//! Job files, and what the installed fio makes of them.

mod errors;
mod fidelity;
mod fio;
mod jobs;
mod parity;
