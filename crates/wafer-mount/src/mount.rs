//! Mounting and unmounting.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use fuser::{BackgroundSession, Config, MountOption, Session, SessionACL};
use rustix::io::Errno;
use rustix::mount::{UnmountFlags, unmount};
use wafer_device::DeviceConfig;
use wafer_drive::{Drive, DriveError, DriveOptions};
use wafer_interface::CommandStream;
use wafer_record::Record;
use wafer_record::capture::used_before;
use wafer_record::record::Provenance;
use wafer_storage::DataSpec;

use crate::engine::Engine;
use crate::files::Files;
use crate::place::{NAME, Place, Visible};

/// The reason why a drive cannot be mounted.
#[derive(Debug, thiserror::Error)]
pub enum MountError {
    /// The folder cannot be mounted on.
    #[error("{}", path.display())]
    Mount {
        /// The folder.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The drive cannot be created.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// The device has no clock, or an unsuitable one.
    #[error("{0}")]
    Time(String),
    /// The capture or the data are incomplete.
    #[error("the capture or the data are incomplete: {0}")]
    Incomplete(io::Error),
}

/// Options for mounting a drive.
#[derive(Clone, Debug)]
pub struct MountOptions {
    /// Backend of the data.
    pub data: DataSpec,
    /// Capture file for all commands.
    pub record: Option<PathBuf>,
    /// Whether requests take the time of the media.
    pub time: bool,
    /// Whether to lock the server in memory, which swap on the drive requires.
    pub lock_memory: bool,
}

/// A mounted drive. Dropping it unmounts.
pub struct Mounted {
    engine: Arc<Engine>,
    /// Absolute path of the mount point.
    folder: PathBuf,
    /// The mount on it; none if the system does not report it.
    place: Option<Place>,
    detached: AtomicBool,
    session: Option<BackgroundSession>,
    ended: Arc<AtomicBool>,
    ticker: Option<JoinHandle<()>>,
    /// The error that ended the capture early, if any.
    failed: Arc<Mutex<Option<io::Error>>>,
    notices: Vec<String>,
}

/// Interval between frames of the capture.
const FRAME: Duration = Duration::from_millis(500);
/// Interval for checking whether the last file is closed.
const POLL: Duration = Duration::from_millis(10);

/// Mounts a drive on a folder. The commands of `precondition` are applied first and not counted; `progress` is called
/// with the bytes they have written, and stops them by returning false. `provenance` is part of the record.
///
/// # Errors
/// [`MountError`]; nothing is then mounted.
pub fn mount(
    folder: &Path,
    config: &DeviceConfig,
    precondition: Option<&mut dyn CommandStream>,
    progress: impl FnMut(u64) -> bool,
    options: &MountOptions,
    provenance: Provenance,
) -> Result<Mounted, MountError> {
    let of_folder = |source: io::Error| MountError::Mount { path: folder.to_owned(), source };
    if !folder.is_dir() {
        let code = folder.metadata().err().and_then(|error| error.raw_os_error());
        return Err(of_folder(io::Error::other(match code {
            Some(libc::ENOTCONN) => "what is mounted there has lost its server; unmount it first",
            _ => "not a directory",
        })));
    }
    if !Path::new("/dev/fuse").exists() {
        let reason = "cannot mount without /dev/fuse; load it with `modprobe fuse`";
        return Err(of_folder(io::Error::other(reason)));
    }
    let absolute = folder.canonicalize().map_err(of_folder)?;
    if Place::at(&absolute).is_some_and(|place| place.is_drive()) {
        return Err(of_folder(io::Error::other("a drive is mounted there")));
    }
    if options.time {
        config.check_clock().map_err(|reason| MountError::Time(reason.to_owned()))?;
    }
    let drive = Drive::new(DriveOptions {
        device: config.clone(),
        seed: 0,
        data: options.data.clone(),
        lba_bytes: 512,
        events_enabled: false,
        given: Default::default(),
    })?;
    let mut notices = drive.notices().to_vec();
    if options.lock_memory {
        match crate::memory::lock() {
            Ok(true) => {}
            Ok(false) => notices.push(
                "memory is locked, but marking the server as part of the storage path needs \
                 CAP_SYS_RESOURCE; use swap on this drive only within a limited control group"
                    .to_owned(),
            ),
            Err(error) => notices.push(format!(
                "cannot lock memory ({error}); swap on this drive may hang the machine"
            )),
        }
    }
    let prepared = prepare(&drive, precondition, progress, options).and_then(|notice| {
        if options.time {
            drive.emulate().map_err(MountError::Time)?;
        }
        Ok(notice)
    });
    match prepared {
        Ok(notice) => notices.extend(notice),
        Err(error) => {
            drive.close().map_err(MountError::Incomplete)?;
            return Err(error);
        }
    }
    let engine = Arc::new(Engine::new(drive, folder.display().to_string(), provenance));
    let mut fuse = Config::default();
    fuse.mount_options = vec![
        MountOption::FSName(NAME.to_owned()),
        MountOption::Subtype(NAME.to_owned()),
        MountOption::NoAtime,
    ];
    // Loop devices access files as the kernel, regardless of the user who set them up.
    fuse.acl = SessionACL::Owner;
    fuse.n_threads = Some(2);
    let session =
        Session::new(Files::new(Arc::clone(&engine)), folder, &fuse).and_then(Session::spawn);
    let session = match session {
        Ok(session) => session,
        Err(error) => {
            engine.close().map_err(MountError::Incomplete)?;
            return Err(of_folder(error));
        }
    };
    let place = Place::at(&absolute).filter(Place::is_drive);
    let ended = Arc::new(AtomicBool::new(false));
    let failed = Arc::new(Mutex::new(None));
    let ticker = {
        let (engine, ended, failed) =
            (Arc::clone(&engine), Arc::clone(&ended), Arc::clone(&failed));
        std::thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                std::thread::park_timeout(FRAME);
                if let Err(error) = engine.maintain() {
                    failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                }
            }
        })
    };
    Ok(Mounted {
        engine,
        folder: absolute,
        place,
        detached: AtomicBool::new(false),
        session: Some(session),
        ended,
        ticker: Some(ticker),
        failed,
        notices,
    })
}

/// Brings a new drive into its initial state, and begins its capture. Returns a notice if a replay of the capture
/// would begin with a different drive.
fn prepare(
    drive: &Drive,
    precondition: Option<&mut dyn CommandStream>,
    progress: impl FnMut(u64) -> bool,
    options: &MountOptions,
) -> Result<Option<String>, MountError> {
    if let Some(stream) = precondition {
        drive.precondition(stream, progress)?;
    }
    match &options.record {
        Some(path) => {
            drive.record(path)?;
            Ok(used_before(path, drive.counters().lifetime.media_bytes))
        }
        None => Ok(None),
    }
}

impl Mounted {
    /// Returns notices for the user, one line each.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// Returns the record of the drive so far.
    pub fn record(&self) -> Record {
        self.engine.record()
    }

    /// Returns whether the folder was unmounted from outside (`umount`).
    pub fn is_unmounted(&self) -> bool {
        self.session.as_ref().is_none_or(|s| s.guard.is_finished())
    }

    /// Returns why the capture ended or the drive cannot be saved, if either happened.
    pub fn failure(&self) -> Option<String> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.as_ref().map(io::Error::to_string)
    }

    /// Returns the position of the drive among the mounts on its folder.
    fn visible(&self) -> Visible {
        match &self.place {
            _ if self.detached.load(Ordering::Relaxed) => Visible::Gone,
            Some(place) => place.visible(&self.folder),
            None => Visible::Top,
        }
    }

    /// Returns whether another file system is mounted over the drive, which then cannot be unmounted.
    pub fn is_covered(&self) -> bool {
        self.visible() == Visible::Covered
    }

    /// Detaches the mount point. Open files remain usable until they are closed. Returns whether there are
    /// any: [`Self::unmount`] waits for them.
    pub fn detach(&self) -> bool {
        if self.is_unmounted() {
            return false;
        }
        match self.visible() {
            Visible::Top => {}
            Visible::Covered => return false,
            Visible::Gone => return true,
        }
        let busy = match unmount(&self.folder, UnmountFlags::empty()) {
            Err(Errno::BUSY) => unmount(&self.folder, UnmountFlags::DETACH).map(|()| true),
            done => done.map(|()| false),
        };
        // Without root, fusermount does this in `unmount`.
        self.detached.store(busy.is_ok(), Ordering::Relaxed);
        busy.unwrap_or(false)
    }

    /// Unmounts, waits until every open file is closed, and ends the capture. Returns the record of the drive, and
    /// whether everything succeeded.
    ///
    /// # Errors
    /// If the capture or the data are incomplete.
    pub fn unmount(mut self) -> (Record, Result<(), MountError>) {
        let ended = self.end();
        (self.engine.record(), ended)
    }

    fn end(&mut self) -> Result<(), MountError> {
        self.detach();
        let visible = self.visible();
        match self.session.take() {
            Some(session) if visible == Visible::Top && !session.guard.is_finished() => {
                // Fails if it is unmounted from outside: nothing is then left to undo.
                let _ = session.umount_and_join();
            }
            Some(session) => {
                // A covered mount cannot be unmounted, so do not wait for it: it is dead once this process ends.
                while visible != Visible::Covered && !session.guard.is_finished() {
                    std::thread::sleep(POLL);
                }
                // Dropping it would unmount whatever is on the folder now.
                std::mem::forget(session);
            }
            None => {}
        }
        self.ended.store(true, Ordering::Relaxed);
        if let Some(ticker) = self.ticker.take() {
            ticker.thread().unpark();
            let _ = ticker.join();
            self.engine.close().map_err(MountError::Incomplete)?;
        }
        match self.failed.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(MountError::Incomplete(error)),
            None => Ok(()),
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = self.end();
    }
}
