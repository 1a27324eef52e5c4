//! `wafer serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use wafer_interface::Bytes;
use wafer_record::Precondition;
use wafer_storage::DataSpec;

use super::values::{buffers, lba_bytes};
use super::{HttpArgs, OptionalDeviceArgs};

const SERVE_EXAMPLES: &str = "\
Examples:
  wafer serve --device pm9d3 --set capacity=64GiB --set reclaim_unit.size=64MiB \\
      --data file:drive.img
  wafer serve --device warp --data none --record run.trace.zst      count and record, keep no data
  wafer serve --device warp --set capacity=1GiB --set reclaim_unit.size=16MiB \\
      --set reclaim_unit.count=80 --listen 0.0.0.0:4420
  wafer serve --subsystems drives.toml                              several drives on the same ports

On a Linux host:
  nvme discover -t tcp -a ADDRESS -s 4420
  nvme connect -t tcp -a ADDRESS -s 4420 -n NQN
  nvme fdp stats /dev/nvme0 -e 1

Stops on SIGINT or SIGTERM.";

#[derive(Debug, Args)]
#[command(after_help = SERVE_EXAMPLES)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) device: OptionalDeviceArgs,

    /// File with several subsystems to serve, each with its device. Its keys are the options that describe one:
    /// `device`, `set`, `time`, `precondition`, `data`, `record`, `lba`, `invalid_placement`, `fdp_events`, `nqn`,
    /// `serial`, `hosts` and `seed`.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath,
        conflicts_with_all = ["device", "set", "time", "precondition", "data", "record", "lba", "invalid_placement", "fdp_events",
            "nqn", "serial", "hosts", "seed", "http"])]
    pub(crate) subsystems: Option<PathBuf>,

    /// Complete each command when the drive's media would have finished its work, according to the device's `timing`.
    /// Hosts see the latency and bandwidth of the drive under garbage collection, as far as this machine is fast enough.
    #[arg(long)]
    pub(crate) time: bool,

    /// State of a new drive at the start, as for `wafer run`, such as `sequential+random:2`; its data reads as zeroes. SMART
    /// and FDP statistics include it, records and captures do not. A drive that was used is refused. Default: fresh.
    #[arg(long, value_name = "STATE")]
    pub(crate) precondition: Option<Precondition>,

    /// Data backend: `none` (writes are dropped, reads return zeroes), `memory`, or `file:PATH`, which
    /// also keeps the state of the device.
    #[arg(long, value_name = "PLACE", default_value = "memory")]
    pub(crate) data: DataSpec,

    /// Address and port to listen on; TCP port 0 takes any free one. If repeated, each address is a port of the
    /// subsystem, numbered from 1.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:4420")]
    pub(crate) listen: Vec<SocketAddr>,

    /// File for a capture of every command, which `wafer run --trace` replays.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) record: Option<PathBuf>,

    /// Logical block size of the initial namespaces, in bytes: 512 or 4096. Default: 4096.
    #[arg(long, value_name = "BYTES", value_parser = lba_bytes)]
    pub(crate) lba: Option<u32>,

    /// How to treat a write whose placement identifier the namespace does not define. The drive logs an
    /// event in either case.
    #[arg(long, value_name = "CHOICE", value_enum, default_value = "default")]
    pub(crate) invalid_placement: InvalidPlacement,

    /// Enable all FDP events from the start, without waiting for a host to enable them.
    #[arg(long)]
    pub(crate) fdp_events: bool,

    #[command(flatten)]
    pub(crate) http: HttpArgs,

    /// File with the token that `POST /ctl` of --http must carry: requests of `wafer ctl` as JSON. Without it, /ctl is
    /// disabled.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "http")]
    pub(crate) http_ctl_token: Option<PathBuf>,

    /// Local socket to listen on for `wafer ctl`, which injects faults. Only the user who serves the drive may
    /// connect.
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) ctl: Option<PathBuf>,

    /// NVMe Qualified Name of the subsystem. Default: one with the UUID of the drive.
    #[arg(long)]
    pub(crate) nqn: Option<String>,

    /// Serial number of the drive. Default: the end of its UUID.
    #[arg(long)]
    pub(crate) serial: Option<String>,

    /// Address that the discovery log reports to hosts. Default: the one that they connected to. If repeated, one for
    /// each --listen, in the same order.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) advertise: Vec<SocketAddr>,

    /// File with the hosts that may connect, how they authenticate, and what each may do. Without it, any host may read
    /// and write the namespaces attached to it and, on a loopback address, manage the drive.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) hosts: Option<PathBuf>,

    /// Maximum number of simultaneous connections; further ones are closed at once. The limit of open files
    /// may allow fewer.
    #[arg(long, value_name = "N", default_value = "4096",
        value_parser = clap::value_parser!(u32).range(1..=60_000))]
    pub(crate) max_connections: u32,

    /// Memory for the data in flight of all connections, at least 32MiB. Hosts queue for it.
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = buffers)]
    pub(crate) buffers: Bytes,

    /// Random seed of the device. Default: 0.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Print address and NQN as a line of JSON once hosts can connect, and the counters at the end.
    #[arg(long)]
    pub(crate) json: bool,
}

/// How to treat a write with an invalid placement identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum InvalidPlacement {
    /// Write it through the namespace's first handle, as the specification requires.
    Default,
    /// Fail it with Invalid Field in Command.
    Error,
}
