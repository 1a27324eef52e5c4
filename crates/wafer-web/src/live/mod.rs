//! A running device seen from a browser, a terminal or Prometheus.
//!
//! [`serve`] answers HTTP for a [`LiveSource`]: the live page at `/`, JSON below `/api/v1`, server-sent
//! events at `/api/v1/events`, Prometheus metrics at `/metrics`. `docs/live.md` is their manual.
//!
//! - `sampler.rs`: one task asks the source at even intervals, keeps a bounded history, and writes each
//!   state as text once.
//! - `server.rs`: routes and their headers; `access.rs`: who may see them.
//! - `stream.rs`: viewers. All share the text of the newest state; a slow one misses states, and none holds
//!   more than two of them. So the memory of a viewer is bounded, and a viewer costs the drive nothing.
//! - `metrics.rs`: Prometheus.
//!
//! The source is asked once per interval, however many viewers there are. Without a token only the machine
//! itself is served, by a name of its own. Not implemented: TLS (put a proxy before it), several drives on
//! one address, history beyond the life of the process.

mod access;
mod metrics;
mod sampler;
mod server;
mod stream;

pub use server::{Config, LiveError, Server, serve};

use wafer_record::record::Provenance;
use wafer_record::{ReclaimUnits, Snapshot};

/// A device that can be looked at while it runs. Calls come from one task, at even intervals; they may take
/// a lock for microseconds.
pub trait LiveSource: Send + Sync + 'static {
    /// Returns the name of the device, for titles.
    fn name(&self) -> String;

    /// Returns where the device comes from. Asked once.
    fn provenance(&self) -> Provenance;

    /// Returns the device now; its reclaim units are not needed.
    fn snapshot(&self) -> Snapshot;

    /// Returns the reclaim units now; asked only while somebody looks.
    fn reclaim_units(&self) -> Option<ReclaimUnits>;
}
