//! Sends a request to the socket of a server, and prints the response.

use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use wafer_config::ConfigError;
use wafer_output as output;
use wafer_output::Table;
use wafer_target::control::{
    Ana, AnaAccess, Drop, Event, Fail, HealthChange, Hosts, Namespace, NoFields, Range, ReadDelays,
    Request, Response, Status,
};

use crate::args::{CriticalWarningBit, CtlArgs, CtlCommand};
use crate::hosts;

/// Time that a server has to respond: it may have to write to a slow disk.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum length of a response in bytes.
const MAX_RESPONSE: u64 = 16 << 20;

/// Sends the request of a command line and prints the response.
///
/// # Errors
/// If no server listens, the server refuses the request or fails, or stdout cannot be written.
pub fn run(args: &CtlArgs) -> anyhow::Result<()> {
    let CtlArgs { path, subsystem, json, command } = args;
    let lists = matches!(command, CtlCommand::Status);
    let mut request = serde_json::to_value(request(command.clone())?)?;
    if let Some(subsystem) = subsystem {
        request["subsystem"] = subsystem.clone().into();
    }
    match exchange(path, &request)? {
        Response::Done(value) if *json => output::json_line(&value),
        Response::Done(value) if lists => {
            let status = serde_json::from_value(value);
            print(
                &status.with_context(|| {
                    format!("{}: the server is of another version", path.display())
                })?,
            )
        }
        Response::Done(_) => Ok(()),
        Response::Refused(reason) => {
            Err(ConfigError::new(path.display().to_string(), reason).into())
        }
        Response::Failed(reason) => anyhow::bail!("{}: {reason}", path.display()),
    }
}

fn request(command: CtlCommand) -> Result<Request, ConfigError> {
    Ok(match command {
        CtlCommand::Status => Request::Status(NoFields {}),
        CtlCommand::MediaError { blocks, clear } => Request::MediaError(Range {
            namespace: blocks.namespace,
            lba: blocks.lba,
            blocks: blocks.blocks,
            clear,
        }),
        CtlCommand::ReadDelay { blocks, time, .. } => Request::ReadDelay(ReadDelays {
            namespace: blocks.namespace,
            lba: blocks.lba,
            blocks: blocks.blocks,
            milliseconds: time.map_or(0, |time| time.as_millis() as u32),
        }),
        CtlCommand::Health {
            available_spare,
            temperature,
            percentage_used,
            critical_warning,
            clear,
        } => Request::Health(HealthChange {
            clear,
            available_spare,
            temperature,
            percentage_used,
            critical_warning: bits(&critical_warning),
        }),
        CtlCommand::Fail { opcode, status, count, dnr, host, namespace } => {
            Request::Fail(Fail { opcode, status, count, dnr, host, namespace })
        }
        CtlCommand::Drop { host, queue } => Request::Drop(Drop { host, queue }),
        CtlCommand::Event { kind, host } => Request::Event(Event { kind, host }),
        CtlCommand::Ana { state, port, group } => Request::Ana(Ana { port, group, state }),
        CtlCommand::Namespace { namespace, off, on, uuid, ana_group } => {
            let on = (off || on).then_some(on);
            Request::Namespace(Namespace { namespace, on, uuid, ana_group })
        }
        CtlCommand::Hosts { file } => Request::Hosts(Hosts { hosts: hosts::read(&file)?.0 }),
        CtlCommand::Clear => Request::Clear(NoFields {}),
    })
}

/// Returns the critical-warning byte; none if there are no warnings.
fn bits(warnings: &[CriticalWarningBit]) -> Option<u8> {
    let bit = |warning: &CriticalWarningBit| match warning {
        CriticalWarningBit::Spare => 1 << 0,
        CriticalWarningBit::Temperature => 1 << 1,
        CriticalWarningBit::Reliability => 1 << 2,
        CriticalWarningBit::ReadOnly => 1 << 3,
        CriticalWarningBit::Backup => 1 << 4,
        CriticalWarningBit::PersistentMemory => 1 << 5,
        CriticalWarningBit::None => 0,
    };
    (!warnings.is_empty()).then(|| warnings.iter().map(bit).fold(0, |all, bit| all | bit))
}

/// Sends a request and returns the response.
fn exchange(path: &Path, request: &serde_json::Value) -> anyhow::Result<Response> {
    let name = path.display().to_string();
    let connected = UnixStream::connect(path);
    let mut stream = connected.map_err(|error| {
        let reason = match error.kind() {
            ErrorKind::ConnectionRefused => "no server listens on it".to_owned(),
            _ => error.to_string(),
        };
        ConfigError::new(name.clone(), reason)
    })?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    // A server with too many clients closes the connection at once.
    let busy = || format!("{name}: no response; the server may have too many clients");
    stream.write_all(&line).with_context(busy)?;
    let mut response = String::new();
    BufReader::new(stream.take(MAX_RESPONSE)).read_line(&mut response).with_context(busy)?;
    if response.is_empty() {
        anyhow::bail!(busy());
    }
    serde_json::from_str(&response)
        .with_context(|| format!("{name}: the server is of another version"))
}

/// Prints the injected faults and the connected hosts.
fn print(status: &Status) -> anyhow::Result<()> {
    let all = |value: Option<String>| value.unwrap_or_else(|| "all".to_owned());
    let mut hosts = Table::default().numbers(["ID"]).text(["HOST", "KIND", "QUEUES"]);
    for c in &status.connections {
        let queues: Vec<String> = c.queues.iter().map(u16::to_string).collect();
        let kind = format!("{:?}", c.kind).to_lowercase();
        hosts.row([c.cntlid.to_string(), c.host.clone(), kind, queues.join(",")]);
    }
    let mut faults = Table::default().text(["FAULT", "WHERE", "WHAT"]);
    let place = |namespace: u32, lba: u64, blocks: u64| {
        format!("namespace {namespace}, block {lba}, {blocks} blocks")
    };
    for e in &status.media_errors {
        faults.row(["media-error".into(), place(e.namespace, e.lba, e.blocks), String::new()]);
    }
    for d in &status.read_delays {
        let time = format!("{} ms", d.milliseconds);
        faults.row(["read-delay".into(), place(d.namespace, d.lba, d.blocks), time]);
    }
    for port in &status.ports {
        let address = port.address.map_or_else(String::new, |address| format!(", {address}"));
        for ana in port.groups.iter().filter(|ana| ana.state != AnaAccess::Optimized) {
            let state = serde_json::to_value(ana.state)?;
            let state = state.as_str().unwrap_or_default().to_owned();
            let place = format!("port {}{address}, ANA group {}", port.id, ana.group);
            faults.row(["ana".into(), place, state]);
        }
    }
    for namespace in status.namespaces.iter().filter(|namespace| !namespace.on) {
        faults.row([
            "namespace".into(),
            format!("namespace {}", namespace.namespace),
            "off".into(),
        ]);
    }
    let health = &status.health;
    for (name, value) in [
        ("available-spare", health.available_spare.map(|v| format!("{v} %"))),
        ("temperature", health.temperature.map(|v| format!("{v} K"))),
        ("percentage-used", health.percentage_used.map(|v| format!("{v} %"))),
        (
            "critical-warning",
            (health.critical_warning > 0).then(|| format!("{:#04x}", health.critical_warning)),
        ),
    ] {
        if let Some(value) = value {
            faults.row(["health".into(), name.into(), value]);
        }
    }
    for f in &status.failing {
        let namespace = all(f.namespace.map(|nsid| nsid.to_string()));
        let place = format!("{}, namespace {namespace}, host {}", f.opcode, all(f.host.clone()));
        let dnr = if f.dnr { ", do not retry" } else { "" };
        faults.row(["fail".into(), place, format!("next {}: {}{dnr}", f.count, f.status)]);
    }
    let mut out = output::styled();
    hosts.print(&mut out)?;
    Ok(faults.print(&mut out)?)
}
