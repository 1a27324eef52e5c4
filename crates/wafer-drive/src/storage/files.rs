//! The file system of the machine.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use memmap2::MmapMut;
use rustix::fs::{FallocateFlags, FlockOperation, fallocate, flock};
use rustix::io::Errno;

use super::{SharedMemory, Storage, StorageFile};

/// Keeps files in the file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct Files;

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}

impl Storage for Files {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn StorageFile>> {
        Ok(Arc::new(open(path)?))
    }

    fn open_locked(&self, path: &Path) -> io::Result<Arc<dyn StorageFile>> {
        let file = open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("this is not a regular file"));
        }
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Arc::new(file)),
            Err(Errno::WOULDBLOCK) => Err(io::Error::other("another process serves this file")),
            Err(e) => Err(e.into()),
        }
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn Write + Send>> {
        Ok(Box::new(File::create(path)?))
    }

    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)?;
        // The name is durable when its folder is.
        let folder = to.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder)?.sync_all()
    }
}

impl StorageFile for File {
    fn len(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        File::set_len(self, length)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.read_exact_at(buffer, offset)
    }

    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        self.write_all_at(data, offset)
    }

    fn punch_hole(&self, offset: u64, length: u64) -> io::Result<()> {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match fallocate(self, flags, offset, length) {
            // A file system without holes.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => write_zeroes(self, offset, length),
            result => result.map_err(io::Error::from),
        }
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn map(&self) -> io::Result<Box<dyn SharedMemory>> {
        // SAFETY: the drive's data file is locked for as long as this map lives, and every server of it
        // locks it first: nobody else changes or cuts this file.
        Ok(Box::new(unsafe { MmapMut::map_mut(self)? }))
    }
}

impl SharedMemory for MmapMut {
    fn bytes(&self) -> &[u8] {
        self
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self
    }

    fn sync(&self, length: usize) -> io::Result<()> {
        self.flush_range(0, length)
    }
}

fn write_zeroes(file: &File, offset: u64, length: u64) -> io::Result<()> {
    let zeroes = vec![0; length.min(1 << 20) as usize];
    let (mut at, end) = (offset, offset + length);
    while at < end {
        let count = (end - at).min(zeroes.len() as u64);
        file.write_all_at(&zeroes[..count as usize], at)?;
        at += count;
    }
    Ok(())
}
