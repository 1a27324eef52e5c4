//! Runs `wafer serve` under load and faults for minutes, and checks all data and counters against the reference model.
//!
//! `scripts/soak` creates the file system, which the soak fills up, and builds the library that injects file errors.

mod events;
mod faults;
mod host;
mod operator;
mod report;
mod server;
mod world;

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::Parser;

use crate::faults::Disk;
use crate::operator::Operator;
use crate::server::Launcher;
use crate::world::World;

/// The device: small, so that garbage is collected constantly.
const DEVICE: &str = r#"
capacity = "64MiB"
handles = 4
reclaim_unit = { size = "1MiB", count = 84 }
namespaces = [{ size = "16MiB", handles = [0, 1] }, { size = "16MiB", handles = [2] }]
"#;

/// Run `wafer serve` under load and faults.
#[derive(Parser)]
struct Args {
    /// The `wafer` binary.
    wafer: PathBuf,
    /// The library built from faults.c.
    preload: PathBuf,
    /// Empty folder on its own file system of at most 256 MiB.
    folder: PathBuf,
    /// File for the log of the servers.
    log: PathBuf,
    /// Duration in minutes.
    #[arg(long, default_value_t = 24.0)]
    minutes: f64,
    /// Random seed of hosts and operator; the time by default.
    #[arg(long)]
    seed: Option<u64>,
}

fn main() -> ExitCode {
    match soak(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn soak(args: &Args) -> anyhow::Result<bool> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    let seed = args.seed.unwrap_or(now.as_secs());
    let disk = Disk::new(&args.folder)?;
    // A port that was free a moment ago; every server of the soak uses it.
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let device = args.log.with_extension("device.toml");
    fs::write(&device, DEVICE).with_context(|| device.display().to_string())?;
    let launcher = Launcher {
        wafer: args.wafer.clone(),
        preload: args.preload.canonicalize()?,
        control: disk.control(),
        device,
        data: disk.data(),
        address,
        log: args.log.clone(),
    };
    let world = World::new(seed, address);
    let report = Operator::new(&world, &launcher, &disk)
        .run(Duration::from_secs_f64(args.minutes * 60.0))?;
    let log = fs::read_to_string(&args.log).unwrap_or_default();
    if let Some(line) = log.lines().find(|line| line.contains("panicked")) {
        world.violation(line);
    }
    print!("{}", report.markdown(&world));
    Ok(world.violated().is_none())
}
