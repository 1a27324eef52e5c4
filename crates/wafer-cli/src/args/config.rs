//! `wafer config`.

use clap::{Args, ValueHint};

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  wafer config --device warp --set gc.policy=fifo > my-device.toml"
)]
pub(crate) struct ConfigArgs {
    /// A device profile (see `wafer devices`) or a TOML file.
    #[arg(long, value_hint = ValueHint::FilePath)]
    pub(crate) device: String,

    /// Override a key of the device, dotted: `gc.policy=fifo`, `capacity=64GiB`. Repeatable.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,

    /// Print JSON instead of TOML.
    #[arg(long)]
    pub(crate) json: bool,
}
