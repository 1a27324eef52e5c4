//! `wafer serve`

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;
use wafer_config::{ConfigError, Place, ResolvedDevice, load_device};
use wafer_controller::{Access, Rights, Subsystem, SubsystemOptions};
use wafer_drive::{Drive, DriveOptions, Given};
use wafer_lab::LabError;
use wafer_record::capture::used_before;
use wafer_record::metrics::Waf;
use wafer_record::record::Provenance;
use wafer_record::{Kind, Outputs, Record, Snapshot, Timeline};
use wafer_target::control;
use wafer_target::transport::{Server, ServerOptions};
use wafer_web::live::{Limits, Server as Page};

use super::ctl_socket::ControlSocket;
use super::subsystems::{self, Spec};
use super::{descriptors, drive_files, live};
use crate::args::ServeArgs;
use crate::cancel::{cancel_until, is_cancelled};
use crate::progress::Steps;
use wafer_output as output;

/// Interval for checking for a signal that came during a precondition.
const POLL: Duration = Duration::from_millis(200);

/// File descriptors reserved for files, listeners and the runtime: captures, checkpoints and logs must not
/// fail because hosts connect.
const RESERVED: usize = 64;
/// Default logical block size of the initial namespaces in bytes.
const LBA_BYTES: u32 = 4096;
/// Interval at which the capture is flushed.
const FLUSH_RECORD: Duration = Duration::from_secs(1);

/// A subsystem being served.
struct Served {
    spec: Spec,
    device: ResolvedDevice,
    subsystem: Arc<Subsystem>,
    /// The drive after its precondition, which its record excludes.
    before: Snapshot,
    /// The drive when its server started.
    start: Snapshot,
}

pub(crate) fn run(args: &ServeArgs, quiet: bool) -> anyhow::Result<()> {
    if args.advertise.len() > args.listen.len() {
        return Err(LabError::config("--advertise", "given more often than --listen").into());
    }
    let specs = subsystems::of(args)?;
    let mut prepared = Vec::with_capacity(specs.len());
    if specs.iter().any(|spec| spec.precondition.is_some()) {
        // No number of signals ends the process before the drives are saved.
        cancel_until(u32::MAX).map_err(|error| LabError::Run(error.to_string()))?;
    }
    let mut files = Outputs::default();
    specs.iter().for_each(|spec| files.input(Path::new(&spec.device)));
    for spec in specs {
        let device = load_device(&spec.device, &spec.set).map_err(|error| {
            let overrides =
                matches!(&error, ConfigError::Invalid { place: Place::Override { .. }, .. });
            spec.error(if overrides { "set" } else { "device" }, error.into())
        })?;
        if spec.time {
            device.config.check_clock().map_err(|reason| unclocked(&spec, &device, reason))?;
        }
        drive_files::filling(spec.precondition, &device, 0)
            .map_err(|error| spec.error("precondition", error))?;
        drive_files::claim(&mut files, &spec.device, &spec.data, None)
            .map_err(|error| spec.error("data", error.into()))?;
        let mut records = spec.record.iter();
        records
            .try_for_each(|path| files.output(path))
            .map_err(|error| spec.error("record", error.into()))?;
        let access = access(args, &spec).map_err(|error| spec.error("hosts", error))?;
        output::notices(quiet, &device.notices);
        prepared.push((spec, device, access));
    }
    crate::log::to_stderr(quiet);
    // Bind first: a second server on the same address must not touch the files of the first.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
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
    let mut served = Vec::with_capacity(prepared.len());
    let opened = prepared.into_iter().try_for_each(|(spec, device, access)| {
        open(args, spec, device, access, &mut served, quiet)
    });
    let page = opened.map_err(Into::into).and_then(|()| match &served[..] {
        [one] => live::of_drive(
            &args.http,
            args.http_ctl_token.as_deref(),
            &one.device,
            &one.subsystem,
            one.before.clone(),
            quiet,
        ),
        _ => Ok(None),
    });
    // This comes last because it overwrites existing captures.
    let page = page.and_then(|page| {
        served.iter().try_for_each(|served| record_to(served, quiet))?;
        Ok(page)
    });
    let page = match page {
        Ok(page) => page,
        Err(error) => {
            close(&served)?;
            return Err(error);
        }
    };
    let over = runtime.block_on(serve(args, quiet, server, &served, ctl.as_ref()));
    drop(ctl);
    // No host writes any more.
    let timeline = page.as_ref().map(Page::timeline);
    drop(page);
    drop(runtime);
    let closed = close(&served);
    over?;
    closed?;
    served.iter().try_for_each(|served| end(args, served, timeline.clone(), quiet))
}

/// Returns the error for `--time` on a device that does not support it.
fn unclocked(spec: &Spec, device: &ResolvedDevice, reason: &str) -> LabError {
    spec.error("time", LabError::config(format!("device {}", device.name), reason))
}

/// Returns the access rules of a subsystem.
fn access(args: &ServeArgs, spec: &Spec) -> Result<Access, LabError> {
    match &spec.hosts {
        Some(file) => Ok(wafer_ctl::hosts::read(file)?.1),
        // A machine trusts its own users, but not a network.
        None => Ok(Access::Everyone(Rights {
            manage: args.listen.iter().all(|a| a.ip().is_loopback()),
        })),
    }
}

/// Opens the drive of a subsystem and adds it to `served`.
fn open(
    args: &ServeArgs,
    spec: Spec,
    device: ResolvedDevice,
    access: Access,
    served: &mut Vec<Served>,
    quiet: bool,
) -> Result<(), LabError> {
    let drive = Drive::new(DriveOptions {
        device: device.config.clone(),
        seed: spec.seed.unwrap_or(0),
        data: spec.data.clone(),
        lba_bytes: spec.lba.unwrap_or(LBA_BYTES),
        events_enabled: spec.fdp_events,
        given: Given {
            seed: spec.seed.is_some(),
            lba_bytes: spec.lba.is_some(),
            events_enabled: spec.fdp_events,
        },
    });
    let drive = Arc::new(drive.map_err(|error| spec.error("data", drive_files::usage(error)))?);
    output::notices(quiet, drive.notices());
    let ready = precondition(&drive, &spec, &device, quiet).and_then(|before| {
        if spec.time {
            drive.emulate().map_err(|reason| unclocked(&spec, &device, &reason))?;
        }
        Ok(before)
    });
    let before = match ready {
        Ok(before) => before,
        Err(error) => {
            drive.close().map_err(|error| LabError::Run(error.to_string()))?;
            return Err(error);
        }
    };
    let defaults = SubsystemOptions::of_drive(&drive, &device.name);
    let options = SubsystemOptions {
        nqn: spec.nqn.clone().unwrap_or(defaults.nqn),
        serial: spec.serial.clone().unwrap_or(defaults.serial),
        model: defaults.model,
        refuse_invalid_placement: spec.refuse_invalid_placement,
        advertise: args.advertise.iter().map(|a| (a.ip().to_string(), a.port())).collect(),
    };
    let nqn = options.nqn.clone();
    let taken = served.iter().any(|other| other.subsystem.options.nqn == nqn);
    let start = Snapshot { seconds: 0.0, ..drive.snapshot().since(&before) };
    let subsystem = Subsystem::with_access(drive, wafer_io::SUPPORTED, options, access);
    let reason = format!("another subsystem has `{nqn}`");
    let error = taken.then(|| spec.error("nqn", LabError::config("--nqn", reason)));
    served.push(Served { spec, device, subsystem, before, start });
    error.map_or(Ok(()), Err)
}

/// Waits for a signal that came, or was handled, during a precondition.
async fn cancelled() {
    while !is_cancelled() {
        tokio::time::sleep(POLL).await;
    }
}

/// Fills a new drive as requested by `--precondition`, and returns its state afterwards.
fn precondition(
    drive: &Drive,
    spec: &Spec,
    device: &ResolvedDevice,
    quiet: bool,
) -> Result<Snapshot, LabError> {
    let filling = drive_files::filling(spec.precondition, device, spec.seed.unwrap_or(0))?;
    let Some((mut stream, bytes)) = filling else { return Ok(Snapshot::default()) };
    let bar = Steps::new("preconditioning", quiet);
    let filled = drive.precondition(&mut stream, |written| {
        bar.update(written, bytes);
        !is_cancelled()
    });
    bar.finish();
    filled.map_err(|error| match drive_files::usage(error) {
        LabError::Cancelled => LabError::Cancelled,
        error => spec.error("precondition", error),
    })?;
    Ok(drive.snapshot())
}

/// Begins the capture of a subsystem, if requested.
fn record_to(Served { spec, subsystem, .. }: &Served, quiet: bool) -> Result<(), LabError> {
    let Some(path) = &spec.record else { return Ok(()) };
    let replaced = drive_files::replaced(path);
    let recorded = subsystem.drive.record(path);
    recorded.map_err(|error| spec.error("record", drive_files::usage(error)))?;
    output::notices(quiet, replaced);
    output::notices(quiet, used_before(path, subsystem.drive.counters().lifetime.media_bytes));
    Ok(())
}

/// Saves all drives; returns the first error.
fn close(served: &[Served]) -> io::Result<()> {
    let closed: Vec<_> = served.iter().map(|served| served.subsystem.drive.close()).collect();
    closed.into_iter().collect()
}

/// Prints the counters of a drive.
fn end(
    args: &ServeArgs,
    served: &Served,
    timeline: Option<Timeline>,
    quiet: bool,
) -> anyhow::Result<()> {
    let Served { device, subsystem, before, start, .. } = served;
    let (drive, nqn) = (&subsystem.drive, &subsystem.options.nqn);
    let now = drive.snapshot().since(before);
    if args.json {
        return output::json_line(&record(nqn.clone(), device, drive, [start, &now], timeline));
    }
    let c = now.counters;
    let (host, media) = (output::bytes(c.host_bytes), output::bytes(c.media_bytes));
    let name = if args.subsystems.is_some() { format!("{nqn}: ") } else { String::new() };
    let waf = output::waf(Waf::of(c.host_bytes, c.media_bytes).ratio());
    let text = format!("{name}hosts wrote {host}, the media {media}: WAF {waf}");
    output::notice(quiet, &text);
    let Some(time) = now.time else { return Ok(()) };
    let mut out = output::styled();
    if args.subsystems.is_some() {
        writeln!(out, "\n{nqn}")?;
    }
    Ok(output::timed(&mut out, &time)?)
}

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

/// Returns the number of connections, leaving file descriptors for everything else.
fn connections(args: &ServeArgs, quiet: bool) -> usize {
    let asked = args.max_connections as usize;
    let page = if args.http.http.is_some() { Limits::default().connections } else { 0 };
    let most = descriptors::raise().saturating_sub(RESERVED + page).max(1);
    if most < asked {
        output::notices(
            quiet,
            [format!("serving {most} connections at once: the limit on open files allows no more")],
        );
    }
    asked.min(most)
}

async fn serve(
    args: &ServeArgs,
    quiet: bool,
    server: Server,
    served: &[Served],
    ctl: Option<&ControlSocket>,
) -> anyhow::Result<()> {
    let mut subsystems = served.iter().map(|served| Arc::clone(&served.subsystem));
    let subsystem = subsystems.next().context("no subsystem")?;
    subsystem.offer(subsystems.collect());
    let addresses = server.local_addrs()?;
    // A signal may arrive as soon as the address is printed.
    let (mut interrupt, mut terminate) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let nqns: Vec<&str> = served.iter().map(|s| s.subsystem.options.nqn.as_str()).collect();
    if args.json {
        let mut line = json!({ "nqn": nqns[0], "address": addresses[0] });
        if addresses.len() > 1 {
            line["ports"] = json!(addresses);
        }
        if nqns.len() > 1 {
            line["subsystems"] = json!(nqns);
        }
        output::json_line(&line)?;
    }
    for (address, nqn) in addresses.iter().flat_map(|a| nqns.iter().map(move |nqn| (a, nqn))) {
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
            () = cancelled() => {}
        }
        stop.send_replace(true);
    });
    let mut maintenance = JoinSet::new();
    for served in served {
        maintenance.spawn(maintain(Arc::clone(&served.subsystem.drive)));
    }
    let ctl = ctl.map(ControlSocket::listener).transpose()?;
    let control = ctl.map(|ctl| tokio::spawn(control::serve(ctl, Arc::clone(&subsystem))));
    server.run(subsystem, stopping).await;
    stopper.abort();
    maintenance.abort_all();
    control.inspect(|control| control.abort());
    Ok(())
}

/// Flushes the capture periodically.
async fn maintain(drive: Arc<Drive>) {
    let mut timer = tokio::time::interval(FLUSH_RECORD);
    loop {
        timer.tick().await;
        let drive = Arc::clone(&drive);
        let done = tokio::task::spawn_blocking(move || drive.maintain()).await;
        if let Ok(Err(error)) = done {
            output::warning(&error.to_string());
        }
    }
}

/// Returns the record of a drive that is no longer served; without a page, its timeline has only the end.
fn record(
    nqn: String,
    device: &ResolvedDevice,
    drive: &Drive,
    [start, now]: [&Snapshot; 2],
    timeline: Option<Timeline>,
) -> Record {
    let mut now = now.clone();
    now.live.state = "ended".to_owned();
    now.reclaim_units = Some(drive.reclaim_units());
    // What hosts had written by the start was not written since.
    let begun = Some(start).filter(|start| start.counters.host_bytes > 0);
    let ends = || Timeline::of_snapshots(begun.into_iter().chain([&now]));
    let timeline = timeline.unwrap_or_else(ends);
    let provenance = Provenance {
        seed: Some(drive.seed()),
        ..wafer_lab::provenance(device, Kind::Drive, SystemTime::now())
    };
    Record::of_snapshot(nqn, provenance, now, timeline)
}
