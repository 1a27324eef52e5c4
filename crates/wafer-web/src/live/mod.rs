//! Monitoring of a running device from a browser, a terminal or Prometheus.
//!
//! [`serve`] serves a [`LiveSource`] over HTTP: the live page at `/`, JSON below `/api/v1`, server-sent events at
//! `/api/v1/events`, Prometheus metrics at `/metrics`, and requests of operators at `/ctl`, as documented in
//! `docs/reference/live-api.md`.
//!
//! - `sampler.rs`: one task samples the source at even intervals, keeps a bounded history, and serializes each
//!   state once.
//! - `server.rs`: routes and their headers; `access.rs`: access control; `connections.rs`: limits.
//! - `stream.rs`: viewers, which share the text of the latest state. A slow viewer misses states and holds at most two
//!   of them, so its memory is bounded and it costs the drive nothing.
//! - `metrics.rs`: Prometheus.
//!
//! The source is sampled once per interval, regardless of the number of viewers. Without a token, only requests from
//! this machine are served, under a local host name. Not implemented: TLS (use a reverse proxy), several drives on one
//! address, history beyond the lifetime of the process.

mod access;
mod connections;
mod metrics;
mod sampler;
mod server;
mod stream;

pub use connections::Limits;
pub use server::{Config, LiveError, Server, serve};

use wafer_record::record::Provenance;
use wafer_record::{ReclaimUnits, Snapshot};

/// A device that can be monitored while it runs. One task calls these methods at even intervals. They may hold a lock
/// for microseconds.
pub trait LiveSource: Send + Sync + 'static {
    /// Returns the name of the device, for titles.
    fn name(&self) -> String;

    /// Returns the provenance of the device. Called once.
    fn provenance(&self) -> Provenance;

    /// Returns the current state of the device, without reclaim units.
    fn snapshot(&self) -> Snapshot;

    /// Returns the current reclaim units. Called only while there are viewers.
    fn reclaim_units(&self) -> Option<ReclaimUnits>;

    /// Executes a request of an operator, JSON as sent by `wafer ctl`, and returns the HTTP status and the response.
    /// May wait. Called only if [`Config::control`] has a token.
    fn control(&self, request: &[u8]) -> (u16, String) {
        let _ = request;
        (404, "{\"refused\":\"there is no drive\"}".to_owned())
    }
}
