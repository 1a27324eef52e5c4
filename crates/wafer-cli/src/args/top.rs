//! `wafer top`.

use std::time::Duration;

use clap::{Args, ValueHint};

use super::values::{interval, token};

const TOP_EXAMPLES: &str = "\
Examples:
  wafer top                                                http://127.0.0.1:8080
  wafer top http://10.0.0.7:8080 --token TOKEN
  wafer top --once                                         print once, also when piped

Keys: q quits, p pauses, up and down scroll.";

#[derive(Debug, Args)]
#[command(after_help = TOP_EXAMPLES)]
pub(crate) struct TopArgs {
    /// Address given to a run or a server with --http; a port alone means this machine.
    #[arg(value_name = "URL", default_value = "http://127.0.0.1:8080", value_hint = ValueHint::Url)]
    pub(crate) url: String,

    /// Token of the server.
    #[arg(long, value_name = "TOKEN", env = "WAFER_HTTP_TOKEN", hide_env_values = true, value_parser = token)]
    pub(crate) token: Option<String>,

    /// Refresh interval.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    pub(crate) interval: Duration,

    /// Print one table and exit; the default if stdout is not a terminal.
    #[arg(long)]
    pub(crate) once: bool,

    /// Print JSON once and exit.
    #[arg(long)]
    pub(crate) json: bool,
}
