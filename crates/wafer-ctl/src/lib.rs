//! `wafer ctl`: changes a drive while it is served.
//!
//! # What it is
//! [`run`] sends one request to the socket of `wafer serve --ctl` and prints the response. The requests are those of
//! [`wafer_target::control`].
//!
//! # Architecture
//! - `args.rs`: the command line, with its documentation. `client.rs`: request and response.
//! - [`hosts`]: host files, which the server reads too.
//!
//! # Error model
//! An invalid argument or file, or a request that the server refuses, is a [`ConfigError`](wafer_config::ConfigError)
//! of one line; a server that fails or does not respond is another error.

mod args;
mod client;
pub mod hosts;

pub use args::CtlArgs;
pub use client::run;
