//! `wafer devices`, `policies`, `models`.

use clap::Args;

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
    #[arg(value_name = "NAME", add = super::complete::models())]
    pub(crate) name: Option<String>,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
