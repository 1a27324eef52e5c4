//! `wafer mount`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use wafer_lab::Precondition;

use super::DeviceArgs;

const MOUNT_EXAMPLES: &str = "\
Examples:
  mkdir drive; wafer mount drive --device xd8 --set capacity=32GiB --data file:drive.img --record build.trace
  losetup --direct-io=on --find --show drive/nvme0n1       a block device over namespace 1
  mkfs.ext4 /dev/loop0; mkswap /dev/loop1; swapon /dev/loop1
  cat drive/counters.json                                  what the drive has counted
  umount drive                                             or Ctrl-C: prints the counters

Needs /dev/fuse, and root or fusermount3. Below swap: run as root, outside the limited control group.";

#[derive(Debug, Args)]
#[command(after_help = MOUNT_EXAMPLES)]
pub(crate) struct MountArgs {
    /// The folder to mount on. It gets a file `nvme0nN` for each namespace, and `counters.json`.
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: PathBuf,

    #[command(flatten)]
    pub(crate) device: DeviceArgs,

    /// Where data lives: `memory`, `file:PATH` (sparse; kept when the drive is unmounted), or `none`
    /// (reads give zeroes; for tools that only write).
    #[arg(long, value_name = "BACKEND", default_value = "memory")]
    pub(crate) data: wafer_target::backend::DataSpec,

    /// Record all commands as a trace, which `wafer run --trace` plays.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) record: Option<PathBuf>,

    /// State of the device at the start, as in `wafer run`. It counts in neither the counters nor
    /// the capture, and its data reads as zeroes. Default: fresh.
    #[arg(long, value_name = "STATE")]
    pub(crate) precondition: Option<Precondition>,

    /// Keep the server in memory, as swap on the drive needs.
    #[arg(long)]
    pub(crate) lock_memory: bool,

    /// Write the counters as JSON when the drive is unmounted; `-` is stdout.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) json: Option<PathBuf>,
}
