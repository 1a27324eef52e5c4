//! Admin commands, by opcode.

use wafer_spec::{AdminOpcode, Sqe, Status};

use super::{Controller, Failure, Kind, MAX_ASYNC_EVENTS, Reply};

/// Executes an admin command. `data` is what the host sent with it.
///
/// # Errors
/// The status that it completes with.
pub fn admin(controller: &Controller, sqe: &Sqe, data: &[u8]) -> Result<Reply, Failure> {
    let opcode = AdminOpcode(sqe.opcode);
    if opcode == AdminOpcode::KEEP_ALIVE {
        controller.touch();
        return Ok(Reply::default());
    }
    controller.check_enabled()?;
    if sqe.fuse() != 0 {
        return Err(Failure::field(1));
    }
    if controller.kind == Kind::Discovery {
        return match opcode {
            AdminOpcode::IDENTIFY => controller.identify(sqe),
            AdminOpcode::GET_LOG_PAGE => controller.get_log_page(sqe),
            AdminOpcode::GET_FEATURES => controller.get_features(sqe),
            AdminOpcode::SET_FEATURES => controller.set_features(sqe, data),
            AdminOpcode::ASYNC_EVENT_REQUEST => async_event_request(controller, sqe),
            _ => Err(Status::INVALID_OPCODE.into()),
        };
    }
    match opcode {
        AdminOpcode::IDENTIFY => controller.identify(sqe),
        AdminOpcode::GET_LOG_PAGE => controller.get_log_page(sqe),
        AdminOpcode::GET_FEATURES => controller.get_features(sqe),
        AdminOpcode::SET_FEATURES => controller.set_features(sqe, data),
        AdminOpcode::ASYNC_EVENT_REQUEST => async_event_request(controller, sqe),
        AdminOpcode::ABORT => Ok(abort(controller, sqe)),
        AdminOpcode::NAMESPACE_MANAGEMENT => controller.namespace_management(sqe, data),
        AdminOpcode::NAMESPACE_ATTACHMENT => controller.namespace_attachment(sqe, data),
        AdminOpcode::DIRECTIVE_RECEIVE => controller.directive_receive(sqe),
        AdminOpcode::DIRECTIVE_SEND => controller.directive_send(sqe),
        AdminOpcode::FORMAT_NVM => controller.format_nvm(sqe),
        _ => Err(Status::INVALID_OPCODE.into()),
    }
}

fn async_event_request(controller: &Controller, sqe: &Sqe) -> Result<Reply, Failure> {
    let mut state = controller.state();
    if state.async_requests.len() >= MAX_ASYNC_EVENTS {
        return Err(Status::ASYNC_EVENT_LIMIT.into());
    }
    state.async_requests.push_back(sqe.cid.get());
    Ok(Reply { deferred: true, ..Default::default() })
}

/// Only asynchronous event requests wait long enough to be aborted; other commands are done before an
/// abort is looked at.
fn abort(controller: &Controller, sqe: &Sqe) -> Reply {
    let (sqid, cid) = (sqe.cdw10.get() as u16, (sqe.cdw10.get() >> 16) as u16);
    let mut state = controller.state();
    let found = state.async_requests.iter().position(|waiting| sqid == 0 && *waiting == cid);
    match found {
        Some(at) => {
            state.async_requests.remove(at);
            state.aborted.push(cid);
            drop(state);
            controller.wake.notify_one();
            Reply::dw0(0)
        }
        None => Reply::dw0(1),
    }
}
