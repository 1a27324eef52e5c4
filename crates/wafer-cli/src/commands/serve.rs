//! `wafer serve`

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use wafer_config::{ResolvedDevice, load_device};
use wafer_controller::{Access, Rights, Subsystem, SubsystemOptions};
use wafer_drive::{Drive, DriveError, DriveOptions, Given};
use wafer_lab::LabError;
use wafer_record::{Kind, Record, Series, Timeline};
use wafer_target::control;
use wafer_target::transport::{Server, ServerOptions};
use wafer_web::live::Limits;

use super::ctl_socket::ControlSocket;
use super::{descriptors, hosts, live};
use crate::args::{InvalidPlacement, ServeArgs};
use wafer_output as output;

/// File descriptors for files, listeners and the runtime: captures, checkpoints and logs must not fail because
/// hosts connect.
const RESERVED: usize = 64;
/// Logical block size of the initial namespaces, if no other is asked for, bytes.
const LBA_BYTES: u32 = 4096;
/// Interval at which the capture is flushed.
const FLUSH_RECORD: Duration = Duration::from_secs(1);

pub(crate) fn run(args: &ServeArgs, quiet: bool) -> anyhow::Result<()> {
    check(args)?;
    let device = load_device(&args.device.device, &args.device.set)?;
    super::drive_files::check(&args.device.device, &args.data, args.record.clone())?;
    output::notices(quiet, &device.notices);
    crate::log::to_stderr(quiet);
    // Binds first, so that a second server on the same address does not touch the files of the first.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let access = match &args.hosts {
        Some(file) => hosts::read(file)?,
        // A machine trusts its own users; a network has others.
        None => {
            Access::Everyone(Rights { manage: args.listen.iter().all(|a| a.ip().is_loopback()) })
        }
    };
    let options = ServerOptions {
        max_connections: connections(args, quiet),
        buffers: args.buffers.0,
        ..ServerOptions::default()
    };
    let server = {
        let _inside = runtime.enter();
        bind(&args.listen, options)?
    };
    let ctl = args.ctl.as_deref().map(ControlSocket::bind).transpose()?;
    let drive = Drive::new(DriveOptions {
        device: device.config.clone(),
        seed: args.seed.unwrap_or(0),
        data: args.data.clone(),
        lba_bytes: args.lba.unwrap_or(LBA_BYTES),
        events_enabled: args.fdp_events,
        given: Given {
            seed: args.seed.is_some(),
            lba_bytes: args.lba.is_some(),
            events_enabled: args.fdp_events,
        },
    })
    .map_err(usage)?;
    output::notices(quiet, drive.notices());
    let drive = Arc::new(drive);
    let defaults = SubsystemOptions::of_drive(&drive, &device.name);
    let subsystem = Subsystem::with_access(
        Arc::clone(&drive),
        wafer_io::SUPPORTED,
        SubsystemOptions {
            nqn: args.nqn.clone().unwrap_or(defaults.nqn),
            serial: args.serial.clone().unwrap_or(defaults.serial),
            model: defaults.model,
            refuse_invalid_placement: args.invalid_placement == InvalidPlacement::Error,
            advertise: args.advertise.iter().map(|a| (a.ip().to_string(), a.port())).collect(),
        },
        access,
    );
    let prepared = live::of_drive(&args.http, &device, &subsystem, quiet).and_then(|page| {
        // Last too, because it overwrites an existing capture.
        if let Some(path) = &args.record {
            drive.record(path).map_err(usage)?;
        }
        Ok(page)
    });
    let page = match prepared {
        Ok(page) => page,
        Err(error) => {
            drive.close()?;
            return Err(error);
        }
    };
    let nqn = subsystem.options.nqn.clone();
    let served = runtime.block_on(serve(args, quiet, server, subsystem, ctl.as_ref()));
    drop(ctl);
    drop(page);
    drop(runtime);
    let closed = drive.close();
    served?;
    closed?;
    let c = drive.counters().counters;
    if args.json {
        return output::json_line(&record(nqn, &device, &drive));
    }
    let (host, media) = (output::bytes(c.host_bytes), output::bytes(c.media_bytes));
    output::notice(quiet, &format!("hosts wrote {host}, the media {media}: WAF {:.3}", c.waf()));
    Ok(())
}

/// Listens on all addresses.
fn bind(addresses: &[SocketAddr], options: ServerOptions) -> Result<Server, LabError> {
    let failed = |address: &SocketAddr, error: io::Error| {
        LabError::config("--listen", format!("{address}: {error}"))
    };
    let (first, others) = addresses
        .split_first()
        .ok_or_else(|| LabError::config("--listen", "expected an address"))?;
    let server = Server::bind(*first, options).map_err(|error| failed(first, error))?;
    others.iter().try_fold(server, |server, address| {
        server.and_bind(*address).map_err(|error| failed(address, error))
    })
}

/// Returns the number of connections that leave file descriptors for everything else.
fn connections(args: &ServeArgs, quiet: bool) -> usize {
    let asked = args.max_connections as usize;
    let page = if args.http.http.is_some() { Limits::default().connections } else { 0 };
    let most = descriptors::raise().saturating_sub(RESERVED + page).max(1);
    if most < asked {
        output::notices(
            quiet,
            [format!(
                "serving {most} connections at a time: the limit of open files allows no more"
            )],
        );
    }
    asked.min(most)
}

fn check(args: &ServeArgs) -> Result<(), LabError> {
    if args.nqn.as_ref().is_some_and(|nqn| !nqn.starts_with("nqn.") || nqn.len() > 223) {
        let reason = "an NVMe Qualified Name begins with `nqn.` and has at most 223 bytes";
        return Err(LabError::config("--nqn", reason));
    }
    if args.advertise.len() > args.listen.len() {
        return Err(LabError::config("--advertise", "given more often than --listen"));
    }
    let printable = |c: char| (' '..='~').contains(&c);
    let valid = |serial: &String| (1..=20).contains(&serial.len()) && serial.chars().all(printable);
    if args.serial.as_ref().is_some_and(|serial| !valid(serial)) {
        return Err(LabError::config("--serial", "expected 1 to 20 ASCII characters"));
    }
    Ok(())
}

/// Converts a failure to create the drive into an error of the arguments or the configuration.
fn usage(error: DriveError) -> LabError {
    match error {
        DriveError::Config(e) => LabError::config(e.key, e.message),
        DriveError::Io { path, source } => LabError::config(path, source.to_string()),
        other => LabError::config("wafer serve", other.to_string()),
    }
}

async fn serve(
    args: &ServeArgs,
    quiet: bool,
    server: Server,
    subsystem: Arc<Subsystem>,
    ctl: Option<&ControlSocket>,
) -> anyhow::Result<()> {
    let drive = Arc::clone(&subsystem.drive);
    let addresses = server.local_addrs()?;
    // A signal may come as soon as the address is printed.
    let (mut interrupt, mut terminate) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let nqn = subsystem.options.nqn.clone();
    if args.json {
        let mut line = json!({ "nqn": nqn, "address": addresses[0] });
        if addresses.len() > 1 {
            line["ports"] = json!(addresses);
        }
        output::json_line(&line)?;
    }
    for address in addresses {
        let (host, port) = (address.ip(), address.port());
        output::notice(
            quiet,
            &format!("serving; nvme connect -t tcp -a {host} -s {port} -n {nqn}"),
        );
    }
    let (stop, stopping) = watch::channel(false);
    let stopper = tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        stop.send_replace(true);
    });
    let maintenance = tokio::spawn(maintain(drive));
    let ctl = ctl.map(ControlSocket::listener).transpose()?;
    let control = ctl.map(|ctl| tokio::spawn(control::serve(ctl, Arc::clone(&subsystem))));
    server.run(subsystem, stopping).await;
    stopper.abort();
    maintenance.abort();
    control.inspect(|control| control.abort());
    Ok(())
}

/// Flushes the capture from time to time.
async fn maintain(drive: Arc<Drive>) {
    let mut timer = tokio::time::interval(FLUSH_RECORD);
    loop {
        timer.tick().await;
        let drive = Arc::clone(&drive);
        let done = tokio::task::spawn_blocking(move || drive.maintain()).await;
        if let Ok(Err(error)) = done {
            output::notices(false, [error]);
        }
    }
}

/// Returns the record of a drive that is no longer served.
fn record(nqn: String, device: &ResolvedDevice, drive: &Drive) -> Record {
    let mut now = drive.snapshot();
    now.live.state = "ended".to_owned();
    now.reclaim_units = Some(drive.reclaim_units());
    let handles = now.handles.iter().filter(|(_, c)| c.media_bytes > 0).map(|(key, c)| {
        (*key, Series { host_bytes: vec![c.host_bytes], media_bytes: vec![c.media_bytes] })
    });
    let timeline = Timeline {
        host_bytes: vec![now.counters.host_bytes],
        media_bytes: vec![now.counters.media_bytes],
        seconds: vec![now.seconds],
        handles: handles.collect(),
        ..Timeline::default()
    };
    let provenance = wafer_lab::provenance(device, Kind::Drive, SystemTime::now());
    Record::of_snapshot(nqn, provenance, now, timeline)
}
