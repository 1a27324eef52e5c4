//! The subsystem and its controllers: what they hold, and how long they live.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::sync::{Notify, watch};
use wafer_drive::{Drive, Namespace};
use wafer_nvme::{
    AsyncEventConfig, Cc, ErrorEntry, HostBehavior, Location, NamespaceUse, Sqe, Status,
    StatusField,
};

use super::limits::{ERROR_ENTRIES, LAST_NSID};
use super::reply::Failure;
use super::support::Support;

/// Every namespace, as an NSID.
pub(crate) const BROADCAST: u32 = 0xffff_ffff;

/// Identity and behaviour of a subsystem.
#[derive(Clone, Debug)]
pub struct SubsystemOptions {
    /// NVMe Qualified Name.
    pub nqn: String,
    /// Serial number, at most 20 ASCII characters.
    pub serial: String,
    /// Model number, at most 40 ASCII characters.
    pub model: String,
    /// Whether a write with an invalid placement identifier fails instead of going to the default
    /// handle.
    pub refuse_invalid_placement: bool,
    /// Address in the discovery log. The default is the address that the host connected to.
    pub advertise: Option<(String, u16)>,
}

/// The type of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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
    /// Its type.
    pub kind: Kind,
    /// NQN of the host.
    pub hostnqn: String,
    /// Number of connected I/O queues.
    pub io_queues: usize,
    /// Commands completed.
    pub commands: u64,
    /// Seconds since it was connected.
    pub connected_seconds: f64,
}

/// An NVM subsystem with one drive.
pub struct Subsystem {
    /// The drive.
    pub drive: Arc<Drive>,
    /// Its identity and behaviour.
    pub options: SubsystemOptions,
    pub(crate) support: Support,
    pub(super) controllers: Mutex<BTreeMap<u16, Arc<Controller>>>,
}

/// One controller: an association of one host.
pub struct Controller {
    /// Controller ID.
    pub cntlid: u16,
    /// I/O or discovery.
    pub kind: Kind,
    /// NQN of the host.
    pub hostnqn: String,
    /// Host identifier.
    pub hostid: [u8; 16],
    /// The host's number in captures.
    pub host: u16,
    /// The address that the host connected to, for the discovery log.
    pub local: String,
    /// The subsystem.
    pub subsystem: Arc<Subsystem>,
    pub(super) state: Mutex<State>,
    /// Milliseconds after `started` at which the keep alive timer was last restarted.
    pub(super) heard: AtomicU64,
    pub(super) started: Instant,
    /// Keep alive timeout in milliseconds; 0 is none.
    pub(super) kato: AtomicU64,
    /// Commands completed on all its queues.
    pub(super) commands: AtomicU64,
    /// Signals that an asynchronous event may be due.
    pub wake: Notify,
    pub(super) closed: watch::Sender<bool>,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) cc: Cc,
    pub(crate) shutdown: bool,
    /// Connected I/O queues.
    pub(crate) queues: BTreeSet<u16>,
    pub(crate) async_config: AsyncEventConfig,
    /// Command identifiers of asynchronous event requests.
    pub(crate) async_requests: VecDeque<u16>,
    /// Namespaces that changed since the host last read the log page.
    pub(crate) changed: BTreeSet<u32>,
    /// A notice was sent and its log page not read since. Until then no other notice is sent.
    pub(crate) notice_sent: bool,
    pub(crate) notice_due: bool,
    pub(crate) errors: VecDeque<ErrorEntry>,
    pub(crate) error_count: u64,
    pub(crate) write_cache_disabled: bool,
    pub(crate) host_behavior: HostBehavior,
    /// Values of features without effect, by identifier.
    pub(crate) kept_features: BTreeMap<u8, u32>,
    /// Aborted asynchronous event requests that are not completed yet.
    pub(crate) aborted: Vec<u16>,
}

impl Subsystem {
    pub(super) fn registry(&self) -> MutexGuard<'_, BTreeMap<u16, Arc<Controller>>> {
        self.controllers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns all controllers, by ID.
    pub fn controllers(&self) -> Vec<Arc<Controller>> {
        self.registry().values().cloned().collect()
    }

    /// Returns the controllers as the live page shows them.
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

    /// Removes an I/O queue whose connection is gone.
    pub fn disconnect_io(&self, controller: &Controller, qid: u16) {
        controller.state().queues.remove(&qid);
    }

    /// Removes a controller whose admin queue's connection is gone.
    pub fn remove(&self, controller: &Controller) {
        controller.close();
        let mut registry = self.registry();
        if registry.get(&controller.cntlid).is_some_and(|c| std::ptr::eq(&**c, controller)) {
            registry.remove(&controller.cntlid);
        }
    }
}

impl Controller {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Restarts the keep alive timer.
    pub fn touch(&self) {
        self.heard.store(self.started.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    /// Returns when the keep alive timer expires.
    pub fn deadline(&self) -> Option<Instant> {
        let kato = u64::from(self.kato());
        let until = self.heard.load(Ordering::Relaxed).saturating_add(kato);
        (kato > 0).then(|| self.started + Duration::from_millis(until))
    }

    pub(crate) fn set_kato(&self, milliseconds: u32) {
        self.kato.store(u64::from(milliseconds), Ordering::Relaxed);
        self.touch();
    }

    pub(crate) fn kato(&self) -> u32 {
        self.kato.load(Ordering::Relaxed) as u32
    }

    /// Ends the association: all its connections close.
    pub fn close(&self) {
        self.closed.send_replace(true);
    }

    /// Returns a channel that turns true when the association ends.
    pub fn closed(&self) -> watch::Receiver<bool> {
        self.closed.subscribe()
    }

    /// Returns whether I/O commands are accepted: enabled and not shut down.
    pub fn is_ready(&self) -> bool {
        let state = self.state();
        state.cc.en() && !state.shutdown
    }

    /// Counts completed commands.
    pub fn completed(&self, count: u64) {
        self.commands.fetch_add(count, Ordering::Relaxed);
    }

    /// Checks that FDP is enabled.
    pub(crate) fn check_fdp(&self) -> Result<(), Failure> {
        let enabled = self.subsystem.drive.fdp_enabled();
        if enabled { Ok(()) } else { Err(Status::FDP_DISABLED.into()) }
    }

    /// Returns the namespace if this controller's host sees it.
    ///
    /// # Errors
    /// The NSID is not valid.
    pub(crate) fn active(&self, nsid: u32) -> Result<Option<Arc<Namespace>>, Failure> {
        Ok(self.allocated(nsid)?.filter(|n| n.is_attached(&self.hostnqn)))
    }

    /// Returns the namespace, attached to this controller's host or not.
    ///
    /// # Errors
    /// The NSID is not valid.
    pub(crate) fn allocated(&self, nsid: u32) -> Result<Option<Arc<Namespace>>, Failure> {
        check_nsid(NamespaceUse::One, nsid)?;
        Ok(self.subsystem.drive.namespace(nsid))
    }

    /// Checks that an NSID is the broadcast value or that of a namespace which the host sees.
    pub(crate) fn check_active(&self, nsid: u32) -> Result<(), Failure> {
        if nsid != BROADCAST {
            self.active(nsid)?.ok_or(Status::INVALID_FIELD)?;
        }
        Ok(())
    }

    /// Returns the NSIDs, ascending, of the namespaces the host sees (`active`) or of all.
    pub(crate) fn nsids(&self, active: bool) -> Vec<u32> {
        let all = self.subsystem.drive.namespaces().into_iter().flatten();
        all.filter(|n| !active || n.is_attached(&self.hostnqn)).map(|n| n.nsid).collect()
    }

    /// Enters a failure into the error log and returns the status field of the completion.
    pub fn fail(&self, qid: u16, sqe: &Sqe, failure: &Failure) -> StatusField {
        let field = StatusField::new().with_status(failure.status.0).with_dnr(!failure.retry);
        let mut state = self.state();
        state.error_count += 1;
        let entry = ErrorEntry {
            error_count: state.error_count.into(),
            sqid: qid.into(),
            cid: sqe.cid,
            status: field.into_bits().into(),
            location: failure.location.map_or(0xffff, Location::encode).into(),
            lba: failure.lba.into(),
            nsid: sqe.nsid,
            trtype: 3,
            opcode: sqe.opcode,
            version: 1,
            ..Default::default()
        };
        state.errors.truncate(ERROR_ENTRIES - 1);
        state.errors.push_front(entry);
        field.with_more(true)
    }
}

/// Checks the NSID of a command against the row of the command.
pub(crate) fn check_nsid(usage: NamespaceUse, nsid: u32) -> Result<(), Failure> {
    let valid = match usage {
        NamespaceUse::None | NamespaceUse::Depends => true,
        NamespaceUse::OneOrAll if nsid == BROADCAST => true,
        NamespaceUse::OneOrAll | NamespaceUse::One => (1..=LAST_NSID).contains(&nsid),
    };
    if valid { Ok(()) } else { Err(Status::INVALID_NAMESPACE.into()) }
}
