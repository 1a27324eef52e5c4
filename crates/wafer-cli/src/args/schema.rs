//! `wafer schema`.

use clap::{Args, ValueEnum};

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
    /// Experiment files, device tables included.
    Config,
    /// The table that `reproduce` writes.
    Reproduce,
}
