//! The subsystem: its drive, its controllers, and how hosts connect to them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::mem::offset_of;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio::time::Instant;
use uuid::Uuid;
use wafer_drive::{Download, Drive, Spare};
use wafer_nvme::{
    AsyncEventConfig, Cc, ConnectCommand, ConnectData, DISCOVERY_NQN, HostBehavior, Location,
    MAX_NQN, NvmOpcode, Status, nqn,
};
use wafer_ocp::Ocp;

use super::async_event::Events;
use super::faults::Faults;
use super::lockdown::Lockdown;
use super::ports::{Ports, Reached};
use super::support::Support;
use super::telemetry::Telemetry;
use super::{Access, Controller, Failure, MAX_IO_QUEUES, MQES_Z, Rights, State};
use crate::Latch;

/// What a subsystem presents to hosts.
#[derive(Clone, Debug)]
pub struct SubsystemOptions {
    /// NVMe Qualified Name.
    pub nqn: String,
    /// Serial number, at most 20 ASCII characters.
    pub serial: String,
    /// Model number, at most 40 ASCII characters.
    pub model: String,
    /// Whether a write with an invalid placement identifier fails instead of using the default
    /// handle.
    pub refuse_invalid_placement: bool,
    /// Addresses of the ports in the discovery log, in order. Other ports report the address that they listen on.
    pub advertise: Vec<(String, u16)>,
}

impl SubsystemOptions {
    /// Returns the options of a drive: its UUID determines NQN and serial number, and the name of its profile, or the
    /// name of its file without the directory, determines the model number.
    pub fn of_drive(drive: &Drive, device: &str) -> Self {
        let uuid = drive.uuid();
        let stem = Path::new(device).file_stem().map(|stem| stem.to_string_lossy());
        let printable = |c: char| if matches!(c, ' '..='~') { c } else { '_' };
        let name: String = stem.iter().flat_map(|stem| stem.chars()).map(printable).collect();
        SubsystemOptions {
            nqn: format!("nqn.2014-08.org.nvmexpress:uuid:{}", Uuid::from_bytes(uuid)),
            // The field holds 20 digits.
            serial: uuid[6..].iter().map(|byte| format!("{byte:02X}")).collect(),
            model: format!("wafer {name}"),
            refuse_invalid_placement: false,
            advertise: Vec::new(),
        }
    }
}

/// The kind of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// I/O controller of the subsystem.
    Io,
    /// Discovery controller.
    Discovery,
}

/// A controller as the live page shows it.
#[derive(Clone, Debug, Serialize)]
pub struct ControllerInfo {
    /// Controller ID.
    pub cntlid: u16,
    /// Its kind.
    pub kind: Kind,
    /// NQN of the host.
    pub hostnqn: String,
    /// Connected I/O queues.
    pub io_queues: usize,
    /// Completed commands.
    pub commands: u64,
    /// Seconds since it was connected.
    pub connected_seconds: f64,
}

/// An NVM subsystem with one drive.
pub struct Subsystem {
    /// The drive.
    pub drive: Arc<Drive>,
    /// How hosts see it.
    pub options: SubsystemOptions,
    /// When it was created.
    pub started: Instant,
    pub(crate) support: Support,
    /// Its state for the OCP Datacenter NVMe SSD specification.
    pub ocp: Ocp,
    /// Injected faults.
    pub faults: Faults,
    pub(super) telemetry: Telemetry,
    pub(crate) download: Download,
    pub(super) ports: Ports,
    neighbours: OnceLock<Vec<Arc<Subsystem>>>,
    pub(crate) lockdown: Lockdown,
    access: RwLock<Arc<Access>>,
    /// Held while an operator changes a namespace.
    pub(crate) changing: Mutex<()>,
    controllers: Mutex<BTreeMap<u16, Arc<Controller>>>,
}

/// Highest controller ID that hosts may have.
const LAST_CNTLID: u16 = 0xffef;

/// Wraps a function so that it is called only while the subsystem exists.
fn while_alive<A, F: Fn(&Subsystem, A)>(of: &Arc<Subsystem>, act: F) -> impl Fn(A) + use<A, F> {
    let of = Arc::downgrade(of);
    move |what| of.upgrade().map_or((), |subsystem| act(&subsystem, what))
}

impl Subsystem {
    /// Creates a subsystem without controllers that grants every host all rights. `io_commands` are the commands that
    /// I/O queues execute.
    pub fn new(
        drive: Arc<Drive>,
        io_commands: &'static [NvmOpcode],
        options: SubsystemOptions,
    ) -> Arc<Self> {
        Self::with_access(drive, io_commands, options, Access::default())
    }

    /// Creates a subsystem without controllers.
    pub fn with_access(
        drive: Arc<Drive>,
        io_commands: &'static [NvmOpcode],
        options: SubsystemOptions,
        access: Access,
    ) -> Arc<Self> {
        let subsystem = Arc::new(Subsystem {
            ocp: Ocp::new(&drive),
            drive,
            options,
            access: RwLock::new(access.into()),
            started: Instant::now(),
            support: super::support(io_commands),
            telemetry: Telemetry::default(),
            download: Download::default(),
            ports: Ports::default(),
            neighbours: OnceLock::new(),
            changing: Mutex::default(),
            lockdown: Lockdown::default(),
            faults: Faults::default(),
            controllers: Mutex::default(),
        });
        let drive = &subsystem.drive;
        let sanitized = while_alive(&subsystem, |subsystem, ()| subsystem.sanitized());
        drive.on_sanitized(move || sanitized(()));
        let daily = while_alive(&subsystem, |subsystem, ()| subsystem.log_smart());
        drive.on_day(move || daily(()));
        subsystem.log_power_on();
        drive.on_health(while_alive(&subsystem, |subsystem, saved: bool| {
            let spare = subsystem.drive.spare();
            subsystem.health_changed((!saved, spare), (saved, spare));
        }));
        let worn = while_alive(&subsystem, |subsystem, spare: [Spare; 2]| {
            let [before, now] = spare.map(|spare| (subsystem.drive.is_saved(), spare));
            subsystem.health_changed(before, now);
        });
        drive.on_spare(move |before, now| worn([before, now]));
        subsystem
    }

    /// Offers other subsystems at the ports of this one, and in its discovery log. Only the first call has an effect.
    pub fn offer(&self, others: Vec<Arc<Subsystem>>) {
        let _ = self.neighbours.set(others);
    }

    /// Returns the subsystems that its ports offer, starting with itself.
    pub fn offered(self: &Arc<Self>) -> Vec<Arc<Subsystem>> {
        let others = self.neighbours.get().into_iter().flatten();
        std::iter::once(self).chain(others).map(Arc::clone).collect()
    }

    /// Returns the subsystem that Connect names, or itself if none has the name.
    pub fn named(self: &Arc<Self>, data: &ConnectData) -> Arc<Subsystem> {
        let name = nqn(&data.subnqn);
        let found = self.offered().into_iter().find(|s| name == Some(s.options.nqn.as_str()));
        found.unwrap_or_else(|| Arc::clone(self))
    }

    /// Returns which hosts may connect, and with which rights.
    pub fn access(&self) -> Arc<Access> {
        Arc::clone(&self.access.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes which hosts may connect, how they authenticate, and their rights. Connected hosts keep their rights
    /// until they reconnect.
    pub fn set_access(&self, access: Access) {
        *self.access.write().unwrap_or_else(PoisonError::into_inner) = access.into();
    }

    fn registry(&self) -> MutexGuard<'_, BTreeMap<u16, Arc<Controller>>> {
        self.controllers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns all controllers, by ID.
    pub fn controllers(&self) -> Vec<Arc<Controller>> {
        self.registry().values().cloned().collect()
    }

    /// Returns the controllers in the form that the live page uses.
    pub fn controller_infos(&self) -> Vec<ControllerInfo> {
        let info = |c: Arc<Controller>| ControllerInfo {
            cntlid: c.cntlid,
            kind: c.kind,
            hostnqn: c.hostnqn.clone(),
            io_queues: c.state().queues.len(),
            commands: c.commands.load(Ordering::Relaxed),
            connected_seconds: c.started.elapsed().as_secs_f64(),
        };
        self.controllers().into_iter().map(info).collect()
    }

    /// Creates a controller: Connect on the admin queue.
    ///
    /// # Errors
    /// The status that Connect completes with.
    pub fn connect_admin(
        self: &Arc<Self>,
        command: &ConnectCommand,
        data: &ConnectData,
        reached: impl Into<Reached>,
    ) -> Result<Arc<Controller>, Failure> {
        let reached = reached.into();
        let port = self.port(reached.port).ok_or(Status::INTERNAL_ERROR)?;
        let (subnqn, hostnqn) = names(command, data)?;
        let kind = match subnqn {
            DISCOVERY_NQN => Kind::Discovery,
            name if name == self.options.nqn => Kind::Io,
            _ => return Err(invalid(offset_of!(ConnectData, subnqn), true)),
        };
        if data.cntlid.get() != 0xffff {
            // In the dynamic controller model, hosts cannot choose.
            return Err(invalid(offset_of!(ConnectData, cntlid), true));
        }
        if !(1..=MQES_Z).contains(&command.sqsize_z.get()) {
            return Err(invalid(offset_of!(ConnectCommand, sqsize_z), false));
        }
        // Every host may use discovery.
        let (rights, host) = match kind {
            Kind::Io => {
                let rights = self.access().rights(hostnqn).ok_or(Status::CONNECT_INVALID_HOST)?;
                (rights, self.drive.host(hostnqn))
            }
            Kind::Discovery => (Rights::default(), 0),
        };
        let mut registry = self.registry();
        let free = (1..=LAST_CNTLID).find(|id| !registry.contains_key(id));
        let cntlid = free.ok_or(Status::CONNECT_CONTROLLER_BUSY)?;
        let controller = Arc::new(Controller {
            cntlid,
            kind,
            hostnqn: hostnqn.to_owned(),
            hostid: data.hostid,
            rights,
            host,
            local: reached.address,
            port,
            subsystem: Arc::clone(self),
            state: Mutex::new(State {
                cc: Cc::new(),
                shutdown: false,
                queues: Default::default(),
                async_config: AsyncEventConfig::new(),
                async_requests: Default::default(),
                changed: Default::default(),
                events: Events {
                    warnings_due: self.warnings(Default::default()),
                    ..Events::default()
                },
                notifications: Default::default(),
                persistent_log: None,
                lba_status: Default::default(),
                reservation_masks: Default::default(),
                thresholds: Default::default(),
                errors: Default::default(),
                write_cache: true,
                host_behavior: HostBehavior::default(),
                kept_features: Default::default(),
                error_recovery: Default::default(),
                aborted: Vec::new(),
            }),
            dulbe: false.into(),
            resets: AtomicU64::new(0),
            heard: AtomicU64::new(0),
            started: Instant::now(),
            kato: AtomicU64::new(0),
            commands: AtomicU64::new(0),
            wake: Notify::new(),
            closed: Latch::default(),
        });
        controller.set_kato(command.kato.get());
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
            return Err(invalid(offset_of!(ConnectData, subnqn), true));
        }
        let controller = self.registry().get(&data.cntlid.get()).cloned();
        let controller =
            controller.ok_or_else(|| invalid(offset_of!(ConnectData, cntlid), true))?;
        if controller.kind != Kind::Io {
            return Err(invalid(offset_of!(ConnectData, cntlid), true));
        }
        if controller.hostnqn != hostnqn || controller.hostid != data.hostid {
            return Err(Status::CONNECT_INVALID_HOST.into());
        }
        let qid = command.qid.get();
        if qid > MAX_IO_QUEUES {
            return Err(invalid(offset_of!(ConnectCommand, qid), false));
        }
        if !(1..=MQES_Z).contains(&command.sqsize_z.get()) {
            return Err(invalid(offset_of!(ConnectCommand, sqsize_z), false));
        }
        if !controller.is_ready() {
            return Err(Status::SEQUENCE_ERROR.into());
        }
        match controller.state().queues.entry(qid) {
            Entry::Vacant(queue) => queue.insert(Latch::default()),
            Entry::Occupied(_) => return Err(Status::SEQUENCE_ERROR.into()),
        };
        Ok(controller)
    }

    /// Removes an I/O queue after its connection has closed.
    pub fn disconnect_io(&self, controller: &Controller, qid: u16) {
        controller.state().queues.remove(&qid);
    }

    /// Removes a controller after the connection of its admin queue has closed.
    pub fn remove(&self, controller: &Controller) {
        controller.close();
        let mut registry = self.registry();
        if registry.get(&controller.cntlid).is_some_and(|c| std::ptr::eq(&**c, controller)) {
            self.download.end(controller.cntlid);
            registry.remove(&controller.cntlid);
            drop(registry);
            self.end_streams(controller);
        }
    }

    /// Disables the Streams directive for the host of a controller that was reset or removed, unless the host has
    /// another enabled controller (Base 2.1, 8.1.8.2.2.1).
    pub(crate) fn end_streams(&self, controller: &Controller) {
        let host = controller.hostid;
        let others = self.controllers();
        let mut others = others.iter().filter(|other| !std::ptr::eq(&***other, controller));
        if !others.any(|other| other.hostid == host && other.state().cc.en()) {
            // Only enabling can fail.
            let _ = self.drive.enable_streams(host, None, false);
        }
    }
}

/// Checks the common part of both kinds of Connect and returns the names of subsystem and host.
fn names<'a>(
    command: &ConnectCommand,
    data: &'a ConnectData,
) -> Result<(&'a str, &'a str), Failure> {
    if command.recfmt.get() != 0 {
        return Err(Status::CONNECT_INCOMPATIBLE_FORMAT.into());
    }
    let valid =
        |field: &'a [u8; 256]| nqn(field).filter(|n| n.starts_with("nqn.") && n.len() <= MAX_NQN);
    let subnqn =
        valid(&data.subnqn).ok_or_else(|| invalid(offset_of!(ConnectData, subnqn), true))?;
    let hostnqn =
        valid(&data.hostnqn).ok_or_else(|| invalid(offset_of!(ConnectData, hostnqn), true))?;
    Ok((subnqn, hostnqn))
}

/// Returns Connect Invalid Parameters, at an offset of the command or of the data.
fn invalid(offset: usize, in_data: bool) -> Failure {
    let location = (!in_data).then(|| Location::new(offset, 0));
    // `lba` carries dword 0 of the completion for this status: IPO and IATTR.
    let lba = offset as u64 | u64::from(in_data) << 16;
    Failure { location, lba, ..Status::CONNECT_INVALID_PARAMETERS.into() }
}
