//! Faults of the server's files: errors from a preloaded library, a full disk, few descriptors.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate, statvfs};
use rustix::process::{Pid, Resource, Rlimit, prlimit};

/// Failure rates of operations in 1/65536, and their error. The layout matches `faults.c`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rates {
    pub(crate) write: u32,
    pub(crate) sync: u32,
    /// Opening and renaming.
    pub(crate) name: u32,
    /// Error number.
    pub(crate) error: u32,
}

/// The folder of the drive, on its own file system.
pub(crate) struct Disk {
    folder: PathBuf,
    control: File,
}

impl Disk {
    /// Takes over an empty folder.
    pub(crate) fn new(folder: &Path) -> io::Result<Self> {
        let control = folder.join("faults");
        let control = File::options().read(true).write(true).create_new(true).open(control)?;
        control.write_all_at(&[0; 20], 0)?;
        Ok(Disk { folder: folder.to_owned(), control })
    }

    /// Returns the file that the preloaded library reads.
    pub(crate) fn control(&self) -> PathBuf {
        self.folder.join("faults")
    }

    /// Returns the data file of the drive.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join("drive.img")
    }

    /// Sets the failure rates of operations.
    pub(crate) fn set(&self, rates: Rates) -> io::Result<()> {
        let words = [rates.write, rates.sync, rates.name, rates.error];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.control.write_all_at(&bytes, 0)
    }

    /// Returns the number of failed operations so far.
    pub(crate) fn struck(&self) -> io::Result<u32> {
        let mut bytes = [0; 4];
        self.control.read_exact_at(&mut bytes, 16)?;
        Ok(u32::from_le_bytes(bytes))
    }

    /// Leaves no space for the server.
    pub(crate) fn fill(&self) -> io::Result<()> {
        let filler = File::create(self.folder.join("filler"))?;
        loop {
            let status = statvfs(&self.folder)?;
            let free = status.f_bavail * status.f_frsize;
            if free == 0 {
                return Ok(());
            }
            // The server may take some of it in between.
            if let Err(error) =
                fallocate(&filler, FallocateFlags::empty(), filler.metadata()?.len(), free)
                && error != rustix::io::Errno::NOSPC
            {
                return Err(error.into());
            }
        }
    }

    /// Returns the space.
    pub(crate) fn empty(&self) -> io::Result<()> {
        match fs::remove_file(self.folder.join("filler")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }
}

/// Limits a process to this many more open files, or restores the limit.
pub(crate) fn limit_descriptors(pid: u32, more: Option<u64>) -> io::Result<()> {
    let Some(process) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return Ok(()) };
    let current = match more {
        Some(more) => crate::server::descriptors(pid)? as u64 + more,
        None => 1024,
    };
    let maximum = rustix::process::getrlimit(Resource::Nofile).maximum;
    prlimit(Some(process), Resource::Nofile, Rlimit { current: Some(current), maximum })?;
    Ok(())
}
