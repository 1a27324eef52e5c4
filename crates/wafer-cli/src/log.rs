//! Logs events of a drive and its server.

use wafer_output::Terminal;

/// Logs to stderr, filtered by target and level as in `RUST_LOG`.
pub(crate) fn to_stderr(quiet: bool) {
    use tracing_subscriber::filter::{LevelFilter, Targets};
    use tracing_subscriber::prelude::*;
    let default = if quiet { LevelFilter::ERROR } else { LevelFilter::WARN };
    let chosen = std::env::var("RUST_LOG").ok().and_then(|text| text.parse().ok());
    let filter: Targets = chosen.unwrap_or_else(|| Targets::new().with_default(default));
    let lines = tracing_subscriber::fmt::layer()
        // Styles would be indistinguishable from those of a hostile host.
        .with_ansi(false)
        .with_writer(|| Terminal::new(std::io::stderr()))
        .without_time();
    let _ = tracing_subscriber::registry().with(lines.with_filter(filter)).try_init();
}
