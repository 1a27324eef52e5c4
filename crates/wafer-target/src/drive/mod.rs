//! The drive: the device model, the data of its namespaces, the events it logs, and what it records.
//!
//! A [`Drive`] knows nothing of transports, controllers or asynchronous programming: any front end can
//! use it from any thread. Commands count in the device in the order in which they are
//! [applied](Drive::apply), under one lock, in batches; data is moved without it.

mod commands;
mod events;
mod journal;
mod manage;
mod namespace;
mod recorder;
mod snapshot;
mod state;
#[cfg(test)]
mod tests;

pub use commands::{HandleStatus, Transferred};
pub use events::{EventClass, EventRecord};
pub use manage::NamespaceRequest;
pub use namespace::{Namespace, PlacementError};
pub use snapshot::{DriveSnapshot, HandleSnapshot, NamespaceSnapshot, RuCounts};

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use wafer_core::{
    Command, Counters, Device, DeviceConfig, FdpEvent, Geometry, NsId, Observer, RuhId,
};
use wafer_spec::Status;
use wafer_workload::trace::capture::CaptureEvent;

use crate::backend::{Backend, DataSpec, file, memory, none};
use events::EventLog;
use recorder::Recorder;
use state::Keeper;

/// The one endurance group of a drive.
pub const ENDURANCE_GROUP: u16 = 1;

/// What a drive is made of.
#[derive(Clone, Debug)]
pub struct DriveOptions {
    /// The device.
    pub device: DeviceConfig,
    /// Seed of what the device draws.
    pub seed: u64,
    /// Where data lives.
    pub data: DataSpec,
    /// Bytes of a logical block of the namespaces that exist at the start: 512 or 4096.
    pub lba_bytes: u32,
    /// Whether FDP events are enabled from the start for all handles; the specification leaves them
    /// disabled until a host enables them.
    pub events_enabled: bool,
}

/// Why a drive cannot be made or go on. One line each.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The device's configuration cannot work.
    #[error(transparent)]
    Config(#[from] wafer_core::ConfigError),
    /// A file cannot be used.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// A namespace of the configuration cannot be made.
    #[error("namespaces[{0}]: {1}")]
    Namespace(usize, String),
    /// What an earlier server left does not fit.
    #[error("{path}: {reason}")]
    State {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
}

impl DriveError {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        DriveError::Io { path: path.display().to_string(), source }
    }
}

/// FDP events of the device that wait to be logged.
#[derive(Debug, Default)]
pub(crate) struct Pending(pub(crate) Vec<FdpEvent>);

/// Events that wait at most; a batch of commands does not cause more on a drive of sensible size.
const MOST_PENDING: usize = 4096;

impl Observer for Pending {
    fn event(&mut self, event: &FdpEvent) {
        if self.0.len() < MOST_PENDING {
            self.0.push(*event);
        }
    }
}

/// What the one lock protects.
pub(crate) struct Inner {
    pub(crate) device: Device<Pending>,
    pub(crate) config: DeviceConfig,
    /// Counters of devices before the FDP configuration changed: SMART counts the life of the drive.
    pub(crate) earlier: Counters,
    pub(crate) events: EventLog,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) read_commands: u64,
    pub(crate) write_commands: u64,
    pub(crate) unsafe_shutdowns: u64,
    /// Names of hosts, in order of first connection: what captures number.
    pub(crate) hosts: Vec<String>,
    /// The Timestamp feature: what a host set, and when.
    pub(crate) timestamp: Option<(u64, Instant)>,
    /// The files of a drive that outlives its server.
    keeper: Option<Keeper>,
    /// Why the files cannot be written any more.
    keeper_failed: Option<io::Error>,
}

/// A drive that front ends share.
pub struct Drive {
    pub(crate) inner: Mutex<Inner>,
    /// By NSID less one. Changed only with `inner` locked.
    pub(crate) namespaces: RwLock<Vec<Option<Arc<Namespace>>>>,
    pub(crate) backend: Box<dyn Backend>,
    pub(crate) options: DriveOptions,
    pub(crate) started: Instant,
    notices: Vec<String>,
}

impl Drive {
    /// Makes a drive, with the namespaces that its configuration has.
    ///
    /// # Errors
    /// The configuration cannot work, or the place of the data cannot be used.
    pub fn new(options: DriveOptions) -> Result<Self, DriveError> {
        let backend: Box<dyn Backend> = match &options.data {
            DataSpec::None => Box::new(none::None),
            DataSpec::Memory => Box::new(memory::Memory),
            DataSpec::File(path) => {
                Box::new(file::File::open(path).map_err(|e| DriveError::io(path, e))?)
            }
        };
        let geometry = Geometry::resolve(&options.device)?;
        let device = empty_device(&options.device, options.seed)?;
        let mut drive = Drive {
            inner: Mutex::new(Inner {
                events: EventLog::new(device.geometry().handles, options.events_enabled),
                device,
                config: options.device.clone(),
                earlier: Counters::default(),
                recorder: None,
                read_commands: 0,
                write_commands: 0,
                unsafe_shutdowns: 0,
                hosts: Vec::new(),
                timestamp: None,
                keeper: None,
                keeper_failed: None,
            }),
            namespaces: RwLock::new(Vec::new()),
            backend,
            started: Instant::now(),
            notices: Vec::new(),
            options,
        };
        if let DataSpec::File(path) = drive.options.data.clone() {
            let keeper = Keeper::open(&path, geometry.logical_pages)?;
            let goes_on = keeper.exists();
            if !goes_on && std::fs::metadata(&path).is_ok_and(|m| m.len() > 0) {
                let reason = "there is data and no state of a drive beside it; move it away";
                let path = path.display().to_string();
                return Err(DriveError::State { path, reason: reason.to_owned() });
            }
            let mut inner = drive.lock();
            inner.keeper = Some(keeper);
            if goes_on {
                let notices = drive.load(&mut inner)?;
                drop(inner);
                drive.notices = notices;
                return Ok(drive);
            }
        }
        for (at, pages) in geometry.namespaces.iter().enumerate() {
            let request = NamespaceRequest {
                pages: pages.end - pages.start,
                lba_bytes: drive.options.lba_bytes,
                handles: geometry.namespace_handles[at].iter().map(|h| RuhId(*h)).collect(),
                everyone: true,
            };
            let failed = |status: Status| DriveError::Namespace(at, format!("{status:?}"));
            drive.create_namespace(request).map_err(failed)?;
        }
        drive.changed(&mut drive.lock());
        Ok(drive)
    }

    /// Records every command from now on.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn record(&self, path: &Path) -> Result<(), DriveError> {
        let namespaces = self.namespaces();
        let mut inner = self.lock();
        let recorder =
            Recorder::create(path, &inner, &namespaces).map_err(|e| DriveError::io(path, e))?;
        inner.recorder = Some(recorder);
        Ok(())
    }

    /// What a user should know of how the drive came to be.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// Does what has to be done now and then: writes what is recorded so far to its file. To be called
    /// about once a second.
    ///
    /// # Errors
    /// The capture cannot be written; recording has stopped.
    pub fn keep(&self) -> io::Result<()> {
        self.flush_record()?;
        self.lock().keeper_failed.take().map_or(Ok(()), Err)
    }

    fn flush_record(&self) -> io::Result<()> {
        let mut inner = self.lock();
        let Some(recorder) = &mut inner.recorder else { return Ok(()) };
        let result = recorder.flush();
        if result.is_err() {
            inner.recorder = None;
        }
        result
    }

    /// Ends the capture and makes data durable. To be called once, when no more commands come.
    ///
    /// # Errors
    /// Something cannot be written.
    pub fn close(&self) -> io::Result<()> {
        // A capture that cannot be written must not keep the drive from being saved.
        let recorded = self.flush_record();
        let mut inner = self.lock();
        inner.recorder = None;
        self.checkpoint(&mut inner)?;
        if let Some(keeper) = &mut inner.keeper {
            keeper.set_clean()?;
        }
        self.backend.flush()?;
        recorded
    }

    /// A panic while the lock was held is a fault of ours that the device's own invariants would show;
    /// other hosts go on.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Namespaces by NSID less one.
    pub fn namespaces(&self) -> Vec<Option<Arc<Namespace>>> {
        self.namespaces.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The namespace of this NSID.
    pub fn namespace(&self, nsid: u32) -> Option<Arc<Namespace>> {
        let number = usize::try_from(nsid.checked_sub(1)?).ok()?;
        self.namespaces.read().unwrap_or_else(PoisonError::into_inner).get(number)?.clone()
    }

    /// The number of a host, for captures and the live page.
    pub fn host(&self, nqn: &str) -> u16 {
        let mut inner = self.lock();
        let known = inner.hosts.iter().position(|h| h == nqn);
        let at = known.unwrap_or_else(|| {
            // Hosts beyond what a capture can number share the last number.
            if inner.hosts.len() < usize::from(u16::MAX) {
                inner.hosts.push(nqn.to_owned());
            }
            inner.hosts.len() - 1
        });
        at as u16
    }

    /// Whether operations may wait for a medium.
    pub fn blocks(&self) -> bool {
        self.backend.blocks()
    }

    /// Sizes of the device as it is now: one handle while FDP is disabled.
    pub fn geometry(&self) -> Geometry {
        self.lock().device.geometry().clone()
    }

    /// The configuration as it is now.
    pub fn config(&self) -> DeviceConfig {
        self.lock().config.clone()
    }

    /// The Timestamp feature: milliseconds and attributes (Base 2.1, Timestamp).
    pub fn timestamp(&self) -> (u64, u8) {
        self.lock().timestamp()
    }

    /// Sets the Timestamp feature.
    pub fn set_timestamp(&self, milliseconds: u64) {
        self.lock().timestamp = Some((milliseconds, Instant::now()));
    }

    /// A flush of the host: everything that completed before is durable when this returns.
    ///
    /// # Errors
    /// The medium refuses.
    pub fn flush(&self, host: u16, namespace: Option<NsId>) -> io::Result<()> {
        {
            let mut inner = self.lock();
            if let Some(namespace) = namespace {
                inner.record(host, CaptureEvent::Flush(namespace));
            }
            if let Some(keeper) = &inner.keeper {
                keeper.sync()?;
            }
        }
        self.backend.flush()
    }

    /// Counts commands in the device, in this order.
    pub fn apply(&self, host: u16, commands: &[Command]) {
        if commands.is_empty() {
            return;
        }
        self.apply_locked(&mut self.lock(), host, commands);
    }

    /// Counts commands, once the journal has them.
    pub(crate) fn apply_locked(&self, inner: &mut Inner, host: u16, commands: &[Command]) {
        if inner.keeper.is_none() {
            return inner.apply(host, commands);
        }
        for part in commands.chunks(1 << 16) {
            if inner.keeper.as_ref().is_some_and(|k| k.room() < part.len() + 1) {
                self.changed(inner);
            }
            if let Some(keeper) = &mut inner.keeper {
                keeper.commands(part);
            }
            inner.apply(host, part);
        }
    }

    /// Saves the drive now, where it has files.
    pub fn save(&self) {
        self.changed(&mut self.lock());
    }

    /// Something changed that the journal does not tell: saves the drive. If that fails the drive goes on
    /// without its files, and [`Self::keep`] tells.
    pub(crate) fn changed(&self, inner: &mut Inner) {
        if let Err(error) = self.checkpoint(inner) {
            inner.keeper = None;
            inner.keeper_failed = Some(error);
        }
    }
}

impl Inner {
    pub(crate) fn apply(&mut self, host: u16, commands: &[Command]) {
        self.device.apply(commands);
        self.log_events();
        if let Some(recorder) = &mut self.recorder {
            recorder.commands(host, commands);
        }
    }

    pub(crate) fn record(&mut self, host: u16, event: CaptureEvent) {
        if let Some(recorder) = &mut self.recorder {
            recorder.event(host, event);
        }
    }

    /// Moves what the device noticed into the log.
    pub(crate) fn log_events(&mut self) {
        if self.device.observer().0.is_empty() {
            return;
        }
        let list = std::mem::take(&mut self.device.observer_mut().0);
        let timestamp = self.timestamp();
        for event in &list {
            self.events.device_event(event, timestamp, self.device.geometry());
        }
        let mut list = list;
        list.clear();
        self.device.observer_mut().0 = list;
    }

    pub(crate) fn timestamp(&self) -> (u64, u8) {
        match self.timestamp {
            // Origin 1: set by a host.
            Some((set, at)) => (set + at.elapsed().as_millis() as u64, 0b010),
            None => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                (now.as_millis() as u64, 0)
            }
        }
    }

    /// Counters over the life of the drive.
    pub(crate) fn lifetime(&self) -> Counters {
        let (a, b) = (self.earlier, self.device.counters());
        Counters {
            host_bytes: a.host_bytes + b.host_bytes,
            media_bytes: a.media_bytes + b.media_bytes,
            erased_bytes: a.erased_bytes + b.erased_bytes,
            host_pages: a.host_pages + b.host_pages,
            relocated_pages: a.relocated_pages + b.relocated_pages,
            rmw_pages: a.rmw_pages + b.rmw_pages,
            deallocated_pages: a.deallocated_pages + b.deallocated_pages,
            read_bytes: a.read_bytes + b.read_bytes,
            rejected: a.rejected + b.rejected,
            forced_gc: a.forced_gc + b.forced_gc,
            background_gc: a.background_gc + b.background_gc,
        }
    }
}

/// A device without namespaces.
fn empty_device(config: &DeviceConfig, seed: u64) -> Result<Device<Pending>, DriveError> {
    let whole = DeviceConfig { namespaces: Vec::new(), ..config.clone() };
    let mut device = Device::with_observer(&whole, seed, Pending::default())?;
    device.delete_namespace(NsId(0));
    Ok(device)
}
