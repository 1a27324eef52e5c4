//! A drive: the device model, the data of its namespaces, the event log, and captures.
//!
//! # What it is
//! [`Drive`] is shared by a target and a mount. It is independent of transports, controllers and asynchronous
//! programming: any front end can use it from any thread.
//!
//! # Architecture
//! - `commands.rs`, `manage.rs`, `removal.rs`, `protection.rs`: host operations; `batch.rs`: commands to count;
//!   `namespace.rs`: one namespace, with its `reservation.rs`; `space.rs`: the location of namespace data.
//! - `wafer-storage` stores the data, makes short writes atomic, and has all access to files.
//! - `events.rs`: the FDP event log. `persistent_log.rs`: the persistent event log. `recorder.rs`: captures.
//!   `snapshot.rs`: state for monitoring.
//! - `persistence.rs`: when the files are written; `checkpoint.rs`, `wafer-journal`, `change.rs`: their contents;
//!   `resume.rs`: restoring a drive; `health.rs`: failing files. `life.rs`: SMART counts, events. `wear.rs`: wear.
//! - `sanitize.rs`: Sanitize. `self_test.rs`: Device Self-test. `operations.rs`: the state of both.
//! - `firmware.rs`: firmware slots. `download.rs`: images.
//! - `streams.rs`: streams of a drive without FDP.
//! - `pending.rs`: what the device reports. `emulated.rs`: the media in real time.
//!
//! # Invariants
//! - The device counts commands in the order in which they are [applied](Drive::apply), under one lock, in batches;
//!   captures and the journal have the same order. Data moves without the lock.
//! - A deleted or formatted namespace keeps its storage until the last command on it has ended, and the next namespace
//!   there reads zeroes.
//! - After a completed flush, data and journal survive a power loss.
//! - If the process is killed, every command applied before survives, and no counter that a host has read decreases.
//! - Changes of namespaces, formats, FDP, events and attachments enter the journal before they take effect. A refused
//!   change changes nothing.
//! - After a file has failed, nothing that must be durable succeeds until the whole drive is saved again.
//!
//! # Error model
//! Creating a drive fails with [`DriveError`]. Commands fail with the [`Status`] of their completion, or with the error
//! of the medium. The files of an existing drive are checked before use and never cause a panic.
//!
//! # What it does not implement
//! Metadata and protection information.

mod batch;
mod change;
mod checkpoint;
mod commands;
mod download;
mod emulated;
mod end_of_life;
mod events;
mod firmware;
mod health;
mod life;
mod manage;
mod namespace;
mod operations;
mod options;
mod pending;
mod persistence;
mod persistent_log;
mod protection;
mod recorder;
mod removal;
mod reservation;
mod resume;
mod sanitize;
mod self_test;
mod snapshot;
mod space;
mod streams;
mod wear;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU8};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::Duration;

pub use batch::Batch;
pub use commands::HandleStatus;
pub use download::{Download, Downloader, FIRMWARE_GRANULARITY, MAX_IMAGE};
use end_of_life::EndOfLife;
pub use end_of_life::Spare;
use events::EventLog;
pub use events::{EventClass, EventRecord};
pub use firmware::{BUILT_IN_SLOT, FIRMWARE_SLOTS, Firmware, FirmwareRevision};
pub use health::Health;
use health::{Access, Retry};
use life::Daily;
pub use life::Life;
pub use manage::NamespaceRequest;
pub use namespace::{ANA_GROUP, Identity, Namespace, PlacementError, Protection, Retired};
pub use operations::{SanitizeState, SelfTestResult};
use operations::{Sanitized, SelfTests};
pub use options::{DriveError, DriveOptions, Given};
use pending::Pending;
use persistence::Persistence;
use persistent_log::PersistentLog;
pub use persistent_log::{MAX_PERSISTENT_LOG, NO_CONTROLLER, PersistentEvent, hardware_error};
use recorder::Recorder;
pub use removal::Removal;
pub use reservation::{
    HostId, Notices, Registrant, ReservationAction, ReservationNotice, Reservations, Reserved,
};
pub use sanitize::SanitizeStatus;
use sanitize::Sanitizing;
use self_test::Testing;
pub use snapshot::DriveCounters;
use space::Space;
pub use streams::StreamCounts;
use streams::Streams;
use wafer_device::{Device, DeviceConfig, Geometry};
use wafer_interface::{Command, Counters, NsId, RuhId};
use wafer_nvme::Status;
use wafer_record::capture::CaptureEvent;
pub use wear::Wear;

use crate::clock::{Clock, SystemClock};
use crate::random::{Random, SystemRandom};
use checkpoint::Initial;
pub use emulated::{Origin, Ticket};
use wafer_emulation::Emulation;
pub use wafer_journal::Transferred;
use wafer_storage::{Backend, DataFile, DataSpec, Files, LogWork, Storage};
pub use wafer_storage::{clock, random};

/// The only endurance group of a drive.
pub const ENDURANCE_GROUP: u16 = 1;

/// The state protected by the drive's lock.
pub(crate) struct Inner {
    pub(crate) device: Device<Pending>,
    pub(crate) config: DeviceConfig,
    /// The configuration that the drive was created with.
    made: DeviceConfig,
    /// Random seed of the device.
    seed: u64,
    initial: Initial,
    pub(crate) life: Life,
    /// Whether a precondition has begun and not ended.
    preconditioning: bool,
    pub(crate) events: EventLog,
    sanitized: Sanitized,
    self_tests: SelfTests,
    firmware: Firmware,
    pub(crate) persistent_log: PersistentLog,
    /// Saved values of features, by identifier.
    features: BTreeMap<u8, Vec<u8>>,
    pub(crate) recorder: Option<Recorder>,
    /// Why the capture ended early.
    record_error: Option<String>,
    /// Names of hosts, in order of first connection. Captures refer to hosts by position.
    pub(crate) hosts: Vec<String>,
    clock: Arc<dyn Clock>,
    /// The Timestamp feature: a value in milliseconds and the time at which it was current.
    timestamp: (u64, Duration),
    /// The files of a drive with persistent data.
    persistence: Option<Persistence>,
    pub(crate) health: Health,
    retry: Retry,
    /// The counters that hosts read while the journal takes no records.
    pub(crate) frozen: Option<Box<DriveCounters>>,
}

/// The services of the machine that a drive uses.
#[derive(Clone)]
pub struct Environment {
    /// Files.
    pub storage: Arc<dyn Storage>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Random bytes for identifiers.
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

/// A drive, shared by front ends.
pub struct Drive {
    uuid: [u8; 16],
    pub(crate) inner: Mutex<Inner>,
    /// By NSID less one. Changed only with `inner` locked.
    pub(crate) namespaces: RwLock<Vec<Option<Arc<Namespace>>>>,
    pub(crate) backend: Backend,
    pub(crate) space: Space,
    pub(crate) streams: Streams,
    /// Whether any namespace is reserved, or has been.
    reserved: AtomicBool,
    sanitizing: Sanitizing,
    testing: Testing,
    daily: Daily,
    pub(crate) options: DriveOptions,
    environment: Environment,
    started: Duration,
    notices: Vec<String>,
    /// The [`Access`] that the health allows.
    access: AtomicU8,
    notify: OnceLock<Box<dyn Fn(bool) + Send + Sync>>,
    end_of_life: EndOfLife,
    /// Of a drive whose completions take time.
    emulation: OnceLock<Emulation>,
}

impl Drive {
    /// Creates a drive, with the namespaces of its configuration.
    ///
    /// # Errors
    /// The configuration is invalid, or the files cannot be used.
    pub fn new(options: DriveOptions) -> Result<Self, DriveError> {
        Self::with(options, Environment::default())
    }

    /// Creates a drive like [`Self::new`], with other services.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with(options: DriveOptions, environment: Environment) -> Result<Self, DriveError> {
        let (geometry, _) = options.device.resolve()?;
        let device = empty_device(&options.device, options.seed)?;
        let mut files = None;
        let backend = match &options.data {
            DataSpec::None => Backend::None,
            DataSpec::Memory => Backend::Memory,
            DataSpec::File(path) => {
                let (data, found) = Persistence::open(&environment, path, geometry.logical_pages)?;
                let (log, note) = found.write_log()?;
                files = Some(found);
                Backend::File(DataFile::new(data, log, note).into())
            }
        };
        let clock = &environment.clock;
        let mut drive = Drive {
            // Known once the files have been read.
            uuid: [0; 16],
            inner: Mutex::new(Inner {
                events: EventLog::new(device.geometry().handles, options.events_enabled),
                device,
                config: options.device.clone(),
                made: options.device.clone(),
                seed: options.seed,
                initial: Initial::of(&options),
                sanitized: Sanitized::default(),
                self_tests: SelfTests::default(),
                firmware: Firmware::default(),
                persistent_log: PersistentLog::default(),
                features: BTreeMap::new(),
                life: Life { power_cycles: 1, ..Life::default() },
                preconditioning: false,
                recorder: None,
                record_error: None,
                hosts: Vec::new(),
                clock: Arc::clone(clock),
                timestamp: (clock.wall().as_millis() as u64, clock.monotonic()),
                persistence: None,
                health: Health::Saved,
                retry: Retry::default(),
                frozen: None,
            }),
            namespaces: RwLock::new(Vec::new()),
            backend,
            space: Space::default(),
            streams: Streams::default(),
            reserved: AtomicBool::new(false),
            sanitizing: Sanitizing::default(),
            testing: Testing::default(),
            daily: Daily::default(),
            started: clock.monotonic(),
            environment,
            notices: Vec::new(),
            options,
            access: AtomicU8::new(Access::All as u8),
            notify: OnceLock::new(),
            end_of_life: EndOfLife::default(),
            emulation: OnceLock::new(),
        };
        match files {
            None => drive.create_namespaces(&geometry)?,
            Some(files) if files.is_new() => {
                let leavings = files.leavings();
                let made = drive.create_namespaces(&geometry).and_then(|()| drive.keep(files));
                made.inspect_err(|_| persistence::discard(&*drive.environment.storage, &leavings))?;
            }
            Some(files) => drive.notices = drive.resume(files)?,
        }
        drive.note_spare(&drive.lock());
        let kept = drive.lock().drive_uuid();
        drive.uuid = kept.unwrap_or_else(|| manage::uuid(&*drive.environment.random));
        Ok(drive)
    }

    /// Creates the namespaces of the configuration.
    fn create_namespaces(&self, geometry: &Geometry) -> Result<(), DriveError> {
        for (at, pages) in geometry.namespaces.iter().enumerate() {
            let request = NamespaceRequest {
                pages: pages.end - pages.start,
                lba_bytes: self.options.lba_bytes,
                handles: geometry.namespace_handles[at].iter().map(|h| RuhId(*h)).collect(),
                everyone: true,
                private: false,
            };
            let failed = |status: Status| DriveError::Namespace(at, format!("{status:?}"));
            self.create_namespace(request).map_err(failed)?;
        }
        Ok(())
    }

    /// Starts recording commands to a capture.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn record(&self, path: &Path) -> Result<(), DriveError> {
        let namespaces = self.namespaces();
        let mut inner = self.lock();
        let storage = &self.environment.storage;
        if let DataSpec::File(data) = &self.options.data
            && persistence::files(data).iter().any(|file| storage.is_same(file, path))
        {
            let reason = "this is a file of the drive; record to another";
            return Err(DriveError::io(path, io::Error::other(reason)));
        }
        let recorder = storage.create(path).and_then(|file| {
            Recorder::create(file, Arc::clone(&self.environment.clock), &inner, &namespaces)
        });
        inner.recorder = Some(recorder.map_err(|e| DriveError::io(path, e))?);
        Ok(())
    }

    /// Returns the UUID of the drive, which its files store. Without files it lasts until the drive is dropped.
    pub fn uuid(&self) -> [u8; 16] {
        self.uuid
    }

    /// Returns the time since the drive was created or opened.
    pub(crate) fn uptime(&self) -> Duration {
        self.environment.clock.monotonic().saturating_sub(self.started)
    }

    /// Returns the random seed of the device.
    pub fn seed(&self) -> u64 {
        self.lock().seed
    }

    /// Returns messages for the user about how the drive was opened.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// Writes the commands recorded so far to the capture, frees the space of removed namespaces, retries saving a
    /// failing drive, and continues sanitize operations and self-tests. Call this about once a second.
    ///
    /// # Errors
    /// The capture cannot be written, and recording has stopped. Each error is returned once here, and [`Self::close`]
    /// returns the first again.
    pub fn maintain(&self) -> io::Result<()> {
        self.space.release(&self.backend);
        self.sanitize();
        self.self_test();
        self.maintain_daily();
        let mut inner = self.lock();
        self.retry(&mut inner);
        self.maintain_life(&mut inner);
        inner.flush_record()
    }

    /// Has `notify` called whenever [`Self::log_work`] would spare later writes from waiting. It must not use the
    /// drive. Only the first call has an effect.
    pub fn on_log_work(&self, notify: impl Fn(LogWork) + Send + Sync + 'static) {
        if let Some(data) = self.backend.data_file() {
            data.on_work(notify);
        }
    }

    /// Does work on the write log, which may take as long as the medium takes to sync. Different kinds of work can run
    /// concurrently. If this fails, so does the drive.
    pub fn log_work(&self, work: LogWork) {
        let done = self.backend.data_file().map_or(Ok(()), |data| data.work(work));
        if let Err(error) = done {
            self.fail(&mut self.lock(), &error, false);
        }
    }

    /// Ends the capture and saves the drive. Call this once, after the last command.
    ///
    /// # Errors
    /// Something could not be written: the drive is not saved, or the capture is incomplete.
    pub fn close(&self) -> io::Result<()> {
        self.space.release(&self.backend);
        let mut inner = self.lock();
        // Save the drive even if the capture cannot be written.
        let _ = inner.flush_record();
        inner.recorder = None;
        let saved = self.checkpoint(&mut inner).and_then(|()| inner.end_persistence());
        saved.map_err(|e| io::Error::other(format!("the drive is not saved: {e}")))?;
        match inner.record_error.take() {
            Some(error) => Err(io::Error::other(error)),
            None => Ok(()),
        }
    }

    /// Locks the device. A panic under the lock is a bug that the device's invariants would reveal; other hosts
    /// continue after one.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the namespaces by NSID less one.
    pub fn namespaces(&self) -> Vec<Option<Arc<Namespace>>> {
        self.namespaces.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the namespace with an NSID.
    pub fn namespace(&self, nsid: u32) -> Option<Arc<Namespace>> {
        let number = usize::try_from(nsid.checked_sub(1)?).ok()?;
        self.namespaces.read().unwrap_or_else(PoisonError::into_inner).get(number)?.clone()
    }

    /// Returns the number of a host, for captures and the live page.
    pub fn host(&self, nqn: &str) -> u16 {
        let mut inner = self.lock();
        let known = inner.hosts.iter().position(|h| h == nqn);
        let at = known.unwrap_or_else(|| {
            // Captures cannot number more hosts, so further ones share the last number.
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

    /// Returns the current geometry of the device. Without FDP it has one handle, plus one per stream.
    pub fn geometry(&self) -> Geometry {
        self.lock().device.geometry().clone()
    }

    /// Returns the configuration that the drive was created with. Hosts can change the one of [`Self::config`].
    pub fn initial_config(&self) -> &DeviceConfig {
        // A drive that was created with another configuration cannot be opened.
        &self.options.device
    }

    /// Returns the current configuration.
    pub fn config(&self) -> DeviceConfig {
        self.lock().config.clone()
    }

    /// Returns the Timestamp feature: milliseconds and attributes (Base 2.1, Timestamp). It starts with the
    /// time of day, as a host's firmware would set it, so that events have dates without a host.
    pub fn timestamp(&self) -> (u64, u8) {
        self.lock().timestamp()
    }

    /// Fills `bytes` with random bytes that nobody can guess, unless the environment was replaced.
    pub fn random(&self, bytes: &mut [u8]) {
        self.environment.random.fill(bytes);
    }

    /// Sets the Timestamp feature.
    pub fn set_timestamp(&self, milliseconds: u64) {
        self.lock().timestamp = (milliseconds, self.environment.clock.monotonic());
    }

    /// Makes every completed command survive a power loss.
    ///
    /// # Errors
    /// The medium fails, or the drive cannot be saved.
    pub fn flush(&self, host: u16, namespace: Option<NsId>) -> io::Result<()> {
        {
            let mut inner = self.lock();
            inner.check_durable()?;
            if let Some(namespace) = namespace {
                let flush = [Command::flush(namespace)];
                self.apply_locked(&mut inner, host.into(), &flush, Transferred::default())
                    .map_err(|_| io::Error::other("the drive cannot record the flush"))?;
            }
            self.sync_journal(&mut inner)?;
        }
        // Without the lock, so that the commands of others continue.
        self.backend.flush().inspect_err(|error| self.fail(&mut self.lock(), error, false))
    }

    /// Writes a checkpoint now, if the drive has files.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn save(&self) -> io::Result<()> {
        self.checkpoint(&mut self.lock())
    }

    /// Applies commands to the device, in order.
    ///
    /// # Errors
    /// `WRITE_FAULT`: the drive cannot record them, so they must not complete with success.
    pub fn apply(&self, origin: impl Into<Origin>, commands: &[Command]) -> Result<(), Status> {
        let transferred = Transferred::by(commands);
        self.apply_locked(&mut self.lock(), origin.into(), commands, transferred)
    }

    /// Adds commands to the journal and applies them.
    ///
    /// # Errors
    /// As [`Self::journal_batch`]. The device counts them nevertheless, because their data has moved.
    pub(crate) fn apply_locked(
        &self,
        inner: &mut Inner,
        origin: Origin,
        commands: &[Command],
        mut transferred: Transferred,
    ) -> Result<(), Status> {
        let mut rest = commands;
        let mut recorded = Ok(());
        loop {
            let (part, after) = rest.split_at(rest.len().min(wafer_journal::MAX_COMMANDS));
            let timestamp = inner.timestamp();
            recorded = recorded.and(self.journal_batch(inner, timestamp, transferred, part));
            let namespaces = self.namespaces.read().unwrap_or_else(PoisonError::into_inner);
            self.execute_timed(inner, &namespaces, origin, part, transferred, timestamp);
            drop(namespaces);
            inner.record_commands(origin.host, part);
            if after.is_empty() {
                self.note_spare(inner);
                return recorded;
            }
            transferred = Transferred::default();
            rest = after;
        }
    }
}

impl Inner {
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
    pub(crate) fn log_events(&mut self, timestamp: (u64, u8)) {
        for event in &self.device.observer().events {
            self.events.device_event(event, timestamp, self.device.geometry());
        }
        self.device.observer_mut().events.clear();
    }

    /// Writes the commands recorded so far to the capture. An error ends the recording.
    fn flush_record(&mut self) -> io::Result<()> {
        let Some(recorder) = &mut self.recorder else { return Ok(()) };
        recorder.flush().map_err(|error| {
            let text = format!("the capture ends early: {error}");
            self.recorder = None;
            self.record_error = Some(text.clone());
            io::Error::new(error.kind(), text)
        })
    }

    pub(crate) fn timestamp(&self) -> (u64, u8) {
        let (was, at) = self.timestamp;
        let since = self.clock.monotonic().saturating_sub(at);
        // Origin 1: milliseconds since 1970, which were set.
        (was + since.as_millis() as u64, 0b010)
    }

    /// Returns the counters over the life of the drive.
    pub(crate) fn lifetime(&self) -> Counters {
        self.life.earlier.combine(self.device.counters(), |earlier, now| earlier + now)
    }
}

/// Creates a device without namespaces.
fn empty_device(config: &DeviceConfig, seed: u64) -> Result<Device<Pending>, DriveError> {
    let whole = DeviceConfig { namespaces: Vec::new(), ..config.clone() };
    let mut device = Device::with_observer(&whole, seed, Pending::default())?;
    device.delete_namespace(NsId(0));
    Ok(device)
}
