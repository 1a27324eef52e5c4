//! NVMe controllers: the semantics of admin commands, independent of the transport.
//!
//! A [`Subsystem`] has one drive and any number of [`Controller`]s, one for each association of a host (dynamic
//! controller model). A submission queue entry is parsed into a typed, checked command, which is then executed:
//! `commands/` has the admin commands, `fabrics/` the properties, `logs/` the log pages, and `features/` the features;
//! `wafer-io` has the I/O commands. A command returns a [`Reply`] or a [`Failure`], whose status goes on the wire and
//! into the error log. `support.rs` derives the capabilities in Identify and in the effects logs from the handlers.

mod access;
mod async_event;
mod commands;
mod fabrics;
mod failure;
pub mod faults;
mod features;
pub mod identify;
mod latch;
mod lockdown;
mod logs;
pub mod nsid;
mod persistent;
mod ports;
mod registry;
mod removals;
pub mod reservations;
mod sanitize;
mod support;
mod switch;
mod telemetry;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_event::Events;
pub use commands::{admin, begin_admin};
pub use fabrics::fabrics;
pub use failure::Failure;
use features::temperature::Thresholds;
pub use latch::Latch;
pub use ports::{ANA_GROUPS, Missing, Port, Reached};
pub use registry::{ControllerInfo, Kind, Subsystem, SubsystemOptions};
pub use removals::Removals;
use reservations::Notifications;
pub use support::Support;
pub use switch::{NamespaceChange, WrongChange};
use tokio::sync::Notify;
use tokio::time::Instant;
pub use wafer_auth::{Access, HostEntry, ListedHost, Rights, WrongHost, wrong_nqn};
use wafer_drive::Downloader;
use wafer_nvme::{
    AsyncEventConfig, Cc, ErrorEntry, ErrorRecovery, HostBehavior, NvmOpcode, ReservationMask,
    Status,
};
pub use wafer_ocp::FailureMode;

/// Maximum I/O queues of a controller.
pub const MAX_IO_QUEUES: u16 = 64;
/// Maximum entries of a queue, less one: CAP.MQES.
pub const MQES_Z: u16 = 1023;
/// Maximum data of one command: MDTS 9, 2^9 pages of 4 KiB.
pub const MAX_TRANSFER: u64 = 4096 << MDTS;
pub(crate) const MDTS: u8 = 9;
/// In-capsule data of I/O queues, bytes.
pub const IO_CAPSULE_DATA: u32 = 16 << 10;
/// In-capsule data of the admin queue, bytes (TCP transport, 3.3.2).
pub const ADMIN_CAPSULE_DATA: u32 = 8 << 10;
/// Minimum time, in milliseconds, that a host with a keep alive timer has to enable its controller.
const UNTIL_ENABLED: u64 = 120_000;
/// Granularity of the keep alive timer, ms.
const KATO_UNIT: u16 = 100;
/// Maximum outstanding asynchronous event requests.
pub(crate) const MAX_ASYNC_EVENTS: usize = 4;
/// Entries of the error log.
pub(crate) const ERROR_ENTRIES: usize = 64;

/// Returns the codes that have a handler, given the I/O commands that queues execute.
pub fn support(io: &'static [NvmOpcode]) -> Support {
    Support {
        admin: commands::SUPPORTED,
        io,
        fabrics: fabrics::SUPPORTED,
        log_pages: logs::PAGES.iter().map(|page| page.lid).collect(),
        features: features::FEATURES.iter().map(|feature| feature.fid).collect(),
    }
}

/// The outcome of a successful command.
#[derive(Default)]
pub struct Reply {
    /// Dword 0 of the completion.
    pub dw0: u32,
    /// Dword 1 of the completion.
    pub dw1: u32,
    /// Data for the host.
    pub data: Vec<u8>,
    /// Whether the completion comes later, as for an asynchronous event request.
    pub deferred: bool,
    /// Work left to do before the completion.
    pub rest: Option<Removals>,
}

impl Reply {
    pub(crate) fn data(data: impl Into<Vec<u8>>) -> Self {
        Reply { data: data.into(), ..Default::default() }
    }

    pub(crate) fn dw0(dw0: u32) -> Self {
        Reply { dw0, ..Default::default() }
    }
}

/// A controller: one association of one host.
pub struct Controller {
    /// Controller ID.
    pub cntlid: u16,
    /// I/O or discovery.
    pub kind: Kind,
    /// NQN of the host.
    pub hostnqn: String,
    /// Host identifier.
    pub hostid: [u8; 16],
    /// The host's rights.
    pub rights: Rights,
    /// The host's number in captures.
    pub host: u16,
    /// The address that the host connected to, for the discovery log.
    pub local: String,
    /// The port of that address.
    pub port: Arc<Port>,
    /// The subsystem.
    pub subsystem: Arc<Subsystem>,
    state: Mutex<State>,
    /// Milliseconds after `started` at which the keep alive timer was last restarted.
    heard: AtomicU64,
    started: Instant,
    /// Keep alive timeout in milliseconds; 0 means none.
    kato: AtomicU64,
    /// Whether reading deallocated blocks is an error for any namespace; otherwise reads check nothing else.
    pub(crate) dulbe: AtomicBool,
    /// Number of controller level resets.
    pub resets: AtomicU64,
    /// Commands completed on all its queues.
    pub(crate) commands: AtomicU64,
    /// Notified when an asynchronous event may be sent.
    pub wake: Notify,
    closed: Latch,
}

pub(crate) struct State {
    pub(crate) cc: Cc,
    pub(crate) shutdown: bool,
    /// Connected I/O queues, each with the latch that ends its connection.
    pub(crate) queues: BTreeMap<u16, Latch>,
    pub(crate) async_config: AsyncEventConfig,
    /// Command identifiers of asynchronous event requests.
    pub(crate) async_requests: VecDeque<u16>,
    /// Namespaces that changed and have not been read from the log yet.
    pub(crate) changed: BTreeSet<u32>,
    pub(crate) events: Events,
    pub(crate) notifications: Notifications,
    /// The reporting context of the persistent event log, which is its whole page.
    pub(crate) persistent_log: Option<Vec<u8>>,
    /// The elements of the LBA Status Information log when it was last read, and its generation.
    pub(crate) lba_status: (Vec<u8>, u16),
    /// Masked reservation notifications, by NSID.
    pub(crate) reservation_masks: BTreeMap<u32, ReservationMask>,
    pub(crate) thresholds: Thresholds,
    pub(crate) errors: VecDeque<ErrorEntry>,
    pub(crate) write_cache: bool,
    pub(crate) host_behavior: HostBehavior,
    /// Values of features that are kept without effect, by identifier.
    pub(crate) kept_features: BTreeMap<u8, u32>,
    /// The Error Recovery feature, by NSID.
    pub(crate) error_recovery: BTreeMap<u32, ErrorRecovery>,
    /// Aborted asynchronous event requests that have yet to complete.
    pub(crate) aborted: Vec<u16>,
}

impl Controller {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether the volatile write cache is enabled.
    pub fn write_cache(&self) -> bool {
        self.state().write_cache
    }

    /// Returns whether the host enabled a descriptor format of Copy (Host Behavior Support).
    pub fn enables_copy(&self, format: u8) -> bool {
        self.state().host_behavior.enables_copy(format)
    }

    /// Restarts the keep alive timer.
    pub fn touch(&self) {
        self.heard.store(self.started.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    /// Returns when the keep alive timer expires. A host need not keep a controller alive before enabling it, because
    /// it may have to authenticate first, nor after shutting it down, but a vanished host must not hold one forever.
    pub fn deadline(&self) -> Option<Instant> {
        let state = self.state();
        let least = if state.cc.en() && !state.shutdown { 0 } else { UNTIL_ENABLED };
        drop(state);
        let kato = self.kato.load(Ordering::Relaxed);
        let kato = if kato > 0 { kato.max(least) } else { 0 };
        let until = self.heard.load(Ordering::Relaxed).saturating_add(kato);
        (kato > 0).then(|| self.started + std::time::Duration::from_millis(until))
    }

    pub(crate) fn set_kato(&self, milliseconds: u32) {
        let rounded = u64::from(milliseconds).next_multiple_of(KATO_UNIT.into());
        self.kato.store(rounded, Ordering::Relaxed);
        self.touch();
    }

    pub(crate) fn kato(&self) -> u32 {
        u32::try_from(self.kato.load(Ordering::Relaxed)).unwrap_or(u32::MAX)
    }

    /// Ends the association by closing all its connections.
    pub fn close(&self) {
        self.closed.set();
    }

    /// Returns the latch that ends the connection of a single I/O queue; the admin queue ends with the association.
    pub fn dropped(&self, qid: u16) -> Latch {
        self.state().queues.get(&qid).cloned().unwrap_or_default()
    }

    /// Returns the connected queues, the admin queue first.
    pub fn connected_queues(&self) -> Vec<u16> {
        std::iter::once(0).chain(self.state().queues.keys().copied()).collect()
    }

    /// Drops the connection of a queue, or all; dropping the admin queue ends the controller. Returns their number.
    pub fn drop_connections(&self, queue: Option<u16>) -> usize {
        match queue {
            None | Some(0) => {
                self.close();
                self.connected_queues().len()
            }
            Some(queue) => {
                let state = self.state();
                let found = state.queues.get(&queue);
                found.inspect(|dropped| dropped.set()).map_or(0, |_| 1)
            }
        }
    }

    /// Waits until the association has ended.
    pub async fn closed(&self) {
        self.closed.wait().await;
    }

    /// Returns whether the association has ended.
    pub fn is_closed(&self) -> bool {
        self.closed.is_set()
    }

    /// Checks that the controller is enabled.
    pub(crate) fn check_enabled(&self) -> Result<(), Failure> {
        if self.state().cc.en() { Ok(()) } else { Err(Status::SEQUENCE_ERROR.into()) }
    }

    /// Checks that FDP is enabled.
    pub fn check_fdp(&self) -> Result<(), Failure> {
        let enabled = self.subsystem.drive.fdp_enabled();
        if enabled { Ok(()) } else { Err(Status::FDP_DISABLED.into()) }
    }

    /// Returns the number of commands completed on all queues.
    pub fn completed_commands(&self) -> u64 {
        self.commands.load(Ordering::Relaxed)
    }

    /// Returns whether the controller accepts I/O commands: enabled and not shut down.
    pub fn is_ready(&self) -> bool {
        let state = self.state();
        state.cc.en() && !state.shutdown
    }

    /// Returns the identity of its host when it downloads firmware.
    pub(crate) fn downloader(&self) -> Downloader {
        Downloader { cntlid: self.cntlid, resets: self.resets.load(Ordering::Acquire) }
    }

    /// Counts completed commands.
    pub fn completed(&self, count: u64) {
        self.commands.fetch_add(count, Ordering::Relaxed);
    }
}
