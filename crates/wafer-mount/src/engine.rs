//! Commands in order: the device counts, the backend keeps, the capture records.

use std::fs::File;
use std::io::{self, BufWriter};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde::Serialize;
use wafer_core::{Command, Device, LBA_BYTES, NsId, Op, Placement};
use wafer_workload::trace::capture::{CaptureEvent, CaptureRecord, CaptureWriter};

use crate::backend::{Backend, Store};

/// A drive whose namespaces are arrays of bytes.
pub struct Engine {
    state: Mutex<State>,
    backend: Box<dyn Backend>,
    namespaces: Vec<Namespace>,
    started: Instant,
}

struct Namespace {
    bytes: u64,
    store: Arc<dyn Store>,
}

struct State {
    device: Device,
    capture: Option<CaptureWriter<BufWriter<File>>>,
    /// Why the capture is incomplete, if it is.
    capture_error: Option<String>,
    flushes: u64,
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
    /// Why the capture is incomplete, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capture_error: Option<String>,
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
    /// A drive over a device, with data in a backend. Counting starts where the device's counters are.
    ///
    /// # Errors
    /// When the backend has no space for a namespace.
    pub fn new(
        device: Device,
        backend: Box<dyn Backend>,
        capture: Option<CaptureWriter<BufWriter<File>>>,
    ) -> io::Result<Self> {
        let mut base = 0;
        let mut namespaces = Vec::new();
        for bytes in device.geometry().namespace_bytes() {
            namespaces.push(Namespace { bytes, store: backend.store(base, bytes)? });
            base += bytes;
        }
        let state = State { device, capture, capture_error: None, flushes: 0 };
        Ok(Engine { state: Mutex::new(state), backend, namespaces, started: Instant::now() })
    }

    /// Bytes of each namespace.
    pub fn sizes(&self) -> Vec<u64> {
        self.namespaces.iter().map(|n| n.bytes).collect()
    }

    // A panic with the lock held would be a fault of the device model: its asserts have told already.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn namespace(&self, namespace: usize) -> io::Result<&Namespace> {
        self.namespaces.get(namespace).ok_or_else(|| io::ErrorKind::NotFound.into())
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
        self.command(namespace, Op::Read, offset, length);
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
        self.command(namespace, Op::Write, offset, data.len() as u64);
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
        // Only whole logical blocks: what is left of the others was written with zeroes.
        let (first, end) = (offset.div_ceil(LBA_BYTES), (offset + length) / LBA_BYTES);
        if first < end {
            let bytes = (end - first) * LBA_BYTES;
            self.command(namespace, Op::Deallocate, first * LBA_BYTES, bytes);
        }
        Ok(())
    }

    /// Everything written before survives a loss of power, as far as the backend can.
    ///
    /// # Errors
    /// The medium refuses.
    pub fn flush(&self, namespace: usize) -> io::Result<()> {
        {
            let mut state = self.state();
            state.flushes += 1;
            self.record(&mut state, CaptureEvent::Flush(NsId(namespace as u8)));
        }
        self.backend.flush()
    }

    /// Applies and records, under one lock: the order of the capture is that of the device.
    fn command(&self, namespace: usize, op: Op, offset: u64, length: u64) {
        let mut first = offset / LBA_BYTES;
        let end = (offset + length).div_ceil(LBA_BYTES);
        let mut state = self.state();
        while first < end {
            let blocks = (end - first).min(u64::from(u32::MAX)) as u32;
            let namespace = NsId(namespace as u8);
            let command = Command { lba: first, blocks, placement: Placement::NONE, op, namespace };
            state.device.apply(&[command]);
            self.record(&mut state, CaptureEvent::Command(command));
            first += u64::from(blocks);
        }
    }

    fn record(&self, state: &mut State, event: CaptureEvent) {
        let time_ns = self.started.elapsed().as_nanos() as u64;
        let Some(capture) = &mut state.capture else { return };
        let written = capture.record(&CaptureRecord { time_ns, host: 0, event });
        state.keep(written);
    }

    /// Ends a frame of the capture: what was recorded so far survives a crash of this process.
    pub fn flush_capture(&self) {
        let mut state = self.state();
        let written = state.capture.as_mut().map_or(Ok(()), CaptureWriter::flush);
        state.keep(written);
    }

    /// Ends the capture.
    ///
    /// # Errors
    /// When it is incomplete.
    pub fn finish(&self) -> io::Result<()> {
        let mut state = self.state();
        if let Some(capture) = state.capture.take() {
            let written = capture.finish().and_then(|mut out| io::Write::flush(&mut out));
            state.keep(written);
        }
        match &state.capture_error {
            Some(error) => Err(io::Error::other(error.clone())),
            None => Ok(()),
        }
    }

    /// What the drive has counted.
    pub fn counters(&self) -> CountersReport {
        let state = self.state();
        let counters = state.device.counters();
        CountersReport {
            host_bytes: counters.host_bytes,
            media_bytes: counters.media_bytes,
            erased_bytes: counters.erased_bytes,
            waf: counters.waf(),
            read_bytes: counters.read_bytes,
            deallocated_pages: counters.deallocated_pages,
            rmw_pages: counters.rmw_pages,
            flushes: state.flushes,
            handles: (state.device.handle_counters().iter())
                .map(|h| HandleReport { host_bytes: h.host_bytes, media_bytes: h.media_bytes })
                .collect(),
            capture_error: state.capture_error.clone(),
        }
    }
}

impl State {
    /// The drive goes on without a capture that cannot be written, and says so.
    fn keep(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.capture = None;
            self.capture_error.get_or_insert(error.to_string());
        }
    }
}

#[cfg(test)]
mod tests;
