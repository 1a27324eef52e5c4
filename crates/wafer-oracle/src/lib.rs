//! The oracle: the device model written a second time, page by page, to check the first.
//!
//! # What it is
//! [`Oracle`] takes the commands of `wafer_device::Device` and follows the same rules, those of
//! `docs/reference/device-model.md`. It is slow and obvious: every page has a definite place, valid pages are counted
//! whenever a count is needed, and nothing is cached, batched or updated incrementally. Property tests drive both with
//! the same commands and compare every counter, event, choice and reclaim unit.
//!
//! # What it shares with the device
//! Plain values: the configuration, commands, identifiers, counters, events, and the table of where each policy wants
//! relocated data. It shares no rules. Where the device draws random numbers, the oracle draws from its own generator,
//! with the same algorithm and seed and in the same order.
//!
//! # Architecture
//! One file for each rule, with its source in the header:
//! - `sizes.rs`: values derived from a configuration; `namespaces.rs`: the pages and handles that a command addresses;
//! - `pages.rs`: the page map, segments, and the exchange argument; `merging.rs`: merging of segments;
//! - `units.rs`: reclaim units and open logs; `oracle.rs`: the device, its commands, and how units are opened, closed
//!   and erased; `writing.rs`: the path of a write;
//! - `separation.rs`, `death_times.rs`: the log to which a page goes;
//! - `collection.rs`: when garbage is collected, and from where to where; `arrangement.rs`: which pages go where at the
//!   end of a reclaim unit; `writers.rs`: the draw for `gc.destination = "writer"`;
//! - `firmware.rs`: caches in front of the reclaim units, parity, and maintenance of the media; `translation.rs`: a map
//!   that is not all in memory;
//! - `attribution.rs`: whose writes cause relocation of whose data;
//! - `policy.rs`: what a policy sees; `policies.rs`: the policies without memory. For those that learn, [`Replay`]
//!   repeats the choices of the device, and the tests compare the views that both devices gave.
//!
//! # What it does not implement
//! Validation of the configuration: the device must accept it. [`smallest_count`] states the one check that follows
//! from the rules.

mod arrangement;
mod attribution;
mod averages;
mod collection;
mod death_times;
mod firmware;
mod merging;
mod namespaces;
mod oracle;
mod pages;
mod policies;
mod policy;
mod random;
mod separation;
mod sizes;
mod translation;
mod units;
mod writers;
mod writing;

pub use oracle::{Event, Oracle};
pub use policies::named;
pub use policy::{Asked, Candidate, Policy, Replay, View};
pub use random::Random;
pub use sizes::smallest_count;
