//! Real-time latency for a served drive: each command completes when the drive's media would have finished its work.
//!
//! # What it is
//! An [`Emulation`] runs a [`Media`](wafer_media::Media) against the machine's clock. It receives each command that the
//! device executes, with the resulting [`MediaWork`](wafer_interface::MediaWork), and wakes the holder of the completion
//! when that work is done. Simulating the same commands at the same times gives the same latencies and the same
//! [record](wafer_record::TimeRecord).
//!
//! # Architecture
//! - `schedule.rs`: which commands complete by a given time. It has no clock of its own.
//! - `emulation.rs`: the clock, and a thread that sleeps until the next event.
//!
//! # Invariants
//! - No command completes early. It completes late by whatever the machine adds: thread wake-up, server and network. A
//!   command that took longer to execute than its latency in the model completes immediately.
//! - The device counts a command before it is scheduled, so byte counts do not depend on time.
//!
//! # Error model
//! Starting an emulation fails if a key of the configuration does not fit the device, or if no thread can be started.
//! Nothing else fails.
//!
//! # What it does not implement
//! Catching up: a machine that is slower than the drive makes the drive look slower.

mod emulation;
mod schedule;

pub use emulation::{Emulation, shape};
pub use schedule::Wake;
pub use wafer_media::Time;
