//! The file system: a folder with a file for each namespace, and the counters.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, InitFlags, KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyData,
    ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow,
    WriteFlags,
};

use crate::engine::Engine;

/// Sizes never change: the kernel may cache attributes indefinitely.
const FOREVER: Duration = Duration::from_secs(3600);
/// The counters do change.
const NEVER: Duration = Duration::ZERO;
/// Maximum size requested from the kernel.
const LARGEST: u32 = 1 << 20;
const COUNTERS: &str = "counters.json";
const BLOCK: u64 = 512;

pub(crate) struct Files {
    engine: Arc<Engine>,
    sizes: Vec<u64>,
    made: SystemTime,
    user: (u32, u32),
    /// The record at the time each opener opened `counters.json`: a reader sees a single moment.
    records: Mutex<Opened>,
}

#[derive(Default)]
struct Opened {
    last: u64,
    texts: HashMap<u64, Arc<[u8]>>,
}

/// The kinds of inode: 1 is the folder, 2 the counters, then the namespaces.
enum Node {
    Folder,
    Counters,
    Namespace(usize),
}

impl Files {
    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        // SAFETY: these have no arguments and cannot fail.
        let user = unsafe { (libc::geteuid(), libc::getegid()) };
        Files {
            sizes: engine.sizes(),
            engine,
            made: SystemTime::now(),
            user,
            records: Mutex::default(),
        }
    }

    fn opened(&self) -> std::sync::MutexGuard<'_, Opened> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn node(&self, inode: INodeNo) -> Option<Node> {
        match inode.0 {
            1 => Some(Node::Folder),
            2 => Some(Node::Counters),
            n => {
                let namespace = usize::try_from(n.checked_sub(3)?).ok()?;
                (namespace < self.sizes.len()).then_some(Node::Namespace(namespace))
            }
        }
    }

    fn name(&self, inode: u64) -> String {
        if inode == 2 { COUNTERS.to_owned() } else { format!("nvme0n{}", inode - 2) }
    }

    fn inodes(&self) -> std::ops::Range<u64> {
        2..3 + self.sizes.len() as u64
    }

    fn attributes(&self, inode: INodeNo) -> Option<(FileAttr, Duration)> {
        let (kind, perm, size, ttl) = match self.node(inode)? {
            Node::Folder => (FileType::Directory, 0o755, 0, FOREVER),
            Node::Counters => (FileType::RegularFile, 0o444, 0, NEVER),
            Node::Namespace(n) => (FileType::RegularFile, 0o600, self.sizes[n], FOREVER),
        };
        let attributes = FileAttr {
            ino: inode,
            size,
            blocks: size / BLOCK,
            atime: self.made,
            mtime: self.made,
            ctime: self.made,
            crtime: self.made,
            kind,
            perm,
            nlink: 1,
            uid: self.user.0,
            gid: self.user.1,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        };
        Some((attributes, ttl))
    }

    fn record(&self) -> Vec<u8> {
        wafer_record::text::json(&self.engine.record()).unwrap_or_default().into_bytes()
    }
}

fn errno(error: &io::Error) -> Errno {
    match error.kind() {
        io::ErrorKind::StorageFull => Errno::ENOSPC,
        io::ErrorKind::NotFound => Errno::ENOENT,
        io::ErrorKind::ReadOnlyFilesystem => Errno::EROFS,
        _ => error.raw_os_error().map_or(Errno::EIO, Errno::from_i32),
    }
}

fn finish(reply: ReplyEmpty, result: io::Result<()>) {
    match result {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(errno(&error)),
    }
}

impl Filesystem for Files {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // A kernel with a lower limit returns it.
        if let Err(most) = config.set_max_write(LARGEST) {
            let _ = config.set_max_write(most);
        }
        let _ = config.set_max_background(64);
        // Programs and loop devices may have several requests in flight, as on a block device.
        let _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = (parent == INodeNo::ROOT)
            .then(|| self.inodes().find(|inode| name == OsStr::new(&self.name(*inode))))
            .flatten()
            .and_then(|inode| self.attributes(INodeNo(inode)));
        match found {
            Some((attributes, ttl)) => reply.entry(&ttl, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(inode) {
            Some((attributes, ttl)) => reply.attr(&ttl, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    // Only namespaces have names here.
    fn mknod(
        &self,
        _: &Request,
        _: INodeNo,
        _: &OsStr,
        _mode: u32,
        _umask: u32,
        _rdev: u32,
        reply: ReplyEntry,
    ) {
        reply.error(Errno::EPERM);
    }

    fn mkdir(
        &self,
        _: &Request,
        _: INodeNo,
        _: &OsStr,
        _mode: u32,
        _umask: u32,
        reply: ReplyEntry,
    ) {
        reply.error(Errno::EPERM);
    }

    fn unlink(&self, _: &Request, _: INodeNo, _: &OsStr, reply: ReplyEmpty) {
        reply.error(Errno::EPERM);
    }

    fn rmdir(&self, _: &Request, _: INodeNo, _: &OsStr, reply: ReplyEmpty) {
        reply.error(Errno::EPERM);
    }

    fn rename(
        &self,
        _: &Request,
        _: INodeNo,
        _: &OsStr,
        _: INodeNo,
        _: &OsStr,
        _: RenameFlags,
        reply: ReplyEmpty,
    ) {
        reply.error(Errno::EPERM);
    }

    // As on a block device, truncation (`O_TRUNC` of a shell's `>`) changes nothing, and `touch` changes nothing
    // either.
    fn setattr(
        &self,
        request: &Request,
        inode: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        handle: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let set = |time| matches!(time, Some(TimeOrNow::SpecificTime(_)));
        let owner = mode.is_some() || uid.is_some() || gid.is_some();
        if owner || set(atime) || set(mtime) {
            return reply.error(Errno::EPERM);
        }
        // A smaller size changes nothing: programs that write a disk image truncate it first.
        if size > self.attributes(inode).map(|(attributes, _)| attributes.size) {
            return reply.error(Errno::EFBIG);
        }
        self.getattr(request, inode, handle, reply);
    }

    fn open(&self, _: &Request, inode: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.node(inode) {
            Some(Node::Counters) => {
                let text = self.record().into();
                let mut opened = self.opened();
                opened.last += 1;
                let handle = opened.last;
                opened.texts.insert(handle, text);
                reply.opened(FileHandle(handle), FopenFlags::FOPEN_DIRECT_IO);
            }
            Some(_) => {
                let flags = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES;
                reply.opened(FileHandle(0), flags);
            }
            None => reply.error(Errno::ENOENT),
        }
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.opened().texts.remove(&handle.0);
        reply.ok();
    }

    fn read(
        &self,
        _: &Request,
        inode: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.node(inode) {
            Some(Node::Namespace(namespace)) => {
                let (ticket, mut buffer) = (self.engine.ticket(), vec![0; size as usize]);
                let read = self.engine.read(ticket, namespace, offset, &mut buffer);
                self.engine.reply(ticket, move || match read {
                    Ok(length) => reply.data(&buffer[..length]),
                    Err(error) => reply.error(errno(&error)),
                });
            }
            Some(Node::Counters) => {
                let text = self.opened().texts.get(&handle.0).cloned().unwrap_or_default();
                let from = text.len().min(offset as usize);
                let to = text.len().min(from + size as usize);
                reply.data(&text[from..to]);
            }
            _ => reply.error(Errno::EISDIR),
        }
    }

    fn write(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let Some(Node::Namespace(namespace)) = self.node(inode) else {
            return reply.error(Errno::EACCES);
        };
        let ticket = self.engine.ticket();
        let written = self.engine.write(ticket, namespace, offset, data);
        self.engine.reply(ticket, move || match written {
            Ok(written) => reply.written(written as u32),
            Err(error) => reply.error(errno(&error)),
        });
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsync(&self, _: &Request, inode: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        match self.node(inode) {
            Some(Node::Namespace(namespace)) => {
                let ticket = self.engine.ticket();
                let flushed = self.engine.flush(ticket, namespace);
                self.engine.reply(ticket, move || finish(reply, flushed));
            }
            _ => reply.ok(),
        }
    }

    fn fallocate(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let Some(Node::Namespace(namespace)) = self.node(inode) else {
            return reply.error(Errno::EACCES);
        };
        let end = offset.saturating_add(length);
        if mode & libc::FALLOC_FL_KEEP_SIZE == 0 && end > self.sizes[namespace] {
            return reply.error(Errno::ENOSPC);
        }
        match mode & !libc::FALLOC_FL_KEEP_SIZE {
            // Space is always allocated.
            0 => reply.ok(),
            libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_ZERO_RANGE => {
                let ticket = self.engine.ticket();
                let done = self.engine.deallocate(ticket, namespace, offset, length);
                self.engine.reply(ticket, move || finish(reply, done));
            }
            _ => reply.error(Errno::EOPNOTSUPP),
        }
    }

    fn readdir(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        if inode != INodeNo::ROOT {
            return reply.error(Errno::ENOTDIR);
        }
        let dots =
            [(1, FileType::Directory, ".".to_owned()), (1, FileType::Directory, "..".to_owned())];
        let files = self.inodes().map(|i| (i, FileType::RegularFile, self.name(i)));
        for (at, (inode, kind, name)) in
            dots.into_iter().chain(files).enumerate().skip(offset as usize)
        {
            if reply.add(INodeNo(inode), at as u64 + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let blocks = self.sizes.iter().sum::<u64>() / 4096;
        reply.statfs(blocks, 0, 0, self.sizes.len() as u64, 0, 4096, 255, 4096);
    }
}
