//! The file system of the machine.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{
    FallocateFlags, FlockOperation, XattrFlags, fallocate, fgetxattr, flock, fsetxattr,
};
use rustix::io::Errno;

use super::{Storage, StorageFile};

/// Name of the extended attribute that holds the mark of a file.
const MARK: &str = "user.wafer.drive";
/// Longest mark to read, bytes.
const MAX_MARK: usize = 256;

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
        // The new name is durable once its folder is.
        let folder = to.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder)?.sync_all()
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn is_same(&self, one: &Path, other: &Path) -> bool {
        if let (Ok(one), Ok(other)) = (fs::metadata(one), fs::metadata(other)) {
            return (one.dev(), one.ino()) == (other.dev(), other.ino());
        }
        let whole = |path: &Path| {
            let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
            let folder = fs::canonicalize(folder.unwrap_or(Path::new("."))).ok()?;
            Some(folder.join(path.file_name()?))
        };
        whole(one).is_some_and(|one| Some(one) == whole(other))
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
            // The file system does not support holes.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => write_zeroes(self, offset, length),
            result => result.map_err(io::Error::from),
        }
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn allocate(&self, offset: u64, length: u64) -> io::Result<()> {
        match fallocate(self, FallocateFlags::empty(), offset, length) {
            // The file system cannot reserve space, but written bytes have their space.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => write_zeroes(self, offset, length),
            result => result.map_err(io::Error::from),
        }
    }

    fn mark(&self) -> io::Result<Option<Vec<u8>>> {
        let mut mark = vec![0; MAX_MARK];
        match fgetxattr(self, MARK, &mut mark) {
            Ok(length) => {
                mark.truncate(length);
                Ok(Some(mark))
            }
            // No mark, no attributes in this file system, or an attribute that is not a mark.
            Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(None),
            Err(Errno::RANGE) => Ok(Some(Vec::new())),
            Err(e) => Err(e.into()),
        }
    }

    fn set_mark(&self, mark: &[u8]) -> io::Result<bool> {
        // Without attributes, or without room for them, the file has no mark.
        let kept = fsetxattr(self, MARK, mark, XattrFlags::empty()).is_ok();
        self.sync_all()?;
        Ok(kept)
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
