//! A device with overrides.

use clap::{Args, ValueHint};

use super::complete;

#[derive(Debug, Args)]
pub(crate) struct DeviceArgs {
    /// Device profile (see `wafer devices`) or TOML file.
    #[arg(long, value_hint = ValueHint::FilePath, add = complete::device())]
    pub(crate) device: Option<String>,

    /// Override a key of the device, such as `gc.policy=fifo` or `capacity=64GiB`. Repeatable.
    #[arg(long, value_name = "KEY=VALUE", add = complete::device_keys())]
    pub(crate) set: Vec<String>,
}
