//! Admin commands: the table of handlers, and the short ones. Identify, features, log pages and namespaces
//! have files of their own.
//!
//! To add a command, write a handler and add it to [`COMMANDS`]. Its opcode, effects and capability bits are
//! in the table of `wafer_nvme`.

use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{
    AbortCdw10, AdminOpcode, DirectiveCdw11, DirectiveEnable, DirectiveParameters, DirectiveType,
    Sqe, Status, location,
};

use super::limits::MAX_ASYNC_EVENTS;
use super::reply::{Failure, Reply};
use super::subsystem::{Controller, Kind, check_nsid};
use super::{features, identify, logs, namespaces};

/// Checks and executes a command. The slice is the data that the host sent with it.
type Handler = fn(&Controller, &Sqe, &[u8]) -> Result<Reply, Failure>;

/// Supported admin commands. Fabrics commands are not among them: the effects log has no entry for them.
pub(crate) const COMMANDS: &[(AdminOpcode, Handler)] = &[
    (AdminOpcode::GET_LOG_PAGE, logs::get_log_page),
    (AdminOpcode::IDENTIFY, identify::identify),
    (AdminOpcode::ABORT, abort),
    (AdminOpcode::SET_FEATURES, features::set_features),
    (AdminOpcode::GET_FEATURES, features::get_features),
    (AdminOpcode::ASYNC_EVENT_REQUEST, async_event_request),
    (AdminOpcode::NAMESPACE_MANAGEMENT, namespaces::management),
    (AdminOpcode::NAMESPACE_ATTACHMENT, namespaces::attachment),
    (AdminOpcode::KEEP_ALIVE, keep_alive),
    (AdminOpcode::DIRECTIVE_SEND, directive_send),
    (AdminOpcode::DIRECTIVE_RECEIVE, directive_receive),
    (AdminOpcode::FORMAT_NVM, namespaces::format_nvm),
];

/// Executes an admin command. `data` is the data that the host sent with it.
///
/// # Errors
/// The status that it completes with.
pub fn admin(controller: &Controller, sqe: &Sqe, data: &[u8]) -> Result<Reply, Failure> {
    let opcode = AdminOpcode(sqe.opcode);
    // Keep Alive is accepted in every state of the controller.
    if opcode != AdminOpcode::KEEP_ALIVE {
        if !controller.state().cc.en() {
            return Err(Status::SEQUENCE_ERROR.into());
        }
        if sqe.fuse() != 0 {
            return Err(location!(flags).into());
        }
    }
    let handler = COMMANDS.iter().find(|(supported, _)| *supported == opcode);
    let ((_, handler), row) = handler.zip(opcode.info()).ok_or(Status::INVALID_OPCODE)?;
    if controller.kind == Kind::Discovery && !row.discovery {
        return Err(Status::INVALID_OPCODE.into());
    }
    check_nsid(row.namespace, sqe.nsid.get())?;
    handler(controller, sqe, data)
}

/// Aborts an asynchronous event request. Every other command completes before an abort is looked at.
fn abort(controller: &Controller, sqe: &Sqe, _: &[u8]) -> Result<Reply, Failure> {
    let cdw10 = AbortCdw10::of(sqe);
    let mut state = controller.state();
    let mut waiting = state.async_requests.iter();
    let Some(at) = waiting.position(|cid| cdw10.sqid() == 0 && *cid == cdw10.cid()) else {
        // Bit 0: the command was not aborted.
        return Ok(Reply::dw0(1));
    };
    state.async_requests.remove(at);
    state.aborted.push(cdw10.cid());
    drop(state);
    controller.wake.notify_one();
    Ok(Reply::default())
}

fn async_event_request(controller: &Controller, sqe: &Sqe, _: &[u8]) -> Result<Reply, Failure> {
    let mut state = controller.state();
    if state.async_requests.len() >= MAX_ASYNC_EVENTS {
        return Err(Status::ASYNC_EVENT_LIMIT.into());
    }
    state.async_requests.push_back(sqe.cid.get());
    Ok(Reply { deferred: true, ..Default::default() })
}

fn keep_alive(controller: &Controller, _: &Sqe, _: &[u8]) -> Result<Reply, Failure> {
    controller.touch();
    Ok(Reply::default())
}

/// Checks a directive command: operation 1 (return parameters, or enable) of the Identify directive is the
/// only one supported (Base 2.1, 8.1.8).
fn check_directive(sqe: &Sqe) -> Result<(), Failure> {
    let cdw11 = DirectiveCdw11::of(sqe);
    if DirectiveType(cdw11.dtype()) != DirectiveType::IDENTIFY {
        return Err(DirectiveCdw11::new().with_dtype(1).location().into());
    }
    if cdw11.doper() != 1 {
        return Err(DirectiveCdw11::new().with_doper(1).location().into());
    }
    Ok(())
}

/// Enables or disables the data placement directive. It follows FDP and cannot be switched by itself.
fn directive_send(controller: &Controller, sqe: &Sqe, _: &[u8]) -> Result<Reply, Failure> {
    check_directive(sqe)?;
    let cdw12 = DirectiveEnable::of(sqe);
    if DirectiveType(cdw12.dtype()) != DirectiveType::DATA_PLACEMENT {
        return Err(DirectiveEnable::new().with_dtype(1).location().into());
    }
    controller.check_active(sqe.nsid.get())?;
    if cdw12.endir() != controller.subsystem.drive.fdp_enabled() {
        return Err(DirectiveEnable::new().with_endir(true).location().into());
    }
    Ok(Reply::default())
}

/// Returns the supported and enabled directives.
fn directive_receive(controller: &Controller, sqe: &Sqe, _: &[u8]) -> Result<Reply, Failure> {
    check_directive(sqe)?;
    controller.check_active(sqe.nsid.get())?;
    let identify = 1 << DirectiveType::IDENTIFY.0;
    let fdp = controller.subsystem.drive.fdp_enabled();
    let placement = u8::from(fdp) << DirectiveType::DATA_PLACEMENT.0;
    let mut parameters = DirectiveParameters::default();
    parameters.supported[0] = identify | placement;
    parameters.enabled[0] = identify | placement;
    parameters.persistent[0] = placement;
    Ok(Reply::data(parameters.as_bytes()))
}
