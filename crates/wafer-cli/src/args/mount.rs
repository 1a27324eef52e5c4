//! `wafer mount`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use wafer_record::Precondition;

use super::DeviceArgs;

const MOUNT_EXAMPLES: &str = "\
Examples:
  mkdir drive
  wafer mount drive --device pm9d3 --set capacity=64GiB --set reclaim_unit.size=64MiB \\
      --data file:drive.img --record build.trace
  losetup --direct-io=on --find --show drive/nvme0n1       make a block device of namespace 1
  mkfs.ext4 /dev/loop0; mkswap /dev/loop1; swapon /dev/loop1
  cat drive/counters.json                                  print the counters
  umount drive                                             or press Ctrl-C; prints the counters

Ctrl-C detaches the folder at once. Open files, such as those of loop devices, stay usable until
they are closed; the command waits for that.

Requirements: /dev/fuse, and root or fusermount3. For swap, run as root and outside the limited control
group.";

#[derive(Debug, Args)]
#[command(after_help = MOUNT_EXAMPLES)]
pub(crate) struct MountArgs {
    /// Mount point. It holds a file `nvme0nN` for each namespace, and `counters.json`.
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: PathBuf,

    #[command(flatten)]
    pub(crate) device: DeviceArgs,

    /// Complete each request when the drive's media would have finished its work, as `wafer serve --time` does.
    #[arg(long)]
    pub(crate) time: bool,

    /// Data backend: `memory`, `file:PATH` (sparse; kept after unmounting) or `none` (reads return zeroes;
    /// for tools that only write).
    #[arg(long, value_name = "BACKEND", default_value = "memory")]
    pub(crate) data: wafer_storage::DataSpec,

    /// File for a capture of every command, which `wafer run --trace` replays.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) record: Option<PathBuf>,

    /// State of a new drive at the start, as for `wafer run`, such as `sequential+random:2`; its data reads as zeroes.
    /// Records and captures do not include it. A drive that was used is refused. Default: fresh.
    #[arg(long, value_name = "STATE")]
    pub(crate) precondition: Option<Precondition>,

    /// Lock the server in memory, as swap on the drive requires.
    #[arg(long)]
    pub(crate) lock_memory: bool,

    /// File for the counters as JSON, written when the drive is unmounted; `-` is stdout.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) json: Option<PathBuf>,
}
