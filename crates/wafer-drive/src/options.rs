//! The options of a drive, and the errors of creating or opening one.

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
    /// Logical block size of the initial namespaces, in bytes: 512 or 4096.
    pub lba_bytes: u32,
    /// Whether FDP events are enabled initially for all handles; by the specification, they are disabled until a host
    /// enables them.
    pub events_enabled: bool,
    /// Which of these settings an existing drive must have been created with; otherwise its own apply.
    pub given: Given,
}

/// The settings that were given explicitly, and that an existing drive must have been created with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// The random seed.
    pub seed: bool,
    /// The logical block size.
    pub lba_bytes: bool,
    /// Whether FDP events are enabled initially.
    pub events_enabled: bool,
}

/// Why a drive cannot be created or opened.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The device's configuration is invalid.
    #[error(transparent)]
    Config(#[from] wafer_interface::InvalidKey),
    /// A file cannot be used.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// The error.
        source: io::Error,
    },
    /// A precondition, and a drive that was opened before.
    #[error("the drive has been used before and keeps its state; a new one needs other files")]
    Used,
    /// A precondition was interrupted.
    #[error("interrupted")]
    Interrupted,
    /// The journal cannot be written.
    #[error("the drive cannot record what fills it")]
    Unrecorded,
    /// A namespace of the configuration cannot be created.
    #[error("namespaces[{0}]: {1}")]
    Namespace(usize, String),
    /// The files of an existing drive do not match.
    #[error("{path}: {reason}")]
    State {
        /// The file.
        path: String,
        /// The reason.
        reason: String,
    },
}

impl DriveError {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        DriveError::Io { path: path.display().to_string(), source }
    }
}
