//! Authentication of a newly connected queue, and reauthentication.

use rand::rngs::OsRng;
use rand::{RngCore as _, TryRngCore as _};
use wafer_nvme::FabricsType;
use wafer_nvme::auth::Explanation;

use crate::admin::Admin;
use crate::options::{Credentials, HostOptions};
use crate::protocol::HostError;
use crate::queue::Queue;

/// Longest message, bytes.
const MOST: usize = 4096;

/// Authenticates the host on a queue.
///
/// # Errors
/// The transaction failed, or the connection broke.
pub(crate) fn authenticate(queue: &mut Queue, options: &HostOptions) -> Result<(), HostError> {
    let credentials = options.credentials.as_ref();
    let credentials = credentials.ok_or(HostError::Authentication(Explanation::FAILED))?;
    let Credentials { secret, controller_secret, hashes, groups } = credentials;
    let (host, subsystem) = (&options.hostnqn, &options.subnqn);
    let (secret, controller_secret) = (secret.clone(), controller_secret.clone());
    let mut entropy = |bytes: &mut [u8]| OsRng.unwrap_err().fill_bytes(bytes);
    let mut end = wafer_auth::Host::new(host, subsystem, secret, controller_secret, 1);

    send(queue, &end.negotiate(hashes, groups))?;
    let challenge = receive(queue)?;
    let reply = end.reply(&challenge, &mut entropy).map_err(HostError::Authentication)?;
    send(queue, &reply)?;
    let outcome = receive(queue)?;
    match end.success(&outcome) {
        Ok(None) => Ok(()),
        Ok(Some(last)) => send(queue, &last),
        Err(explanation) => {
            // The controller may have ended the connection already.
            let _ = send(queue, &end.failure(explanation));
            Err(HostError::Authentication(explanation))
        }
    }
}

fn send(queue: &mut Queue, data: &[u8]) -> Result<(), HostError> {
    let sqe = Admin::authentication(FabricsType::AUTHENTICATION_SEND, data.len());
    let status = queue.execute(sqe, data, 0)?.status;
    if status.is_success() {
        Ok(())
    } else {
        Err(HostError::Status { command: "authentication send", status })
    }
}

fn receive(queue: &mut Queue) -> Result<Vec<u8>, HostError> {
    let sqe = Admin::authentication(FabricsType::AUTHENTICATION_RECEIVE, MOST);
    let done = queue.execute(sqe, &[], MOST)?;
    if done.status.is_success() {
        Ok(done.data)
    } else {
        Err(HostError::Status { command: "authentication receive", status: done.status })
    }
}
