//! `wafer-load`: random reads or writes to an NVMe/TCP namespace, as JSON.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context as _;
use clap::Parser;
use wafer_host::{HostOptions, Load, Pattern, QueueOptions};

/// Random reads or writes to an NVMe/TCP namespace. Prints one line of JSON.
#[derive(Parser)]
struct Args {
    /// Address and port of the target.
    address: SocketAddr,
    /// NQN of the subsystem.
    #[arg(long, default_value = "nqn.2026-11.io.wafer:drive")]
    nqn: String,
    /// Namespace.
    #[arg(long, default_value_t = 1)]
    nsid: u32,
    /// `read` or `write`.
    #[arg(long, default_value = "write")]
    rw: String,
    /// Bytes per command.
    #[arg(long, default_value_t = 4096)]
    bs: u32,
    /// Outstanding commands per connection.
    #[arg(long, default_value_t = 32)]
    iodepth: u16,
    /// Number of connections.
    #[arg(long, default_value_t = 1)]
    connections: u16,
    /// Duration, seconds.
    #[arg(long, default_value_t = 5.0)]
    runtime: f64,
    /// Maximum number of commands per connection.
    #[arg(long)]
    commands: Option<u64>,
    /// Number of logical blocks to use, from the first; 0 uses all.
    #[arg(long, default_value_t = 0)]
    span: u64,
    /// Placement identifiers that writes use in turn.
    #[arg(long, value_delimiter = ',')]
    plids: Vec<u16>,
    /// Header and data digests.
    #[arg(long)]
    digests: bool,
    /// Random seed of the addresses.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Read all written data at the end and compare it.
    #[arg(long)]
    verify: bool,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let pattern = match args.rw.as_str() {
        "read" => Pattern::Read,
        "write" => Pattern::Write,
        other => anyhow::bail!("--rw {other}: expected read or write"),
    };
    let mut options = HostOptions::new(&args.nqn, "load");
    options.queue = QueueOptions {
        entries: args.iodepth.saturating_add(1).clamp(2, 1024),
        header_digest: args.digests,
        data_digest: args.digests,
        in_capsule: 16384,
        ..QueueOptions::default()
    };
    let load = Load {
        pattern,
        bytes: args.bs,
        depth: args.iodepth.clamp(1, 1023),
        connections: args.connections.clamp(1, 64),
        time: Duration::try_from_secs_f64(args.runtime).context("--runtime")?,
        commands: args.commands,
        span: args.span,
        pids: args.plids,
        seed: args.seed,
        verify: args.verify,
    };
    let result = load.run(args.address, &options, args.nsid)?;
    println!("{}", serde_json::to_string(&result)?);
    Ok(())
}
