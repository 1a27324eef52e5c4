//! Commands alone, without a transport: an input is a list of entries for the two queues of a controller.

use wafer_spec::zerocopy::{FromBytes as _, IntoBytes as _};
use wafer_spec::*;

use super::{NQN, Signature, subsystem};
use crate::controller::{self, IoQueue, MAX_TRANSFER};

/// Commands of an input at most.
const MOST: usize = 64;

/// An entry of an input: which queue, the command, the length of its data, its data.
pub fn entry(io: bool, sqe: &Sqe, data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u16).to_le_bytes();
    [&[u8::from(io)], sqe.as_bytes(), &length, data].concat()
}

/// Runs the commands of an input on a new drive.
///
/// # Panics
/// If a command panics, answers more than a host can take, or breaks an invariant of the device.
pub fn command(input: &[u8]) -> Signature {
    let mut signature = Signature::new();
    let subsystem = subsystem();
    let connect = ConnectCommand { sqsize_z: 31.into(), ..Default::default() };
    let data = ConnectData {
        cntlid: 0xffff.into(),
        subnqn: nqn_field(NQN),
        hostnqn: nqn_field("nqn.2026-11.io.wafer:host"),
        ..Default::default()
    };
    let local = "127.0.0.1:4420".to_owned();
    let admin = subsystem.connect_admin(&connect, &data, local).expect("a controller");
    let enable = PropertyCommand {
        offset: Property::CC.0.into(),
        value: u64::from(Cc::new().with_en(true).into_bits()).into(),
        ..Default::default()
    };
    admin.property_set(&enable).expect("it is enabled");
    let mut io = IoQueue::new(std::sync::Arc::clone(&admin));
    let mut rest = input;
    for _ in 0..MOST {
        let Some((queue, after)) = rest.split_first() else { break };
        let Ok((sqe, after)) = Sqe::read_from_prefix(after) else { break };
        let Ok((length, after)) = U16::read_from_prefix(after) else { break };
        let (data, after) = after.split_at(usize::from(length.get()).min(after.len()));
        rest = after;
        let is_io = queue & 1 == 1;
        let (status, answered) = if is_io {
            run_io(&mut io, &sqe, data)
        } else {
            let reply = controller::admin(&admin, &sqe, data);
            if let Err(failure) = &reply {
                admin.fail(0, &sqe, failure);
            }
            let answered = reply.as_ref().map_or(0, |reply| reply.data.len());
            (reply.map_or_else(|failure| failure.status, |_| Status::SUCCESS), answered)
        };
        assert!(answered as u64 <= MAX_TRANSFER, "{answered} bytes for {sqe:?}");
        let what = u16::from(sqe.opcode) | u16::from(is_io) << 8;
        signature.insert((status.0 as u8, what, status.0 >> 8 | u16::from(answered > 0) << 8));
    }
    io.settle();
    admin.due_events();
    subsystem.drive.check_invariants().expect("the device is whole");
    let seen = subsystem.drive.snapshot();
    let by_handle: u64 = seen.handles.iter().map(|handle| handle.counters.host_bytes).sum();
    assert_eq!(by_handle, seen.counters.host_bytes, "every byte has a handle");
    subsystem.remove(&admin);
    signature
}

/// An I/O command as the transport hands it over: with all the data that it needs, or not at all.
fn run_io(io: &mut IoQueue, sqe: &Sqe, data: &[u8]) -> (Status, usize) {
    io.begin();
    let needed = match io.data_length(sqe) {
        Ok(needed) if needed <= MAX_TRANSFER => needed as usize,
        Ok(_) => return (Status::INVALID_FIELD, 0),
        Err(failure) => return (failure.status, 0),
    };
    let mut all = data.to_vec();
    all.resize(needed.max(data.len()), 0x5a);
    let mut out = Vec::new();
    let result = io.execute(sqe, &all, &mut out);
    io.settle();
    match result {
        Ok(_) => (Status::SUCCESS, out.len()),
        Err(failure) => (failure.status, 0),
    }
}
