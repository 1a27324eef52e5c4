//! What a drive is made with, and why it cannot be made.

use std::io;
use std::path::Path;

use wafer_device::DeviceConfig;

use wafer_storage::DataSpec;

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
    /// Which of these settings a drive that is opened again must have been made with; it continues with its own.
    pub given: Given,
}

/// Settings of a drive that somebody asked for, and that a drive that is opened again must have been made with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// The random seed.
    pub seed: bool,
    /// The logical blocks.
    pub lba_bytes: bool,
    /// Whether FDP events are enabled from the start.
    pub events_enabled: bool,
}

/// Why a drive cannot be made, or cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The device's configuration cannot work.
    #[error(transparent)]
    Config(#[from] wafer_interface::InvalidKey),
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
