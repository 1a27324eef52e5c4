//! A drive: the device model, the data of its namespaces, the event log, and captures.
//!
//! # What it is
//! [`Drive`] is what a target and a mount share. It knows nothing of transports, controllers or asynchronous
//! programming: any front end can use it from any thread.
//!
//! # Architecture
//! - `commands.rs`, `manage.rs`: operations of hosts; `namespace.rs`: one namespace.
//! - `backend/`: keeps the data: none, memory, file.
//! - `events.rs`: the FDP event log. `recorder.rs`: captures. `snapshot.rs`: state for monitoring.
//! - `persistence.rs`, `journal.rs`: checkpoint and journal of a drive with a file.
//! - `storage/`, `clock.rs`, `random.rs`: all access to files, time and randomness. Tests replace them.
//!
//! # Invariants
//! - Commands count in the device in the order in which they are [applied](Drive::apply), under one lock, in
//!   batches; captures and the journal have the same order. Data moves without the lock.
//! - A completed flush means that data and journal survive a loss of power.
//! - If the process is killed, every command applied before survives.
//!
//! # Error model
//! Making a drive fails with [`DriveError`]. Commands fail with the [`Status`] of their completion, or with the
//! error of the medium. Files of an earlier drive are checked before use and never cause a panic.
//!
//! # What it does not implement
//! Latency: a command takes as long as the machine needs. Metadata and protection information.

pub mod backend;
pub mod clock;
mod commands;
mod events;
mod journal;
mod manage;
mod namespace;
mod persistence;
pub mod random;
mod recorder;
mod snapshot;
pub mod storage;

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

pub use commands::{HandleStatus, Transferred};
use events::EventLog;
pub use events::{EventClass, EventRecord};
pub use manage::NamespaceRequest;
pub use namespace::{Namespace, PlacementError};
use persistence::Persistence;
use recorder::Recorder;
pub use snapshot::DriveCounters;
use wafer_device::{Device, DeviceConfig, Geometry};
use wafer_interface::{Command, Counters, FdpEvent, NsId, Observer, RuhId};
use wafer_nvme::Status;
use wafer_record::capture::CaptureEvent;

use crate::backend::{Backend, DataSpec};
use crate::clock::{Clock, SystemClock};
use crate::random::{Random, SystemRandom};
use crate::storage::{Files, Storage};

/// The one endurance group of a drive.
pub const ENDURANCE_GROUP: u16 = 1;

/// The configuration of a drive.
#[derive(Clone, Debug)]
pub struct DriveOptions {
    /// The device.
    pub device: DeviceConfig,
    /// Random seed of the device.
    pub seed: u64,
    /// Backend of the data.
    pub data: DataSpec,
    /// Bytes of a logical block of the namespaces that exist at the start: 512 or 4096.
    pub lba_bytes: u32,
    /// Whether FDP events are enabled from the start for all handles; the specification leaves them
    /// disabled until a host enables them.
    pub events_enabled: bool,
}

/// Why a drive cannot be made, or cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The device's configuration cannot work.
    #[error(transparent)]
    Config(#[from] wafer_device::ConfigError),
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
    /// The files of an earlier server do not match.
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

/// FDP events of the device that are not logged yet.
#[derive(Debug, Default)]
pub(crate) struct Pending(pub(crate) Vec<FdpEvent>);

/// Maximum number of pending events. A batch of commands causes fewer on a drive of realistic size.
const MOST_PENDING: usize = 4096;

impl Observer for Pending {
    fn event(&mut self, event: &FdpEvent) {
        if self.0.len() < MOST_PENDING {
            self.0.push(*event);
        }
    }
}

/// The state that the one lock protects.
pub(crate) struct Inner {
    pub(crate) device: Device<Pending>,
    pub(crate) config: DeviceConfig,
    /// Counters from before the last change of the FDP configuration. SMART counts the life of the drive.
    pub(crate) earlier: Counters,
    pub(crate) events: EventLog,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) read_commands: u64,
    pub(crate) write_commands: u64,
    pub(crate) unsafe_shutdowns: u64,
    /// Names of hosts, in order of first connection. Captures refer to hosts by position.
    pub(crate) hosts: Vec<String>,
    clock: Arc<dyn Clock>,
    /// The Timestamp feature: the value that a host set, and when.
    pub(crate) timestamp: Option<(u64, Duration)>,
    /// The files of a drive with persistent data.
    persistence: Option<Persistence>,
    /// The error after which the files are no longer written.
    persistence_error: Option<io::Error>,
}

/// The services that a drive uses of its machine.
#[derive(Clone)]
pub struct Environment {
    /// Files.
    pub storage: Arc<dyn Storage>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness of identifiers.
    pub random: Arc<dyn Random>,
}

impl Default for Environment {
    /// Uses files, time and randomness of the system.
    fn default() -> Self {
        Environment {
            storage: Arc::new(Files),
            clock: Arc::new(SystemClock::default()),
            random: Arc::new(SystemRandom),
        }
    }
}

/// A drive that front ends share.
pub struct Drive {
    pub(crate) inner: Mutex<Inner>,
    /// By NSID less one. Changed only with `inner` locked.
    pub(crate) namespaces: RwLock<Vec<Option<Arc<Namespace>>>>,
    pub(crate) backend: Backend,
    pub(crate) options: DriveOptions,
    environment: Environment,
    started: Duration,
    notices: Vec<String>,
}

impl Drive {
    /// Makes a drive, with the namespaces of its configuration.
    ///
    /// # Errors
    /// The configuration is invalid, or the files cannot be used.
    pub fn new(options: DriveOptions) -> Result<Self, DriveError> {
        Self::with(options, Environment::default())
    }

    /// Makes a drive like [`Self::new`], with another storage and clock.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with(options: DriveOptions, environment: Environment) -> Result<Self, DriveError> {
        let mut has_data = false;
        let backend = match &options.data {
            DataSpec::None => Backend::None,
            DataSpec::Memory => Backend::Memory,
            DataSpec::File(path) => {
                let failed = |e| DriveError::io(path, e);
                let file = environment.storage.open_locked(path).map_err(failed)?;
                has_data = !file.is_empty().map_err(failed)?;
                Backend::File(file)
            }
        };
        let (geometry, _) = options.device.resolve()?;
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
                clock: Arc::clone(&environment.clock),
                timestamp: None,
                persistence: None,
                persistence_error: None,
            }),
            namespaces: RwLock::new(Vec::new()),
            backend,
            started: environment.clock.monotonic(),
            environment,
            notices: Vec::new(),
            options,
        };
        if let DataSpec::File(path) = drive.options.data.clone() {
            let storage = Arc::clone(&drive.environment.storage);
            let persistence = Persistence::open(storage, &path, geometry.logical_pages)?;
            let exists = persistence.exists();
            if !exists && has_data {
                let reason = "the file has data but no drive state beside it; move it away";
                let path = path.display().to_string();
                return Err(DriveError::State { path, reason: reason.to_owned() });
            }
            let mut inner = drive.lock();
            inner.persistence = Some(persistence);
            if exists {
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

    /// Starts recording commands to a capture.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn record(&self, path: &Path) -> Result<(), DriveError> {
        let namespaces = self.namespaces();
        let mut inner = self.lock();
        let file = self.environment.storage.create(path);
        let recorder = file.and_then(|file| {
            Recorder::create(file, Arc::clone(&self.environment.clock), &inner, &namespaces)
        });
        inner.recorder = Some(recorder.map_err(|e| DriveError::io(path, e))?);
        Ok(())
    }

    /// Returns the time since the drive was made.
    pub(crate) fn uptime(&self) -> Duration {
        self.environment.clock.monotonic().saturating_sub(self.started)
    }

    /// Returns notices for the user about how the drive was opened.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// Writes the commands recorded so far to the capture. Call this about once a second.
    ///
    /// # Errors
    /// The capture or the state cannot be written; recording, or saving, has stopped.
    pub fn maintain(&self) -> io::Result<()> {
        self.flush_record()?;
        self.lock().persistence_error.take().map_or(Ok(()), Err)
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

    /// Ends the capture and makes data durable. Call this once, after the last command.
    ///
    /// # Errors
    /// Something cannot be written.
    pub fn close(&self) -> io::Result<()> {
        // The drive is saved even if the capture cannot be written.
        let recorded = self.flush_record();
        let mut inner = self.lock();
        inner.recorder = None;
        self.checkpoint(&mut inner)?;
        if let Some(persistence) = &mut inner.persistence {
            persistence.journal.set_clean(true)?;
        }
        self.backend.flush()?;
        recorded
    }

    /// Locks the device. After a panic under the lock, a bug that the device's invariants would show, other
    /// hosts continue.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the namespaces by NSID less one.
    pub fn namespaces(&self) -> Vec<Option<Arc<Namespace>>> {
        self.namespaces.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the namespace of an NSID.
    pub fn namespace(&self, nsid: u32) -> Option<Arc<Namespace>> {
        let number = usize::try_from(nsid.checked_sub(1)?).ok()?;
        self.namespaces.read().unwrap_or_else(PoisonError::into_inner).get(number)?.clone()
    }

    /// Returns the number of a host, for captures and the live page.
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

    /// Returns whether operations may wait for a medium.
    pub fn may_block(&self) -> bool {
        self.backend.may_block()
    }

    /// Returns the current geometry of the device: one handle while FDP is disabled.
    pub fn geometry(&self) -> Geometry {
        self.lock().device.geometry().clone()
    }

    /// Returns the configuration that the drive was made with. Hosts can change that of [`Self::config`].
    pub fn initial_config(&self) -> &DeviceConfig {
        &self.options.device
    }

    /// Returns the current configuration.
    pub fn config(&self) -> DeviceConfig {
        self.lock().config.clone()
    }

    /// Returns the Timestamp feature: milliseconds and attributes (Base 2.1, Timestamp).
    pub fn timestamp(&self) -> (u64, u8) {
        self.lock().timestamp()
    }

    /// Sets the Timestamp feature.
    pub fn set_timestamp(&self, milliseconds: u64) {
        self.lock().timestamp = Some((milliseconds, self.environment.clock.monotonic()));
    }

    /// Makes every command completed before survive a loss of power.
    ///
    /// # Errors
    /// The medium fails.
    pub fn flush(&self, host: u16, namespace: Option<NsId>) -> io::Result<()> {
        {
            let mut inner = self.lock();
            if let Some(namespace) = namespace {
                inner.record_commands(host, &[Command::flush(namespace)]);
            }
            if let Some(persistence) = &inner.persistence {
                persistence.journal.sync()?;
            }
        }
        self.backend.flush()
    }

    /// Applies commands to the device, in this order.
    pub fn apply(&self, host: u16, commands: &[Command]) {
        self.apply_counted(host, commands, Transferred::default());
    }

    /// Applies commands after adding them to the journal.
    pub(crate) fn apply_locked(&self, inner: &mut Inner, host: u16, commands: &[Command]) {
        if inner.persistence.is_none() {
            return inner.apply(host, commands);
        }
        for part in commands.chunks(1 << 16) {
            if inner.persistence.as_ref().is_some_and(|p| p.journal.room() < part.len() + 1) {
                self.changed(inner);
            }
            if let Some(persistence) = &mut inner.persistence {
                part.iter().for_each(|command| persistence.journal.push(command));
            }
            inner.apply(host, part);
        }
    }

    /// Saves the drive now if it has files.
    pub fn save(&self) {
        self.changed(&mut self.lock());
    }

    /// Saves the drive after a change that the journal does not record. On failure the drive continues without
    /// its files, and [`Self::maintain`] returns the error.
    pub(crate) fn changed(&self, inner: &mut Inner) {
        if let Err(error) = self.checkpoint(inner) {
            inner.persistence = None;
            inner.persistence_error = Some(error);
        }
    }
}

impl Inner {
    pub(crate) fn apply(&mut self, host: u16, commands: &[Command]) {
        self.device.apply(commands);
        self.log_events();
        self.record_commands(host, commands);
    }

    pub(crate) fn record_commands(&mut self, host: u16, commands: &[Command]) {
        if let Some(recorder) = &mut self.recorder {
            recorder.commands(host, commands);
        }
    }

    pub(crate) fn record(&mut self, host: u16, event: CaptureEvent) {
        if let Some(recorder) = &mut self.recorder {
            recorder.event(host, event);
        }
    }

    /// Moves the device's events into the log.
    pub(crate) fn log_events(&mut self) {
        if self.device.observer().0.is_empty() {
            return;
        }
        let timestamp = self.timestamp();
        for event in &self.device.observer().0 {
            self.events.device_event(event, timestamp, self.device.geometry());
        }
        self.device.observer_mut().0.clear();
    }

    pub(crate) fn timestamp(&self) -> (u64, u8) {
        match self.timestamp {
            // Origin 1: set by a host.
            Some((set, at)) => {
                let since = self.clock.monotonic().saturating_sub(at);
                (set + since.as_millis() as u64, 0b010)
            }
            None => (self.clock.wall().as_millis() as u64, 0),
        }
    }

    /// Returns the counters over the life of the drive.
    pub(crate) fn lifetime(&self) -> Counters {
        self.earlier.combine(self.device.counters(), |earlier, now| earlier + now)
    }
}

/// Makes a device without namespaces.
fn empty_device(config: &DeviceConfig, seed: u64) -> Result<Device<Pending>, DriveError> {
    let whole = DeviceConfig { namespaces: Vec::new(), ..config.clone() };
    let mut device = Device::with_observer(&whole, seed, Pending::default())?;
    device.delete_namespace(NsId(0));
    Ok(device)
}
