//! Authentication of the host of a queue: the commands that carry its messages, and the commands that have to wait.

use wafer_auth::Controller as Authentication;
use wafer_controller::{Controller, Failure, Reply};
use wafer_io::TURN;
use wafer_nvme::auth::{AuthCommand, PROTOCOL_SPECIFIC, REQUIRED, SECURITY_PROTOCOL};
use wafer_nvme::zerocopy::{FromBytes as _, IntoBytes as _};
use wafer_nvme::{AdminOpcode, FabricsType, Sqe, Status, location};

use super::Queue;

/// Longest message, bytes: more than the largest group needs.
const MAX_MESSAGE: u64 = 4096;

/// Returns the authentication state of a new queue, if the host must authenticate.
pub(super) fn begin(controller: &Controller) -> Option<Box<Authentication>> {
    let nqn = &controller.subsystem.options.nqn;
    controller.credentials().map(|_| Authentication::new(&controller.hostnqn, nqn).into())
}

/// Returns whether a command carries a message.
pub(super) fn is_message(sqe: &Sqe) -> bool {
    let types = [FabricsType::AUTHENTICATION_SEND, FabricsType::AUTHENTICATION_RECEIVE];
    sqe.opcode == AdminOpcode::FABRICS.0 && types.contains(&sqe.fabrics_type())
}

impl Queue {
    /// Returns the authentication requirements in dword 0 of the completion of Connect.
    pub(crate) fn requirement(&self) -> u32 {
        if self.authentication.is_some() { REQUIRED } else { 0 }
    }

    /// Returns the number of the message that the host owes.
    pub(crate) fn owed_message(&self) -> Option<u64> {
        self.authentication.as_ref()?.owed()
    }

    /// Returns whether the host failed to authenticate and has learned so.
    pub(crate) fn is_refused(&self) -> bool {
        self.authentication.as_ref().is_some_and(|a| a.has_failed())
    }

    /// Checks that authentication permits a command (Base 2.1, 8.3.5.2).
    ///
    /// # Errors
    /// The host must authenticate first, or the message has an invalid length.
    pub(super) fn check_authenticated(&self, sqe: &Sqe) -> Result<(), Failure> {
        if is_message(sqe) {
            let fits = u64::from(sqe.sgl.length.get()) <= MAX_MESSAGE;
            return if fits { Ok(()) } else { Err(Status::INVALID_SGL_LENGTH.into()) };
        }
        match &self.authentication {
            Some(state) if !state.is_authenticated() => Err(Status::AUTHENTICATION_REQUIRED.into()),
            _ => Ok(()),
        }
    }

    /// Executes a command that carries a message.
    pub(super) fn authenticate(&mut self, sqe: &Sqe, data: &[u8]) -> Result<Reply, Failure> {
        let command = AuthCommand::read_from_bytes(sqe.as_bytes());
        let command = command.map_err(|_| Status::INTERNAL_ERROR)?;
        let length = command.length.get() as usize;
        let Some(state) = &mut self.authentication else {
            return Err(Status::INVALID_FIELD.into());
        };
        if command.secp != SECURITY_PROTOCOL {
            return Err(location!(AuthCommand, secp).into());
        }
        if [command.spsp0, command.spsp1] != PROTOCOL_SPECIFIC {
            return Err(location!(AuthCommand, spsp0).into());
        }
        if sqe.fabrics_type() == FabricsType::AUTHENTICATION_RECEIVE {
            let message = state.receive(length);
            let message = message.ok_or(location!(AuthCommand, length))?;
            return Ok(Reply { data: message, ..Reply::default() });
        }
        if length == 0 {
            return Err(location!(AuthCommand, length).into());
        }
        let message = data.get(..length).ok_or(Status::INVALID_SGL_LENGTH)?;
        // Computing the keys of large groups takes milliseconds.
        self.spent += TURN;
        let drive = &self.controller.subsystem.drive;
        let credentials = self.controller.credentials();
        state.send(message, credentials.as_deref(), &mut |bytes| drive.random(bytes));
        if let Some(explanation) = state.failure() {
            let host = self.controller.hostnqn.escape_debug();
            tracing::warn!(qid = self.qid, "{host} failed to authenticate: {explanation:?}");
        }
        Ok(Reply::default())
    }
}
