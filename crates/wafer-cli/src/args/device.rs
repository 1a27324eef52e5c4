//! A device with overrides.

use clap::{Args, ValueHint};

#[derive(Debug, Args)]
pub(crate) struct DeviceArgs {
    /// A device profile (see `wafer devices`) or a TOML file.
    #[arg(long, value_hint = ValueHint::FilePath)]
    pub(crate) device: Option<String>,

    /// Override a key of the device, dotted: `gc.policy=fifo`, `capacity=64GiB`. Repeatable.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}
