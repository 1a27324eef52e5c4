//! Mounting and unmounting.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{BackgroundSession, Config, MountOption, Session, SessionACL};
use wafer_core::{Device, DeviceConfig};
use wafer_workload::trace::capture::{
    CaptureGeometry, CaptureHeader, CaptureNamespace, CaptureWriter,
};

use crate::backend::{Backend, DataSpec, file, memory, none};
use crate::engine::{CountersReport, Engine};
use crate::files::Files;

/// A drive cannot be mounted. One line.
#[derive(Debug, thiserror::Error)]
pub enum MountError {
    /// The folder cannot be mounted on.
    #[error("{}: {source}", path.display())]
    Mount {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file for data or for the capture cannot be used.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The capture is incomplete.
    #[error("the capture is incomplete: {0}")]
    Capture(io::Error),
}

/// How a drive is mounted.
#[derive(Clone, Debug)]
pub struct MountOptions {
    /// Where data lives.
    pub data: DataSpec,
    /// Record all commands here.
    pub record: Option<PathBuf>,
    /// Keep the server in memory, as swap on the drive needs.
    pub lock_memory: bool,
}

/// A mounted drive. Dropping it unmounts.
pub struct Mounted {
    engine: Arc<Engine>,
    session: Option<BackgroundSession>,
    ended: Arc<AtomicBool>,
    ticker: Option<JoinHandle<()>>,
    notices: Vec<String>,
}

/// How often a frame of the capture ends.
const FRAME: Duration = Duration::from_millis(500);

/// Mounts a drive on a folder. `config` is that of the device, for the capture.
///
/// # Errors
/// As [`MountError`] says. Nothing is mounted then.
pub fn mount(
    folder: &Path,
    device: Device,
    config: &DeviceConfig,
    options: &MountOptions,
) -> Result<Mounted, MountError> {
    let of_folder = |source: io::Error| MountError::Mount { path: folder.to_owned(), source };
    if !folder.is_dir() {
        return Err(of_folder(io::Error::other("is no folder to mount on")));
    }
    if !Path::new("/dev/fuse").exists() {
        let reason = "there is no /dev/fuse on this machine (modprobe fuse)";
        return Err(of_folder(io::Error::other(reason)));
    }
    let mut notices = Vec::new();
    if options.lock_memory {
        match crate::memory::lock() {
            Ok(true) => {}
            Ok(false) => notices.push(
                "memory is locked; without CAP_SYS_RESOURCE the server is not marked as part of the way \
                 to storage, so keep swap on this drive to a limited control group"
                    .to_owned(),
            ),
            Err(error) => notices
                .push(format!("memory is not locked ({error}); swap on this drive may hang the machine")),
        }
    }
    let backend: Box<dyn Backend> = match &options.data {
        DataSpec::None => Box::new(none::None),
        DataSpec::Memory => Box::new(memory::Memory),
        DataSpec::File(path) => {
            let file = file::File::open(path);
            Box::new(file.map_err(|source| MountError::File { path: path.clone(), source })?)
        }
    };
    let capture = match &options.record {
        None => None,
        Some(path) => {
            let of_file = |source| MountError::File { path: path.clone(), source };
            let out = BufWriter::new(File::create(path).map_err(of_file)?);
            Some(CaptureWriter::new(out, &capture_header(&device, config)).map_err(of_file)?)
        }
    };
    let engine = Engine::new(device, backend, capture).map_err(of_folder)?;
    let engine = Arc::new(engine);
    let mut fuse = Config::default();
    fuse.mount_options = vec![
        MountOption::FSName("wafer".to_owned()),
        MountOption::Subtype("wafer".to_owned()),
        MountOption::NoAtime,
    ];
    // Loop devices read and write as the kernel, whoever set them up.
    fuse.acl = SessionACL::Owner;
    fuse.n_threads = Some(2);
    let session = Session::new(Files::new(Arc::clone(&engine)), folder, &fuse)
        .and_then(Session::spawn)
        .map_err(of_folder)?;
    let ended = Arc::new(AtomicBool::new(false));
    let ticker = {
        let (engine, ended) = (Arc::clone(&engine), Arc::clone(&ended));
        std::thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                std::thread::park_timeout(FRAME);
                engine.flush_capture();
            }
        })
    };
    Ok(Mounted { engine, session: Some(session), ended, ticker: Some(ticker), notices })
}

impl Mounted {
    /// What is worth telling, a line each.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// What the drive has counted so far.
    pub fn counters(&self) -> CountersReport {
        self.engine.counters()
    }

    /// Whether somebody unmounted it (`umount`).
    pub fn is_unmounted(&self) -> bool {
        self.session.as_ref().is_none_or(|s| s.guard.is_finished())
    }

    /// Unmounts, ends the capture, and answers the counters.
    ///
    /// # Errors
    /// When it is still in use, or the capture is incomplete.
    pub fn unmount(mut self) -> Result<CountersReport, MountError> {
        self.end()
    }

    fn end(&mut self) -> Result<CountersReport, MountError> {
        if let Some(session) = self.session.take() {
            // Unmounted by somebody else: there is nothing to undo.
            let _ = session.umount_and_join();
        }
        self.ended.store(true, Ordering::Relaxed);
        if let Some(ticker) = self.ticker.take() {
            ticker.thread().unpark();
            let _ = ticker.join();
        }
        self.engine.finish().map_err(MountError::Capture)?;
        Ok(self.engine.counters())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// What the capture says of the drive.
pub(crate) fn capture_header(device: &Device, config: &DeviceConfig) -> CaptureHeader {
    let geometry = device.geometry();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    CaptureHeader {
        format: "wafer.capture/1".to_owned(),
        software: concat!("wafer-mount ", env!("CARGO_PKG_VERSION")).to_owned(),
        started_unix_ms: now.as_millis() as u64,
        device: config.clone(),
        geometry: CaptureGeometry::from(geometry),
        namespaces: (geometry.namespace_bytes().iter().zip(&geometry.namespace_handles))
            .enumerate()
            .map(|(i, (bytes, handles))| CaptureNamespace {
                namespace: i as u8,
                blocks: bytes / wafer_core::LBA_BYTES,
                lba_bytes: 512,
                handles: handles.clone(),
            })
            .collect(),
    }
}
