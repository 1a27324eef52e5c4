//! Recording to a capture.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use wafer_core::Command;
use wafer_workload::trace::capture::{
    CaptureEvent, CaptureGeometry, CaptureHeader, CaptureNamespace, CaptureRecord, CaptureWriter,
};

use super::{Inner, Namespace};

/// Writes what the drive does to a capture. An error stops the recording, not the drive.
pub(crate) struct Recorder {
    writer: Option<CaptureWriter<BufWriter<File>>>,
    started: Instant,
    failed: Option<io::Error>,
}

impl Recorder {
    pub(crate) fn create(
        path: &Path,
        inner: &Inner,
        namespaces: &[Option<Arc<Namespace>>],
    ) -> io::Result<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let header = CaptureHeader {
            format: "wafer.capture/1".to_owned(),
            software: concat!("wafer ", env!("CARGO_PKG_VERSION")).to_owned(),
            started_unix_ms: now.as_millis() as u64,
            device: inner.config.clone(),
            geometry: CaptureGeometry::from(inner.device.geometry()),
            namespaces: (namespaces.iter().flatten())
                .map(|n| CaptureNamespace {
                    namespace: n.id().0,
                    blocks: Namespace::device_blocks(n.bytes),
                    lba_bytes: n.lba_bytes() as u32,
                    handles: n.handles.iter().map(|h| h.0).collect(),
                })
                .collect(),
        };
        let writer = CaptureWriter::new(BufWriter::new(File::create(path)?), &header)?;
        Ok(Recorder { writer: Some(writer), started: Instant::now(), failed: None })
    }

    pub(crate) fn commands(&mut self, host: u16, commands: &[Command]) {
        let time_ns = self.now();
        for command in commands {
            self.write(&CaptureRecord { time_ns, host, event: CaptureEvent::Command(*command) });
        }
    }

    pub(crate) fn event(&mut self, host: u16, event: CaptureEvent) {
        let record = CaptureRecord { time_ns: self.now(), host, event };
        self.write(&record);
    }

    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn write(&mut self, record: &CaptureRecord) {
        let Some(writer) = &mut self.writer else { return };
        if let Err(error) = writer.record(record) {
            self.writer = None;
            self.failed = Some(error);
        }
    }

    /// Ends the frame; tells of an error since the last time.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        self.writer.as_mut().map_or(Ok(()), CaptureWriter::flush)
    }
}
