//! Executes requests of operators.

use std::sync::Arc;

use serde::Serialize;
use serde_json::json;
use uuid::Uuid;
use wafer_drive::Namespace;

use super::request::{
    Ana, Drop, Event, Fail, HealthChange, Hosts, Range, ReadDelays, Request, Response,
};
use super::{Status, names};
use wafer_controller::faults::{FailingCommand, MAX_DELAY, ReadDelay};
use wafer_controller::{Access, Controller, NamespaceChange, Subsystem, WrongChange, wrong_nqn};

/// Defined bits of Critical Warning.
const CRITICAL_WARNINGS: u8 = 0x3f;

/// Why a request is refused.
type Refused = String;

/// Executes a request. May wait for the files of the drive.
pub fn execute(subsystem: &Subsystem, request: Request) -> Response {
    let done = match request {
        Request::Status(_) => Ok(respond(&Status::of(subsystem))),
        Request::MediaError(range) => media_error(subsystem, &range),
        Request::ReadDelay(delays) => read_delay(subsystem, delays),
        Request::Health(change) => health(subsystem, &change),
        Request::Fail(fail) => fail_commands(subsystem, fail),
        Request::Drop(drop) => drop_connections(subsystem, &drop),
        Request::Event(event) => send_event(subsystem, &event),
        Request::Ana(ana) => change_access(subsystem, &ana),
        Request::Namespace(change) => change_namespace(subsystem, &change),
        Request::Hosts(Hosts { hosts }) => {
            let access = Access::listed(hosts).map_err(|wrong| wrong.to_string());
            access.map(|access| {
                subsystem.set_access(access);
                done()
            })
        }
        Request::Clear(_) => {
            subsystem.clear_faults();
            Ok(done())
        }
    };
    done.unwrap_or_else(Response::Refused)
}

fn done() -> Response {
    Response::Done(json!({}))
}

fn respond(value: &impl Serialize) -> Response {
    match serde_json::to_value(value) {
        Ok(value) => Response::Done(value),
        Err(error) => Response::Failed(error.to_string()),
    }
}

fn find(subsystem: &Subsystem, nsid: u32) -> Result<Arc<Namespace>, Refused> {
    let namespace = subsystem.drive.namespace(nsid);
    namespace.ok_or_else(|| format!("there is no namespace {nsid}"))
}

/// Returns a namespace that has these blocks, with their offset and length in bytes.
fn blocks(
    subsystem: &Subsystem,
    nsid: u32,
    lba: u64,
    blocks: u64,
) -> Result<(Arc<Namespace>, u64, u64), Refused> {
    let namespace = find(subsystem, nsid)?;
    let within = (blocks > 0).then(|| namespace.range(lba, blocks).ok()).flatten();
    let (offset, length) = within.ok_or_else(|| {
        let most = namespace.blocks();
        format!("namespace {nsid} has {most} blocks, so not {blocks} from block {lba} on")
    })?;
    Ok((namespace, offset, length))
}

fn media_error(subsystem: &Subsystem, range: &Range) -> Result<Response, Refused> {
    let (namespace, offset, length) = blocks(subsystem, range.namespace, range.lba, range.blocks)?;
    let set = subsystem.drive.set_media_error(&namespace, offset, length, !range.clear);
    Ok(match set {
        Ok(()) => done(),
        Err(status) => Response::Failed(format!("the drive fails with {status:?}")),
    })
}

fn read_delay(subsystem: &Subsystem, delays: ReadDelays) -> Result<Response, Refused> {
    let ReadDelays { namespace, lba, blocks: count, milliseconds } = delays;
    blocks(subsystem, namespace, lba, count)?;
    if milliseconds == 0 {
        let cleared = subsystem.clear_delays(namespace, lba, count);
        return Ok(Response::Done(json!({ "cleared": cleared })));
    }
    if u128::from(milliseconds) > MAX_DELAY.as_millis() {
        return Err(format!("a read may take {} s at most", MAX_DELAY.as_secs()));
    }
    let delay = ReadDelay { namespace, lba, blocks: count, milliseconds };
    subsystem.delay_reads(delay).map_err(|e| e.to_string())?;
    Ok(done())
}

fn health(subsystem: &Subsystem, change: &HealthChange) -> Result<Response, Refused> {
    if change.available_spare.is_some_and(|percent| percent > 100) {
        return Err("the available spare is 100 percent at most".to_owned());
    }
    if change.critical_warning.is_some_and(|bits| bits & !CRITICAL_WARNINGS != 0) {
        return Err("the critical warning has bits 0 to 5 only".to_owned());
    }
    let mut health = if change.clear { Default::default() } else { subsystem.injected().health };
    health.available_spare = change.available_spare.or(health.available_spare);
    health.temperature = change.temperature.or(health.temperature);
    health.percentage_used = change.percentage_used.or(health.percentage_used);
    health.critical_warning = change.critical_warning.unwrap_or(health.critical_warning);
    subsystem.set_health(health);
    Ok(done())
}

fn fail_commands(subsystem: &Subsystem, fail: Fail) -> Result<Response, Refused> {
    let (admin, opcode) = names::opcode(&fail.opcode)?;
    let Fail { count, dnr, host, namespace, .. } = fail;
    let status = names::status(&fail.status)?;
    if let Some(nsid) = namespace {
        find(subsystem, nsid)?;
    }
    if let Some((host, reason)) = host.as_deref().and_then(|nqn| Some((nqn, wrong_nqn(nqn)?))) {
        return Err(format!("host `{host}`: {reason}"));
    }
    if count == 0 {
        return Err("at least one command has to fail".to_owned());
    }
    let failing = FailingCommand { admin, opcode, status, dnr, count, host, namespace };
    subsystem.fail_commands(failing).map_err(|e| e.to_string())?;
    Ok(done())
}

/// Returns whether a controller belongs to a host, or to any host if none is given.
fn is_of(controller: &Controller, host: Option<&str>) -> bool {
    host.is_none_or(|host| host == controller.hostnqn)
}

fn drop_connections(subsystem: &Subsystem, drop: &Drop) -> Result<Response, Refused> {
    let controllers = subsystem.controllers();
    let of_host = controllers.iter().filter(|c| is_of(c, drop.host.as_deref()));
    let dropped: usize = of_host.map(|c| c.drop_connections(drop.queue)).sum();
    if dropped == 0 {
        return Err("no such connection".to_owned());
    }
    Ok(Response::Done(json!({ "connections": dropped })))
}

fn change_access(subsystem: &Subsystem, ana: &Ana) -> Result<Response, Refused> {
    let set = subsystem.set_ana_state(ana.port, ana.group, ana.state.into());
    set.map_err(|e| e.to_string())?;
    Ok(done())
}

fn change_namespace(
    subsystem: &Subsystem,
    change: &super::request::Namespace,
) -> Result<Response, Refused> {
    let super::request::Namespace { namespace: nsid, on, uuid, ana_group } = *change;
    if on.is_none() && uuid.is_none() && ana_group.is_none() {
        return Err("nothing to change is given: on, uuid or ana_group".to_owned());
    }
    let namespace = find(subsystem, nsid)?;
    let change = NamespaceChange {
        off: on == Some(false),
        uuid: uuid.map(Uuid::into_bytes),
        ana_group,
        on: on == Some(true),
    };
    match subsystem.change_namespace(&namespace, change) {
        Ok(()) => Ok(done()),
        Err(failed @ WrongChange::Drive(_)) => Ok(Response::Failed(failed.to_string())),
        Err(wrong) => Err(wrong.to_string()),
    }
}

fn send_event(subsystem: &Subsystem, event: &Event) -> Result<Response, Refused> {
    let controllers = subsystem.send_event(event.kind, |c| is_of(c, event.host.as_deref()));
    if controllers.is_empty() {
        return Err("no such host is connected and has enabled the event".to_owned());
    }
    Ok(Response::Done(json!({ "controllers": controllers })))
}
