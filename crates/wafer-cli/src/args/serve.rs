//! `wafer serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use wafer_target::backend::DataSpec;

use super::HttpArgs;
use super::values::lba_bytes;

const SERVE_EXAMPLES: &str = "\
Examples:
  wafer serve --device pm9d3 --set capacity=64GiB --data file:drive.img
  wafer serve --device warp --data none --record run.trace.zst      count and record, keep no data
  wafer serve --device warp --set capacity=1GiB --set reclaim_unit.size=16MiB \\
      --set reclaim_unit.count=80 --listen 0.0.0.0:4420

On a Linux host:
  nvme discover -t tcp -a ADDRESS -s 4420
  nvme connect -t tcp -a ADDRESS -s 4420 -n nqn.2026-11.io.wafer:drive
  nvme fdp stats /dev/nvme0 -e 1

Ends on SIGINT or SIGTERM.";

#[derive(Debug, Args)]
#[command(after_help = SERVE_EXAMPLES)]
pub(crate) struct ServeArgs {
    /// A device profile (see `wafer devices`) or a TOML file.
    #[arg(long, value_hint = ValueHint::FilePath)]
    pub(crate) device: String,

    /// Override a key of the device, dotted: `gc.policy=fifo`, `capacity=64GiB`. Repeatable.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,

    /// Where data is kept: `none` (dropped, reads give zeroes), `memory`, or `file:PATH`, which also
    /// keeps the state of the device.
    #[arg(long, value_name = "PLACE", default_value = "memory")]
    pub(crate) data: DataSpec,

    /// Address and port to listen on; port 0 is any.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:4420")]
    pub(crate) listen: SocketAddr,

    /// Record every command to this file (docs/capture-format.md).
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) record: Option<PathBuf>,

    /// Bytes of a logical block of the namespaces that exist at the start: 512 or 4096.
    #[arg(long, value_name = "BYTES", default_value = "4096", value_parser = lba_bytes)]
    pub(crate) lba: u32,

    /// What becomes of a write with a placement identifier that its namespace does not have: it goes to
    /// the default handle, as the specification says, or it fails. Either way an event is logged.
    #[arg(long, value_name = "CHOICE", value_enum, default_value = "default")]
    pub(crate) invalid_placement: InvalidPlacement,

    /// Enable all FDP events from the start instead of waiting for a host to do it.
    #[arg(long)]
    pub(crate) fdp_events: bool,

    #[command(flatten)]
    pub(crate) http: HttpArgs,

    /// NVMe Qualified Name of the subsystem.
    #[arg(long, default_value = "nqn.2026-11.io.wafer:drive")]
    pub(crate) nqn: String,

    /// Serial number of the drive.
    #[arg(long, default_value = "WAFER0001")]
    pub(crate) serial: String,

    /// Address that the discovery log tells hosts to connect to. Default: the one that they came to.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) advertise: Option<SocketAddr>,

    /// Connections at a time; further ones wait.
    #[arg(long, value_name = "N", default_value = "4096",
        value_parser = clap::value_parser!(u32).range(1..=60_000))]
    pub(crate) max_connections: u32,

    /// Seed of what the device draws.
    #[arg(long, value_name = "N", default_value = "0")]
    pub(crate) seed: u64,

    /// Print the address and the NQN as one line of JSON when hosts can connect, and the counters when
    /// the server ends.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What becomes of a write with an invalid placement identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum InvalidPlacement {
    /// It goes to the namespace's first handle.
    Default,
    /// It fails with Invalid Field in Command.
    Error,
}
