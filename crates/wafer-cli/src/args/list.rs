//! `wafer devices`, `policies`, `models`, `config` and `schema`.

use clap::{Args, ValueEnum};

use super::{DeviceArgs, complete};

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  wafer models\n  wafer models aerospike    print its keys with their defaults, as TOML"
)]
pub(crate) struct ModelsArgs {
    /// Model whose keys to print with their defaults, as a `[workload]` table.
    #[arg(value_name = "NAME", add = complete::models())]
    pub(crate) name: Option<String>,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  wafer config --device warp --set gc.policy=fifo > my-device.toml"
)]
pub(crate) struct ConfigArgs {
    #[command(flatten)]
    pub(crate) device: DeviceArgs,

    /// Print JSON instead of TOML.
    #[arg(long)]
    pub(crate) json: bool,
}

const SCHEMA_EXAMPLES: &str = "\
Examples:
  wafer schema record > wafer.result.schema.json
  wafer schema config > experiment.schema.json";

#[derive(Debug, Args)]
#[command(after_help = SCHEMA_EXAMPLES)]
pub(crate) struct SchemaArgs {
    /// What the schema describes.
    #[arg(value_name = "WHAT", default_value = "record")]
    pub(crate) what: SchemaOf,
}

/// What `wafer schema` describes.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SchemaOf {
    /// Records that `run`, `measure`, `serve` and `mount` write.
    Record,
    /// Experiment files, including device tables.
    Config,
    /// The table that `reproduce` writes.
    Reproduce,
}
