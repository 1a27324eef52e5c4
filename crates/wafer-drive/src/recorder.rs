//! Recording to a capture.

use std::io::{self, BufWriter, Write};
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;
use wafer_interface::Command;
use wafer_record::capture::{
    CaptureEvent, CaptureGeometry, CaptureHeader, CaptureNamespace, CaptureRecord, CaptureWriter,
};

use super::{Inner, Namespace};
use crate::clock::Clock;

/// Writes the commands and changes of a drive to a capture. An error stops the recording, not the drive.
pub(crate) struct Recorder {
    writer: Option<CaptureWriter<BufWriter<Box<dyn Write + Send>>>>,
    clock: Arc<dyn Clock>,
    started: Duration,
    failed: Option<io::Error>,
}

impl Recorder {
    pub(crate) fn create(
        file: Box<dyn Write + Send>,
        clock: Arc<dyn Clock>,
        inner: &Inner,
        namespaces: &[Option<Arc<Namespace>>],
    ) -> io::Result<Self> {
        let header = CaptureHeader {
            format: "wafer.capture/1".to_owned(),
            software: concat!("wafer ", env!("CARGO_PKG_VERSION")).to_owned(),
            started_unix_ms: clock.wall().as_millis() as u64,
            drive: inner.drive_uuid().map(|uuid| Uuid::from_bytes(uuid).to_string()),
            earlier_media_bytes: inner.lifetime().media_bytes,
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
        let writer = CaptureWriter::new(BufWriter::new(file), &header)?;
        let started = clock.monotonic();
        Ok(Recorder { writer: Some(writer), clock, started, failed: None })
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
        let elapsed = self.clock.monotonic().saturating_sub(self.started);
        u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)
    }

    fn write(&mut self, record: &CaptureRecord) {
        let Some(writer) = &mut self.writer else { return };
        if let Err(error) = writer.record(record) {
            self.writer = None;
            self.failed = Some(error);
        }
    }

    /// Ends the frame, and returns the error since the last call, if any.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        self.writer.as_mut().map_or(Ok(()), CaptureWriter::flush)
    }
}
