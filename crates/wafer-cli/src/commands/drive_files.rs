//! The files of a drive, checked by `serve` and `mount` before any is touched.

use std::path::{Path, PathBuf};

use wafer_config::ResolvedDevice;
use wafer_drive::DriveError;
use wafer_interface::CommandStream;
use wafer_lab::{LabError, PreconditionStream};
use wafer_record::{Outputs, Precondition, RecordError};
use wafer_storage::DataSpec;

/// Suffixes of the files that a drive keeps next to its data.
const KEPT: [&str; 3] = ["", ".state", ".journal"];

/// Refuses drive files if one is also another file of the drive, or was claimed before.
pub(crate) fn claim(
    all: &mut Outputs,
    device: &str,
    data: &DataSpec,
    outputs: impl IntoIterator<Item = PathBuf>,
) -> Result<(), RecordError> {
    all.input(Path::new(device));
    if let DataSpec::File(path) = data {
        let beside = |end: &str| {
            let mut name = path.clone().into_os_string();
            name.push(end);
            PathBuf::from(name)
        };
        KEPT.into_iter().try_for_each(|end| all.claim(&beside(end)))?;
    }
    outputs.into_iter().try_for_each(|path| all.output(&path))
}

/// Converts a failure to create the drive into an error of the arguments or the configuration.
pub(crate) fn usage(error: DriveError) -> LabError {
    match error {
        DriveError::Config(e) => LabError::config(e.key, e.message),
        DriveError::Io { path, source } => LabError::config(path, source.to_string()),
        DriveError::Used => LabError::config("--precondition", error.to_string()),
        DriveError::Interrupted => LabError::Cancelled,
        DriveError::Unrecorded => LabError::Run(error.to_string()),
        other => LabError::config("drive", other.to_string()),
    }
}

/// Returns the commands that bring a drive into a state, and the bytes they write; none for a fresh drive.
///
/// # Errors
/// If the state needs a workload.
pub(crate) fn filling(
    state: Option<Precondition>,
    device: &ResolvedDevice,
    seed: u64,
) -> Result<Option<(impl CommandStream, u64)>, LabError> {
    let state = state.unwrap_or_default();
    if state.load || state.steady {
        let reason = "`load` and `steady` need a workload; a served or mounted drive has none";
        return Err(LabError::config("--precondition", reason));
    }
    let filling = PreconditionStream::new(&state, &device.geometry, seed);
    Ok(filling.map(|filling| {
        let bytes = filling.total_bytes();
        (filling.into_stream(), bytes)
    }))
}

/// Returns a note if a capture is about to replace the contents of its file.
pub(crate) fn replaced(capture: &Path) -> Option<String> {
    let holds = capture.metadata().is_ok_and(|file| file.is_file() && file.len() > 0);
    holds.then(|| format!("{}: the new capture replaces the file's contents", capture.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_file_that_holds_something_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("run.trace");
        assert_eq!((replaced(&file), replaced(folder.path())), (None, None));
        std::fs::write(&file, "").unwrap();
        assert_eq!(replaced(&file), None);
        std::fs::write(&file, "precious").unwrap();
        assert!(replaced(&file).unwrap().contains("run.trace: the new capture replaces"));
    }
}
