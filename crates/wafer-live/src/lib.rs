//! A running drive seen from a browser, a terminal or Prometheus.
//!
//! # What it is
//! [`serve`] answers HTTP for a [`LiveSource`], which is anything that has the counters of a device:
//! the live page at `/`, JSON below `/api/v1`, server-sent events at `/api/v1/events`, Prometheus metrics at
//! `/metrics`. `docs/live.md` is the manual of all of them.
//!
//! # Architecture
//! - `source.rs`: what a source tells. It is asked at even intervals by one task, the *sampler*
//!   (`sampler.rs`), which keeps a bounded history and writes each state as text once.
//! - `server.rs`: routes and their headers; `access.rs`: who may see them.
//! - `stream.rs`: viewers. All share the text of the newest state; one that is slow misses states, and none
//!   holds more than two of them. So the memory of a viewer is bounded, and a viewer costs the drive
//!   nothing.
//! - `metrics.rs`: Prometheus.
//!
//! # Invariants
//! - Nothing here changes the drive: there is no request that does.
//! - The source is asked once per interval, however many viewers there are.
//! - Without a token only the machine itself is served, by a name of its own.
//!
//! # Error model
//! [`LiveError`] where serving cannot begin. Requests get the statuses of HTTP with one line of text.
//!
//! # What it does not implement
//! TLS (put a proxy before it), several drives on one address, history beyond the life of the process.

mod access;
mod metrics;
mod sampler;
mod server;
mod source;
mod stream;

pub use server::{Config, LiveError, Server, serve};
pub use source::{Connection, Event, LiveSource, Snapshot};
