//! Options of several commands.

#[cfg(feature = "serve")]
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::complete;
#[cfg(feature = "serve")]
use super::values::{address, token};
use super::values::{folder, within};

/// A device with overrides.
#[derive(Debug, Args)]
pub(crate) struct DeviceArgs {
    /// Device profile (see `wafer devices`) or TOML file.
    #[arg(long, value_hint = ValueHint::FilePath, add = complete::device())]
    pub(crate) device: String,

    /// Override a key of the device, such as `gc.policy=fifo` or `overprovisioning=0.28`. Repeatable.
    #[arg(long, value_name = "KEY=VALUE", add = complete::device_keys())]
    pub(crate) set: Vec<String>,
}

/// A device with overrides, where an experiment file may name the device.
#[derive(Debug, Args)]
pub(crate) struct OptionalDeviceArgs {
    /// Device profile (see `wafer devices`) or TOML file.
    #[arg(long, value_hint = ValueHint::FilePath, add = complete::device())]
    pub(crate) device: Option<String>,

    /// Override a key of the device, such as `gc.policy=fifo` or `overprovisioning=0.28`. Repeatable.
    #[arg(long, value_name = "KEY=VALUE", add = complete::device_keys())]
    pub(crate) set: Vec<String>,
}

/// Where traces and other data are.
#[derive(Debug, Args)]
pub(crate) struct DataArgs {
    /// Folder with traces and other data. The folder WAFER_DATA is searched too, and `data` in the current directory,
    /// in a configuration's folder or in a parent of either.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, value_parser = folder())]
    pub(crate) data_dir: Option<PathBuf>,
}

/// A table of published figures next to ours: `wafer reproduce` and `wafer validate`.
#[derive(Debug, Args)]
pub(crate) struct TableArgs {
    /// Markdown document whose generated part to replace with the tables; created if it does not exist. `-` is stdout.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) markdown: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) data: DataArgs,

    /// Exit with status 1 if a figure is outside its tolerance.
    #[arg(long)]
    pub(crate) strict: bool,

    /// Maximum number of simultaneous runs. Default: one per core; fewer when memory is short.
    #[arg(long, value_name = "N", value_parser = within(1..=4096))]
    pub(crate) threads: Option<usize>,
}

/// The live page of `wafer run` and `wafer serve`.
#[cfg(feature = "serve")]
#[derive(Debug, Args)]
pub(crate) struct HttpArgs {
    /// Address of the live page, with JSON below /api/v1 and /metrics for Prometheus. A port alone means 127.0.0.1.
    /// Served until Ctrl-C.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    pub(crate) http: Option<SocketAddr>,

    /// Token that requests to --http must carry. Default: none on a loopback address, a random one
    /// elsewhere.
    #[arg(long, value_name = "TOKEN", env = "WAFER_HTTP_TOKEN", hide_env_values = true, value_parser = token)]
    pub(crate) http_token: Option<String>,
}
