//! Connect: hosts make controllers, and add I/O queues to them.

use std::mem::offset_of;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::sync::{Notify, watch};
use wafer_nvme::{ConnectCommand, ConnectData, DISCOVERY_NQN, Location, MAX_NQN, Status, nqn};

use super::limits::{LAST_CNTLID, MAX_IO_QUEUES, MQES_Z};
use super::reply::Failure;
use super::subsystem::{Controller, Kind, State, Subsystem};

impl Subsystem {
    /// Makes a controller: Connect on the admin queue.
    ///
    /// # Errors
    /// The status that Connect completes with.
    pub fn connect_admin(
        self: &Arc<Self>,
        command: &ConnectCommand,
        data: &ConnectData,
        local: String,
    ) -> Result<Arc<Controller>, Failure> {
        let (subnqn, hostnqn) = names(command, data)?;
        let kind = match subnqn {
            DISCOVERY_NQN => Kind::Discovery,
            name if name == self.options.nqn => Kind::Io,
            _ => return Err(invalid_data(offset_of!(ConnectData, subnqn))),
        };
        if data.cntlid.get() != 0xffff {
            // The dynamic controller model: hosts cannot choose.
            return Err(invalid_data(offset_of!(ConnectData, cntlid)));
        }
        check_size(command)?;
        let host = match kind {
            Kind::Io => self.drive.host(hostnqn),
            Kind::Discovery => 0,
        };
        let mut registry = self.registry();
        let free = (1..=LAST_CNTLID).find(|id| !registry.contains_key(id));
        let cntlid = free.ok_or(Status::CONNECT_CONTROLLER_BUSY)?;
        let controller = Arc::new(Controller {
            cntlid,
            kind,
            hostnqn: hostnqn.to_owned(),
            hostid: data.hostid,
            host,
            local,
            subsystem: Arc::clone(self),
            state: Mutex::new(State::default()),
            heard: AtomicU64::new(0),
            started: Instant::now(),
            kato: AtomicU64::new(command.kato.get().into()),
            commands: AtomicU64::new(0),
            wake: Notify::new(),
            closed: watch::Sender::new(false),
        });
        registry.insert(cntlid, Arc::clone(&controller));
        Ok(controller)
    }

    /// Adds an I/O queue to the host's controller: Connect on an I/O queue.
    ///
    /// # Errors
    /// The status that Connect completes with.
    pub fn connect_io(
        &self,
        command: &ConnectCommand,
        data: &ConnectData,
    ) -> Result<Arc<Controller>, Failure> {
        let (subnqn, hostnqn) = names(command, data)?;
        if subnqn != self.options.nqn {
            return Err(invalid_data(offset_of!(ConnectData, subnqn)));
        }
        let controller = self.registry().get(&data.cntlid.get()).cloned();
        let controller = controller
            .filter(|c| c.kind == Kind::Io)
            .ok_or_else(|| invalid_data(offset_of!(ConnectData, cntlid)))?;
        if controller.hostnqn != hostnqn || controller.hostid != data.hostid {
            return Err(Status::CONNECT_INVALID_HOST.into());
        }
        let qid = command.qid.get();
        if qid > MAX_IO_QUEUES {
            return Err(invalid_command(offset_of!(ConnectCommand, qid)));
        }
        check_size(command)?;
        if !controller.is_ready() || !controller.state().queues.insert(qid) {
            return Err(Status::SEQUENCE_ERROR.into());
        }
        Ok(controller)
    }
}

/// Checks the fields common to both kinds of Connect and returns the NQNs of subsystem and host.
fn names<'a>(
    command: &ConnectCommand,
    data: &'a ConnectData,
) -> Result<(&'a str, &'a str), Failure> {
    if command.recfmt.get() != 0 {
        return Err(Status::CONNECT_INCOMPATIBLE_FORMAT.into());
    }
    let valid = |field: &'a [u8; 256], offset: usize| {
        let name = nqn(field).filter(|n| n.starts_with("nqn.") && n.len() <= MAX_NQN);
        name.ok_or_else(|| invalid_data(offset))
    };
    let subnqn = valid(&data.subnqn, offset_of!(ConnectData, subnqn))?;
    Ok((subnqn, valid(&data.hostnqn, offset_of!(ConnectData, hostnqn))?))
}

fn check_size(command: &ConnectCommand) -> Result<(), Failure> {
    if (1..=MQES_Z).contains(&command.sqsize_z.get()) {
        Ok(())
    } else {
        Err(invalid_command(offset_of!(ConnectCommand, sqsize_z)))
    }
}

/// Returns Connect Invalid Parameters with the offset of a field of the command.
///
/// For this status `lba` carries dword 0 of the completion: IPO, and IATTR in bit 16.
fn invalid_command(offset: usize) -> Failure {
    let location = Some(Location::new(offset, 0));
    Failure { location, lba: offset as u64, ..Status::CONNECT_INVALID_PARAMETERS.into() }
}

/// Returns Connect Invalid Parameters with the offset of a field of the data.
fn invalid_data(offset: usize) -> Failure {
    Failure { lba: offset as u64 | 1 << 16, ..Status::CONNECT_INVALID_PARAMETERS.into() }
}
