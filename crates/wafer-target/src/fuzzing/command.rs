//! Commands without a transport: an input is a list of entries for the two queues of a controller.

use wafer_nvme::zerocopy::{FromBytes as _, IntoBytes as _};
use wafer_nvme::*;

use super::{Signature, connect, subsystem};
use wafer_controller;
use wafer_controller::MAX_TRANSFER;
use wafer_io::IoQueue;

/// Maximum number of commands per input.
const MOST: usize = 64;

/// Builds an entry of an input: the queue, the command, the length of its data, and its data.
pub fn entry(io: bool, sqe: &Sqe, data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u16).to_le_bytes();
    [&[u8::from(io)], sqe.as_bytes(), &length, data].concat()
}

/// Runs the commands of an input on a new drive.
///
/// # Panics
/// If a command panics, returns more than a host can take, or violates an invariant of the device.
pub fn command(input: &[u8]) -> Signature {
    let mut signature = Signature::new();
    let subsystem = subsystem();
    let admin = connect(&subsystem);
    let mut io = IoQueue::new(std::sync::Arc::clone(&admin));
    let mut rest = input;
    for _ in 0..MOST {
        let Some((queue, after)) = rest.split_first() else { break };
        let Ok((sqe, after)) = Sqe::read_from_prefix(after) else { break };
        let Ok((length, after)) = U16::read_from_prefix(after) else { break };
        let (data, after) = after.split_at(usize::from(length.get()).min(after.len()));
        rest = after;
        let is_io = queue & 1 == 1;
        let (status, returned) = if is_io {
            run_io(&mut io, &sqe, data)
        } else {
            let reply = wafer_controller::admin(&admin, &sqe, data);
            if let Err(failure) = &reply {
                admin.fail(0, &sqe, failure);
            }
            let returned = reply.as_ref().map_or(0, |reply| reply.data.len());
            (reply.map_or_else(|failure| failure.status, |_| Status::SUCCESS), returned)
        };
        assert!(returned as u64 <= MAX_TRANSFER, "{returned} bytes for {sqe:?}");
        let what = u16::from(sqe.opcode) | u16::from(is_io) << 8;
        signature.insert((status.0 as u8, what, status.0 >> 8 | u16::from(returned > 0) << 8));
    }
    let _ = io.end_batch();
    admin.due_events();
    subsystem.drive.check_invariants().expect("the device is whole");
    let seen = subsystem.drive.counters();
    let by_handle: u64 = seen.handles.iter().map(|handle| handle.host_bytes).sum();
    assert_eq!(by_handle, seen.counters.host_bytes, "every byte has a handle");
    subsystem.remove(&admin);
    signature
}

/// Runs an I/O command as the transport does: with all the data that it needs, or not at all.
fn run_io(io: &mut IoQueue, sqe: &Sqe, data: &[u8]) -> (Status, usize) {
    io.begin_batch();
    let needed = match io.data_length(sqe) {
        Ok(needed) if needed <= MAX_TRANSFER => needed as usize,
        Ok(_) => return (Status::INVALID_FIELD, 0),
        Err(failure) => return (failure.status, 0),
    };
    let mut all = data.to_vec();
    all.resize(needed.max(data.len()), 0x5a);
    let mut out = Vec::new();
    let result = io.execute(sqe, &all, &mut out);
    let result = result.and(io.end_batch().map_err(Into::into));
    match result {
        Ok(_) => (Status::SUCCESS, out.len()),
        Err(failure) => (failure.status, 0),
    }
}
