//! The live page, of `wafer run` and `wafer serve`.

use std::net::SocketAddr;

use clap::Args;

use super::values::{address, token};

#[derive(Debug, Args)]
pub(crate) struct HttpArgs {
    /// Address of the live page, with JSON below /api/v1 and /metrics for Prometheus. A port alone means
    /// 127.0.0.1. Served until Ctrl-C.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    pub(crate) http: Option<SocketAddr>,

    /// Token that requests to --http must carry. Default: none on a loopback address, a random one
    /// elsewhere.
    #[arg(long, value_name = "TOKEN", env = "WAFER_HTTP_TOKEN", hide_env_values = true, value_parser = token)]
    pub(crate) http_token: Option<String>,
}
