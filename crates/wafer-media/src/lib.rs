//! The timing of a drive: dies, channels, link, controller, write buffer, and garbage collection spread over time.
//!
//! # What it is
//! A [`Media`] takes the commands of hosts in order of time, each with the [`MediaWork`] that it causes in the device,
//! and reports when each completes and how its latency is composed. Which bytes are written where is up to the device:
//! nothing here changes that.
//!
//! # Architecture
//! - `die.rs`: one die; `directory.rs`: what the write buffer holds; `pacing.rs`: the pace of garbage collection.
//! - `request.rs`: a command, as the media model sees it.
//! - `agenda.rs`: future events, by time; `calendar.rs`: those that are not added in that order.
//! - `media/`: all of these with channels, link and controller. `work.rs`: the work done, and the parts of a latency.
//!
//! # Invariants
//! Time is an integer number of nanoseconds and everything is deterministic. No request completes before it was
//! submitted, and the parts of its time add up to its latency. The work of a die never overlaps.
//!
//! # What it does not implement
//! Faults, read retries, temperature, and the physical place of a page within its reclaim unit: a hash of its address
//! assigns a read to a die.
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
