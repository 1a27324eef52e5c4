//! `wafer config`.

use clap::{Args, ValueHint};

use super::complete;

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  wafer config --device warp --set gc.policy=fifo > my-device.toml"
)]
pub(crate) struct ConfigArgs {
    /// Device profile (see `wafer devices`) or TOML file.
    #[arg(long, value_hint = ValueHint::FilePath, add = complete::device())]
    pub(crate) device: String,

    /// Override a key of the device, such as `gc.policy=fifo` or `capacity=64GiB`. Repeatable.
    #[arg(long, value_name = "KEY=VALUE", add = complete::device_keys())]
    pub(crate) set: Vec<String>,

    /// Print JSON instead of TOML.
    #[arg(long)]
    pub(crate) json: bool,
}
