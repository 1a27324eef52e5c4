//! The latency of a drive that is served to real hosts: each command completes when the media would have done its work.
//!
//! # What it is
//! An [`Emulation`] runs a [`Media`](wafer_media::Media) on the time of the machine. It hears of each command as the
//! device executes it, with the [`MediaWork`](wafer_interface::MediaWork) that the command causes, and wakes whoever
//! holds the completion when its time has come. A simulation of the same commands at the same times has the same
//! latencies.
//!
//! # Architecture
//! - `schedule.rs`: which commands are complete by when. It has no clock of its own.
//! - `emulation.rs`: the clock, and a thread that sleeps until the next completion.
//!
//! # Invariants
//! - No command completes before its time. It completes later by what the machine needs: the thread's sleep, the
//!   server and the network. A command that already took longer to execute completes at once.
//! - Commands count in the device before they are scheduled, so byte counts do not depend on time.
//!
//! # Error model
//! Making one fails with the key of the configuration that does not fit. Nothing else fails.
//!
//! # What it does not implement
//! Completions ahead of time: a machine that is slower than the drive makes it look slower.

mod emulation;
mod schedule;

pub use emulation::Emulation;
pub use schedule::Wake;
