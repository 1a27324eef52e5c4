//! When the work of a drive is done: dies, channels, link, controller, write buffer, and garbage collection
//! spread over time.
//!
//! # What it is
//! A [`Media`] takes the commands of hosts in the order of time, each with the [`MediaWork`] that it causes in the
//! device, and reports when each completes and what its time consists of. Bytes belong to the device: nothing here
//! changes what is written where.
//!
//! # Architecture
//! - `die.rs`: one die; `directory.rs`: what the write buffer holds; `pacing.rs`: garbage collection in time.
//! - `request.rs`: a command, as the media see it.
//! - `agenda.rs`: what happens next, in order of time; `calendar.rs`: events that do not arrive in that order.
//! - `media/`: all of them with channels, link and controller. `work.rs`: what was done, and the parts of a
//!   latency.
//!
//! # Invariants
//! Time is an integer number of nanoseconds and everything is deterministic. No request completes before it was
//! submitted, and the parts of its time add up to its latency. The work of a die never overlaps.
//!
//! # What it does not implement
//! Faults, read retries, temperature, and the address of a page within its reclaim unit: a read is assigned to a die by
//! a hash of its address.
//!
//! [`MediaWork`]: wafer_interface::MediaWork

mod agenda;
mod arbiter;
mod calendar;
mod die;
mod dies;
mod directory;
mod group;
mod media;
mod pacing;
mod request;
mod time;
mod work;

pub use agenda::Agenda;
pub use media::{Done, Media, Shape};
pub use request::{Kind, Request};
pub use time::Time;
pub use work::{DieTimes, MediaCounts, PARTS, Part, Parts, WORKS, Work};
