//! Output files: which paths are allowed, and how they are written.
//!
//! A regular file is complete or unchanged at any moment, even after a crash. The text goes to an unnamed file if the
//! system supports that, which leaves nothing behind however the program ends, and the file gets its name once it is on
//! the medium. Symbolic links are followed, and the mode of an existing file is kept. Pipes, terminals, `/dev/null`,
//! `/dev/stdout` and `/dev/stderr` are written to; other devices are refused.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, fchown};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use serde::Serialize;

use crate::error::RecordError;
use crate::text::json;

/// Writes a file.
///
/// # Errors
/// The file cannot be written, or may not be an output.
pub fn write_file<W>(path: &Path, write: W) -> Result<(), RecordError>
where
    W: FnOnce(&mut dyn Write) -> io::Result<()>,
{
    let failed = |source| RecordError::Io { path: path.to_owned(), source };
    match Destination::of(path)? {
        Destination::Stdout => write(&mut io::stdout().lock()),
        Destination::Stderr => write(&mut io::stderr().lock()),
        Destination::Stream => {
            OpenOptions::new().write(true).open(path).and_then(|mut file| write(&mut file))
        }
        Destination::File(target) => replace(&target, write),
    }
    .map_err(failed)
}

/// Writes text to a file.
///
/// # Errors
/// Like [`write_file`].
pub fn write_text(path: &Path, text: &str) -> Result<(), RecordError> {
    write_file(path, |file| file.write_all(text.as_bytes()))
}

/// Writes a value as a JSON file.
///
/// # Errors
/// Like [`write_file`].
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), RecordError> {
    let failed = |e: serde_json::Error| RecordError::Io { path: path.to_owned(), source: e.into() };
    write_text(path, &json(value).map_err(failed)?)
}

/// Checks outputs before anything is written: no output may be an input or another output. Files are identified by
/// device and inode, not by name.
#[derive(Debug, Default)]
pub struct Outputs {
    inputs: Vec<Identity>,
    outputs: Vec<Identity>,
    has_stdout: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Identity {
    /// Device and inode.
    File(u64, u64),
    /// A file to create: the folder's device and inode, and the name.
    Name(u64, u64, std::ffi::OsString),
    /// A file to create in a folder to create.
    Path(PathBuf),
}

impl Outputs {
    /// Declares an input: a file, or a folder whose records and configurations (`*.json`, `*.toml`) are read.
    pub fn input(&mut self, path: &Path) {
        self.inputs.extend(Identity::of(path));
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|end| end == "json" || end == "toml") {
                self.inputs.extend(Identity::of(&path));
            }
        }
    }

    /// Declares an output.
    ///
    /// # Errors
    /// It is an input, another output, a folder or a device, or its folder does not exist.
    pub fn output(&mut self, path: &Path) -> Result<(), RecordError> {
        if let Destination::File(target) = Destination::of(path)? {
            let folder = parent(&target);
            if !folder.is_dir() {
                return Err(refused(path, format!("no folder {}", folder.display())));
            }
            if !target.exists() && access(folder, Access::WRITE_OK).is_err() {
                let reason = format!("the folder {} cannot be written to", folder.display());
                return Err(refused(path, reason));
            }
        }
        self.claim(path)
    }

    /// Declares an output that is stdout if the path is `-`.
    ///
    /// # Errors
    /// Like [`Self::output`], or stdout is already another output.
    pub fn output_or_stdout(&mut self, path: &Path) -> Result<(), RecordError> {
        if path.as_os_str() != "-" {
            return self.output(path);
        }
        if std::mem::replace(&mut self.has_stdout, true) {
            return Err(refused(path, "stdout takes one output only"));
        }
        Ok(())
    }

    /// Reports whether an output is stdout.
    pub fn has_stdout(&self) -> bool {
        self.has_stdout
    }

    /// Declares a file of any kind that a drive keeps.
    ///
    /// # Errors
    /// It is an input or another output.
    pub fn claim(&mut self, path: &Path) -> Result<(), RecordError> {
        let Some(identity) = Identity::of(path) else { return Ok(()) };
        if self.inputs.contains(&identity) {
            return Err(refused(path, "is also an input, which the output would overwrite"));
        }
        if self.outputs.contains(&identity) {
            return Err(refused(path, "is another output too"));
        }
        self.outputs.push(identity);
        Ok(())
    }
}

impl Identity {
    /// Returns the identity of the file at a path; `None` for terminals, pipes and other streams.
    fn of(path: &Path) -> Option<Self> {
        if let Ok(found) = fs::metadata(path) {
            let kept = found.is_file() || found.is_dir() || found.file_type().is_block_device();
            return kept.then(|| Identity::File(found.dev(), found.ino()));
        }
        let target = resolved(path);
        Some(match (fs::metadata(parent(&target)), target.file_name()) {
            (Ok(folder), Some(name)) => Identity::Name(folder.dev(), folder.ino(), name.to_owned()),
            _ => Identity::Path(std::path::absolute(&target).unwrap_or(target)),
        })
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Destination {
    Stdout,
    Stderr,
    /// A pipe, a terminal or `/dev/null`.
    Stream,
    /// A regular file, symbolic links resolved.
    File(PathBuf),
}

impl Destination {
    fn of(path: &Path) -> Result<Self, RecordError> {
        // Standard streams are written through the descriptors that the shell opened, which respects `> file` and `>>
        // file`.
        for (name, number, standard) in
            [("stdout", "1", Destination::Stdout), ("stderr", "2", Destination::Stderr)]
        {
            let names = [
                PathBuf::from(format!("/dev/{name}")),
                PathBuf::from(format!("/dev/fd/{number}")),
                PathBuf::from(format!("/proc/self/fd/{number}")),
            ];
            if names.iter().any(|known| path == known) {
                return Ok(standard);
            }
        }
        if path.as_os_str().is_empty() {
            return Err(RecordError::input("output", "an empty name"));
        }
        let found = match fs::metadata(path) {
            Ok(found) => found,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
                    return Err(refused(path, "names a folder"));
                }
                return Ok(Destination::File(resolved(path)));
            }
            Err(source) => return Err(RecordError::Io { path: path.to_owned(), source }),
        };
        let kind = found.file_type();
        if kind.is_file() {
            if access(path, Access::WRITE_OK).is_err() {
                return Err(refused(path, "may not be written"));
            }
            return Ok(Destination::File(resolved(path)));
        }
        let stream =
            kind.is_fifo() || kind.is_char_device() && (is_null(found.rdev()) || is_terminal(path));
        match stream {
            true => Ok(Destination::Stream),
            false if kind.is_dir() => Err(refused(path, "is a folder")),
            false => Err(refused(path, "is a device or a socket, not a file")),
        }
    }
}

/// Reports whether a device is `/dev/null` or `/dev/full`.
fn is_null(device: u64) -> bool {
    [3, 7].map(|minor| rustix::fs::makedev(1, minor)).contains(&device)
}

fn is_terminal(path: &Path) -> bool {
    let file = OpenOptions::new().write(true).open(path);
    file.is_ok_and(|file| io::IsTerminal::is_terminal(&file))
}

fn refused(path: &Path, reason: impl Into<String>) -> RecordError {
    RecordError::input(path.display().to_string(), reason)
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Follows symbolic links, even one whose target does not exist yet.
fn resolved(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..40 {
        match fs::read_link(&path) {
            Ok(target) => path = parent(&path).join(target),
            Err(_) => break,
        }
    }
    path
}

/// Writes a new file that takes the name of the old one.
fn replace<W>(target: &Path, write: W) -> io::Result<()>
where
    W: FnOnce(&mut dyn Write) -> io::Result<()>,
{
    let folder = parent(target);
    let new = New::in_folder(folder)?;
    let mut file = new.file();
    if let Ok(old) = fs::metadata(target) {
        file.set_permissions(old.permissions())?;
        // Only root can change the owner. For anybody else, the old file was already theirs or the new one is.
        let _ = fchown(file, Some(old.uid()), Some(old.gid()));
    }
    write(&mut file)?;
    file.sync_all()?;
    new.name(target)?;
    // The name must survive a crash, too. Not every file system can sync a folder.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    Ok(())
}

/// A file that does not have its name yet.
enum New {
    /// No name.
    #[cfg(target_os = "linux")]
    Unnamed(File),
    /// A temporary name, if the system or the file system needs one; removed when dropped.
    Temporary(tempfile::NamedTempFile),
}

impl New {
    fn in_folder(folder: &Path) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{CWD, Mode, OFlags, openat};
            use rustix::io::Errno;
            let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
            if Path::new("/proc/self/fd").exists() {
                match openat(CWD, folder, flags, Mode::from_raw_mode(0o666)) {
                    Ok(file) => return Ok(New::Unnamed(file.into())),
                    // The file system does not support unnamed files.
                    Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        let everybody = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o666);
        let mut builder = tempfile::Builder::new();
        let named = builder.prefix(".wafer-").suffix(".tmp").permissions(everybody);
        named.tempfile_in(folder).map(New::Temporary)
    }

    fn file(&self) -> &File {
        match self {
            #[cfg(target_os = "linux")]
            New::Unnamed(file) => file,
            New::Temporary(file) => file.as_file(),
        }
    }

    /// Gives the file its name, replacing an existing file.
    fn name(self, target: &Path) -> io::Result<()> {
        match self {
            #[cfg(target_os = "linux")]
            New::Unnamed(file) => {
                use std::os::fd::AsRawFd as _;

                use rustix::fs::{AtFlags, CWD, linkat};
                let path = format!("/proc/self/fd/{}", file.as_raw_fd());
                // A link cannot replace a file, so the new file briefly has a name of its own.
                let name = target.file_name().unwrap_or_default().to_string_lossy();
                let between = parent(target).join(format!(".{name}.{}.tmp", std::process::id()));
                let _ = fs::remove_file(&between);
                linkat(CWD, path, CWD, &between, AtFlags::SYMLINK_FOLLOW)?;
                fs::rename(&between, target).inspect_err(|_| {
                    // The first error is the one to report.
                    let _ = fs::remove_file(&between);
                })
            }
            New::Temporary(file) => file.persist(target).map(|_| ()).map_err(|e| e.error),
        }
    }
}

#[cfg(test)]
mod tests;
