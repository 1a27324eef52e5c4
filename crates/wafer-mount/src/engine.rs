//! Turns reads and writes at byte offsets into commands of the drive. Each has a ticket: if the media run in real time,
//! the reply waits by it until they are done.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use wafer_drive::{Drive, Namespace, Origin, Ticket};
use wafer_emulation::{Time, Wake};
use wafer_interface::{Command, LBA_BYTES, NsId, Op, Placement};
use wafer_record::record::Provenance;
use wafer_record::{Record, Series, Snapshot, Timeline};

/// A drive whose namespaces are byte arrays.
pub struct Engine {
    drive: Arc<Drive>,
    namespaces: Vec<Arc<Namespace>>,
    /// Counters after preconditioning, which the record excludes.
    before: Snapshot,
    name: String,
    provenance: Provenance,
    flushes: AtomicU64,
    host: u16,
    held: Arc<Held>,
}

/// Replies that wait for the media.
struct Held {
    drive: Arc<Drive>,
    replies: Mutex<HashMap<u64, Reply>>,
}

type Reply = Box<dyn FnOnce() + Send>;

impl Held {
    fn replies(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Reply>> {
        self.replies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reply(&self, ticket: u64) {
        let reply = self.replies().remove(&ticket);
        if let Some(reply) = reply {
            reply();
        }
    }
}

impl Wake for Held {
    fn wake(&self, ticket: u64, due: Time) {
        self.reply(ticket);
        if let Some(emulation) = self.drive.emulation() {
            emulation.completed(due);
        }
    }
}

impl Engine {
    /// Creates an engine of the current namespaces of a drive. Counting starts here.
    pub fn new(drive: Drive, name: String, provenance: Provenance) -> Self {
        let namespaces = drive.namespaces().into_iter().flatten().collect();
        let before = drive.snapshot();
        let host = drive.host("mount");
        let provenance = Provenance { seed: Some(drive.seed()), ..provenance };
        let (drive, flushes) = (Arc::new(drive), AtomicU64::new(0));
        let held = Arc::new(Held { drive: Arc::clone(&drive), replies: Mutex::default() });
        Engine { drive, namespaces, before, name, provenance, flushes, host, held }
    }

    /// Returns the ticket of a new request, or 0 if the media do not run in real time.
    pub fn ticket(&self) -> u64 {
        self.drive.emulation().map_or(0, |emulation| emulation.ticket(0))
    }

    /// Replies to an executed request as soon as the media have finished it.
    pub fn reply(&self, ticket: u64, reply: impl FnOnce() + Send + 'static) {
        let Some(emulation) = self.drive.emulation() else { return reply() };
        self.held.replies().insert(ticket, Box::new(reply));
        let wake: Weak<dyn Wake> = Arc::<Held>::downgrade(&self.held);
        if !emulation.hold(ticket, wake) {
            self.held.reply(ticket);
        }
    }

    /// Returns the size of each namespace in bytes.
    pub fn sizes(&self) -> Vec<u64> {
        self.namespaces.iter().map(|n| n.bytes).collect()
    }

    fn namespace(&self, namespace: usize) -> io::Result<&Namespace> {
        self.namespaces
            .get(namespace)
            .map(Arc::as_ref)
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Checks that a namespace is writable, and that the drive can count a write.
    fn check_writable(&self, namespace: &Namespace) -> io::Result<()> {
        let allowed = self.drive.check_sanitize().and_then(|()| namespace.check_unprotected());
        allowed
            .and_then(|()| self.drive.check_media())
            .and_then(|()| self.drive.check_writable())
            .map_err(|_| io::ErrorKind::ReadOnlyFilesystem.into())
    }

    /// Reads from `offset` up to the end of the namespace and returns the number of bytes read.
    ///
    /// # Errors
    /// If the medium fails, a host marked the range as uncorrectable, or the drive is to be sanitized.
    pub fn read(
        &self,
        ticket: u64,
        namespace: usize,
        offset: u64,
        buffer: &mut [u8],
    ) -> io::Result<usize> {
        let at = self.namespace(namespace)?;
        let length = (buffer.len() as u64).min(at.bytes.saturating_sub(offset));
        if length == 0 {
            return Ok(0);
        }
        if self.drive.check_sanitize().is_err() || at.uncorrectable(offset, length).is_some() {
            return Err(io::Error::other("the data cannot be read"));
        }
        // A read that cannot be counted still returns its data.
        let _ = self.command(ticket, at.id(), Op::Read, offset, length);
        let buffer = &mut buffer[..length as usize];
        at.store.read(offset, buffer)?;
        Ok(buffer.len())
    }

    /// Writes at `offset` up to the end of the namespace and returns the number of bytes written, like block devices.
    ///
    /// # Errors
    /// If nothing can be written before the end of the namespace, or the medium cannot be written.
    pub fn write(
        &self,
        ticket: u64,
        namespace: usize,
        offset: u64,
        data: &[u8],
    ) -> io::Result<usize> {
        let at = self.namespace(namespace)?;
        if data.is_empty() {
            return Ok(0);
        }
        let length = (data.len() as u64).min(at.bytes.saturating_sub(offset));
        if length == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.check_writable(at)?;
        let data = &data[..length as usize];
        at.store.write(offset, data)?;
        self.command(ticket, at.id(), Op::Write, offset, length)?;
        Ok(data.len())
    }

    /// Deallocates a range up to the end of the namespace. It then reads as zeroes, and pages wholly
    /// within it are unmapped.
    ///
    /// # Errors
    /// If the medium fails.
    pub fn deallocate(
        &self,
        ticket: u64,
        namespace: usize,
        offset: u64,
        length: u64,
    ) -> io::Result<()> {
        let at = self.namespace(namespace)?;
        let length = length.min(at.bytes.saturating_sub(offset));
        if length == 0 {
            return Ok(());
        }
        self.check_writable(at)?;
        at.store.deallocate(offset, length)?;
        // Only whole logical blocks: partial blocks were overwritten with zeroes.
        let (first, end) = (offset.div_ceil(LBA_BYTES), (offset + length) / LBA_BYTES);
        if first < end {
            let bytes = (end - first) * LBA_BYTES;
            return self.command(ticket, at.id(), Op::Deallocate, first * LBA_BYTES, bytes);
        }
        Ok(())
    }

    /// Makes all earlier writes survive a power loss, as far as the backend can.
    ///
    /// # Errors
    /// If the medium fails.
    pub fn flush(&self, ticket: u64, namespace: usize) -> io::Result<()> {
        let at = self.namespace(namespace)?;
        self.flushes.fetch_add(1, Ordering::Relaxed);
        self.drive.flush(self.host, Some(at.id()))?;
        self.drive.emulate_flush(ticket, Some(at.id()));
        Ok(())
    }

    /// Applies a range to the drive in as few commands as possible.
    ///
    /// # Errors
    /// If the drive cannot record them.
    fn command(
        &self,
        ticket: u64,
        namespace: NsId,
        op: Op,
        offset: u64,
        length: u64,
    ) -> io::Result<()> {
        let mut first = offset / LBA_BYTES;
        let end = (offset + length).div_ceil(LBA_BYTES);
        while first < end {
            let blocks = (end - first).min(u64::from(u32::MAX)) as u32;
            let placement = Placement::NONE;
            let command = Command { lba: first, blocks, placement, op, namespace };
            let ticket = Ticket { number: ticket, ..Ticket::default() };
            let origin = Origin { host: self.host, ticket };
            let applied = self.drive.apply(origin, &[command]);
            applied.map_err(|_| io::Error::other("the drive cannot record the command"))?;
            first += u64::from(blocks);
        }
        Ok(())
    }

    /// Ends a frame of the capture, so that the commands recorded so far survive a crash of this process, and saves a
    /// drive that failed to save itself.
    ///
    /// # Errors
    /// If the capture cannot be written; recording has then stopped.
    pub fn maintain(&self) -> io::Result<()> {
        self.drive.maintain()
    }

    /// Ends the capture and makes data durable.
    ///
    /// # Errors
    /// If something cannot be written.
    pub fn close(&self) -> io::Result<()> {
        self.drive.close()
    }

    /// Returns the record of the drive, with counters since the creation of the engine.
    pub fn record(&self) -> Record {
        let mut now = self.drive.snapshot().since(&self.before);
        if let Some(drive) = &mut now.live.drive {
            drive.flushes = Some(self.flushes.load(Ordering::Relaxed));
        }
        let handles = (now.handles.iter())
            .filter(|(_, c)| c.media_bytes > 0)
            .map(|(key, c)| {
                let (host_bytes, media_bytes) = (vec![c.host_bytes], vec![c.media_bytes]);
                (*key, Series { host_bytes, media_bytes })
            })
            .collect();
        let timeline = Timeline {
            host_bytes: vec![now.counters.host_bytes],
            media_bytes: vec![now.counters.media_bytes],
            seconds: vec![now.seconds],
            handles,
            ..Timeline::default()
        };
        now.reclaim_units = Some(self.drive.reclaim_units());
        Record::of_snapshot(self.name.clone(), self.provenance.clone(), now, timeline)
    }
}

#[cfg(test)]
mod tests;
