//! Deterministic simulation of a served drive.
//!
//! # What it is
//! [`run`] takes a seed. It serves a drive to three hosts and an operator, all in one thread, on a simulated network,
//! disk and clock. Connections, controllers, drive, journal and checkpoints are those of `wafer serve`. The hosts work
//! at random; the operator creates and deletes namespaces, resets its controller, kills the server, cuts the power,
//! fails the disk and partitions the network. A reference model knows the possible values of each sector and lower
//! limits of the counters.
//! fall below.
//!
//! # Architecture
//! - `plan.rs`: the random choices of a seed: which faults are on, their rates, the mix of commands.
//! - `run.rs`: the steps of the simulation; `world.rs`: the state shared by its actors.
//! - `server.rs`, `network.rs`, `disk.rs`, `clock.rs`: the server and its environment.
//! - `host.rs`, `operator.rs`: the actors; `link.rs`: their connections; `work.rs`: their commands.
//! - `model.rs`: the reference. `known.rs`: faults found.
//!
//! # Invariants
//! A seed reproduces its run exactly: [`Outcome::fingerprint`] covers every byte on the wire and on the disk.
//!
//! # Error model
//! A problem is reported as [`Outcome::violation`]. The first one ends the run.
//!
//! # What it does not implement
//! Threads of the server, except for namespaces that are replaced while a command reads data. Backends other than a
//! file. Loss of file names.

pub mod clock;
pub mod disk;
mod host;
pub mod known;
mod link;
pub mod model;
pub mod network;
mod operator;
pub mod plan;
mod run;
mod server;
pub mod work;
mod world;

pub use run::{Outcome, run, run_plan};
