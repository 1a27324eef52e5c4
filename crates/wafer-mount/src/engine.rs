//! Bytes at offsets of files, as commands of the drive.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;
use wafer_core::{Command, LBA_BYTES, NsId, Op, Placement};
use wafer_target::drive::{Drive, DriveSnapshot, Namespace};

/// A drive whose namespaces are arrays of bytes.
pub struct Engine {
    drive: Drive,
    namespaces: Vec<Arc<Namespace>>,
    /// What had been counted before: preconditioning.
    before: DriveSnapshot,
    flushes: AtomicU64,
    host: u16,
}

/// What the drive has counted.
#[derive(Clone, Debug, Serialize)]
pub struct CountersReport {
    /// HBMW: bytes that were written.
    pub host_bytes: u64,
    /// MBMW.
    pub media_bytes: u64,
    /// MBE.
    pub erased_bytes: u64,
    /// MBMW / HBMW.
    pub waf: f64,
    /// Bytes that were read.
    pub read_bytes: u64,
    /// Pages that deallocate unmapped.
    pub deallocated_pages: u64,
    /// Pages that were written in part.
    pub rmw_pages: u64,
    /// Flushes.
    pub flushes: u64,
    /// Reclaim unit handles, from 0.
    pub handles: Vec<HandleReport>,
}

/// Counters of one reclaim unit handle.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct HandleReport {
    /// Bytes written through the handle.
    pub host_bytes: u64,
    /// These, and what was moved out of its reclaim units.
    pub media_bytes: u64,
}

impl Engine {
    /// The namespaces of a drive as they are now. Counting starts here.
    pub fn new(drive: Drive) -> Self {
        let namespaces = drive.namespaces().into_iter().flatten().collect();
        let before = drive.snapshot();
        let host = drive.host("mount");
        Engine { drive, namespaces, before, flushes: AtomicU64::new(0), host }
    }

    /// Bytes of each namespace.
    pub fn sizes(&self) -> Vec<u64> {
        self.namespaces.iter().map(|n| n.bytes).collect()
    }

    fn namespace(&self, namespace: usize) -> io::Result<&Namespace> {
        self.namespaces
            .get(namespace)
            .map(Arc::as_ref)
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Reads from `offset`; how much there was before the end of the namespace.
    ///
    /// # Errors
    /// The medium cannot be read.
    pub fn read(&self, namespace: usize, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let at = self.namespace(namespace)?;
        let length = (buffer.len() as u64).min(at.bytes.saturating_sub(offset));
        if length == 0 {
            return Ok(0);
        }
        self.command(at.id(), Op::Read, offset, length);
        let buffer = &mut buffer[..length as usize];
        at.store.read(offset, buffer)?;
        Ok(buffer.len())
    }

    /// Writes at `offset`.
    ///
    /// # Errors
    /// The range reaches behind the end of the namespace, or the medium cannot be written.
    pub fn write(&self, namespace: usize, offset: u64, data: &[u8]) -> io::Result<()> {
        let at = self.namespace(namespace)?;
        if offset.checked_add(data.len() as u64).is_none_or(|end| end > at.bytes) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        if data.is_empty() {
            return Ok(());
        }
        at.store.write(offset, data)?;
        self.command(at.id(), Op::Write, offset, data.len() as u64);
        Ok(())
    }

    /// Deallocates a range, cut at the end of the namespace: it reads as zeroes, and pages that lie
    /// wholly in it are unmapped.
    ///
    /// # Errors
    /// The medium refuses.
    pub fn deallocate(&self, namespace: usize, offset: u64, length: u64) -> io::Result<()> {
        let at = self.namespace(namespace)?;
        let length = length.min(at.bytes.saturating_sub(offset));
        if length == 0 {
            return Ok(());
        }
        at.store.deallocate(offset, length)?;
        // Only whole logical blocks: what is left of the others was made zeroes.
        let (first, end) = (offset.div_ceil(LBA_BYTES), (offset + length) / LBA_BYTES);
        if first < end {
            let bytes = (end - first) * LBA_BYTES;
            self.command(at.id(), Op::Deallocate, first * LBA_BYTES, bytes);
        }
        Ok(())
    }

    /// Everything written before survives a loss of power, as far as the backend can.
    ///
    /// # Errors
    /// The medium refuses.
    pub fn flush(&self, namespace: usize) -> io::Result<()> {
        let at = self.namespace(namespace)?;
        self.flushes.fetch_add(1, Ordering::Relaxed);
        self.drive.flush(self.host, Some(at.id()))
    }

    /// Counts a range, in commands as long as they can be.
    fn command(&self, namespace: NsId, op: Op, offset: u64, length: u64) {
        let mut first = offset / LBA_BYTES;
        let end = (offset + length).div_ceil(LBA_BYTES);
        while first < end {
            let blocks = (end - first).min(u64::from(u32::MAX)) as u32;
            let placement = Placement::NONE;
            self.drive
                .apply(self.host, &[Command { lba: first, blocks, placement, op, namespace }]);
            first += u64::from(blocks);
        }
    }

    /// Ends a frame of the capture: what was recorded so far survives a crash of this process.
    ///
    /// # Errors
    /// The capture cannot be written; recording has stopped.
    pub fn keep(&self) -> io::Result<()> {
        self.drive.keep()
    }

    /// Ends the capture and makes data durable.
    ///
    /// # Errors
    /// Something cannot be written.
    pub fn close(&self) -> io::Result<()> {
        self.drive.close()
    }

    /// What the drive has counted.
    pub fn counters(&self) -> CountersReport {
        let now = self.drive.snapshot();
        let (a, b) = (&self.before.counters, &now.counters);
        let (host_bytes, media_bytes) =
            (b.host_bytes - a.host_bytes, b.media_bytes - a.media_bytes);
        CountersReport {
            host_bytes,
            media_bytes,
            erased_bytes: b.erased_bytes - a.erased_bytes,
            waf: if host_bytes == 0 { 1.0 } else { media_bytes as f64 / host_bytes as f64 },
            read_bytes: b.read_bytes - a.read_bytes,
            deallocated_pages: b.deallocated_pages - a.deallocated_pages,
            rmw_pages: b.rmw_pages - a.rmw_pages,
            flushes: self.flushes.load(Ordering::Relaxed),
            handles: (now.handles.iter().zip(&self.before.handles))
                .map(|(now, before)| HandleReport {
                    host_bytes: now.counters.host_bytes - before.counters.host_bytes,
                    media_bytes: now.counters.media_bytes - before.counters.media_bytes,
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests;
