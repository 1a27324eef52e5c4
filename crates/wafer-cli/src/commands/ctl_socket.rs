//! The socket of `wafer serve --ctl`: a file that only its user may connect to, removed when the server ends.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use wafer_lab::LabError;

/// A listening socket whose file is removed when it is dropped.
pub(crate) struct ControlSocket {
    path: PathBuf,
    /// Device and inode of the file: a later file with the same name is not removed.
    file: (u64, u64),
    listener: UnixListener,
}

impl ControlSocket {
    /// Listens on a path. Replaces the socket of a dead server; any other file is kept.
    ///
    /// # Errors
    /// If the path cannot be used.
    pub(crate) fn bind(path: &Path) -> Result<Self, LabError> {
        let failed = |e: io::Error| LabError::config("--ctl", format!("{}: {e}", path.display()));
        let taken = |what: &str| LabError::config("--ctl", format!("{}: {what}", path.display()));
        match fs::symlink_metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
            Ok(found) if !found.file_type().is_socket() => {
                return Err(taken("the file exists and is not a socket"));
            }
            Ok(_) => match UnixStream::connect(path) {
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                    fs::remove_file(path).map_err(failed)?;
                }
                Err(error) => return Err(failed(error)),
                Ok(_) => return Err(taken("another server listens there")),
            },
        }
        // No other user may connect, not even before a change of the mode would take effect.
        let before = rustix::process::umask(Mode::RWXG | Mode::RWXO | Mode::XUSR);
        let bound = UnixListener::bind(path);
        rustix::process::umask(before);
        let listener = bound.map_err(failed)?;
        let found = fs::symlink_metadata(path).map_err(failed)?;
        let socket =
            ControlSocket { path: path.to_owned(), file: (found.dev(), found.ino()), listener };
        socket.listener.set_nonblocking(true).map_err(failed)?;
        Ok(socket)
    }

    /// Returns the listener.
    ///
    /// # Errors
    /// If there are too many open files.
    pub(crate) fn listener(&self) -> io::Result<tokio::net::UnixListener> {
        tokio::net::UnixListener::from_std(self.listener.try_clone()?)
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        let found = fs::symlink_metadata(&self.path);
        if found.is_ok_and(|found| (found.dev(), found.ino()) == self.file) {
            // There is nobody to report a failure to.
            let _ = fs::remove_file(&self.path);
        }
    }
}
