//! Converts any trace to a capture.

use std::collections::BTreeMap;
use std::io::{self, Write};

use wafer_device::{DeviceConfig, ReclaimUnitConfig};
use wafer_interface::{Bytes, Command, LBA_BYTES, NsId, Op};
use wafer_record::capture::{
    CaptureEvent, CaptureGeometry, CaptureHeader, CaptureNamespace, CaptureRecord, CaptureWriter,
};

use super::granules::GRANULE;
use super::options::TraceOptions;
use super::reader::TraceReader;
use super::request::Request;
use super::scan::{Filter, Scan, sectors};
use super::stream::CAPTURE;

/// Requests held back to put them in order of time: as far as a run with a clock looks ahead.
const WINDOW: usize = 4096;

/// Returns notices on the names of a trace that its capture loses, one line each.
pub fn lost_in_capture(scan: &Scan) -> Vec<String> {
    let path = scan.path.display();
    let mut lost = Vec::new();
    if !scan.processes.is_empty() {
        lost.push(format!("{path}: the names of processes are lost: a capture has none"));
    }
    let renamed = (1..).zip(&scan.volumes).any(|(number, v)| v.name != number.to_string());
    if renamed && scan.format.name != CAPTURE {
        let pairs = (1..).zip(&scan.volumes).map(|(number, v)| format!("{number} ({})", v.name));
        let first = pairs.take(4).collect::<Vec<_>>().join(", ");
        let more = if scan.volumes.len() > 4 { ", ..." } else { "" };
        lost.push(format!("{path}: volumes become numbers in the capture: {first}{more}"));
    }
    lost
}

/// Writes the requests of a trace, from the reader's position, as a capture. A capture keeps its header. For other
/// formats, the header describes an invented drive that the requests fit on: each volume becomes a namespace that ends
/// after its last write. [`lost_in_capture`] lists the names that are lost. `level` is zstd's, 1 to 22.
///
/// # Errors
/// If `out` cannot be written, or the trace has more than 255 volumes.
pub fn write_capture<W: Write>(
    mut reader: TraceReader,
    scan: &Scan,
    options: &TraceOptions,
    level: i32,
    out: W,
) -> io::Result<W> {
    if scan.volumes.len() > 255 {
        let reason =
            format!("{} volumes; a capture has at most 255 namespaces", scan.volumes.len());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    }
    let header = match reader.header().map(serde_json::from_slice::<CaptureHeader>) {
        Some(Ok(header)) => header,
        _ => made_up(scan),
    };
    let mut capture = CaptureWriter::with_level(out, &header, level)?;
    let mut filter = Filter::new(options);
    let mut requests = Vec::new();
    // Some traces are not quite in order of time; a capture must be.
    let (mut waiting, mut number, mut last) = (BTreeMap::new(), 0u64, 0);
    while reader.read(&mut requests) {
        for request in requests.drain(..).filter(|r| filter.passes(r, &reader)) {
            number += 1;
            waiting.insert((request.time_ns, number), request);
            if waiting.len() > WINDOW
                && let Some((_, request)) = waiting.pop_first()
            {
                last = request.time_ns.saturating_sub(scan.origin_ns).max(last);
                write(&mut capture, namespace(&reader, request.volume), &request, last)?;
            }
        }
    }
    for request in waiting.values() {
        last = request.time_ns.saturating_sub(scan.origin_ns).max(last);
        write(&mut capture, namespace(&reader, request.volume), request, last)?;
    }
    capture.finish()
}

/// Writes the commands of a request.
fn write<W: Write>(
    capture: &mut CaptureWriter<W>,
    namespace: u8,
    request: &Request,
    time_ns: u64,
) -> io::Result<()> {
    let namespace = NsId(namespace);
    let mut record = |command| {
        let event = CaptureEvent::Command(command);
        capture.record(&CaptureRecord { time_ns, host: 0, event })
    };
    let (placement, op) = (request.placement, request.op);
    match op {
        Op::Flush => record(Command::flush(namespace))?,
        Op::Update => record(Command::update(namespace, placement))?,
        Op::Write | Op::Deallocate | Op::Read => {
            let (mut lba, end) = sectors(request);
            while lba < end {
                let blocks = (end - lba).min(u64::from(u32::MAX)) as u32;
                record(Command { lba, blocks, placement, op, namespace })?;
                lba += u64::from(blocks);
            }
        }
    }
    Ok(())
}

/// Returns the namespace of a volume: its number in a capture, otherwise its index.
fn namespace(reader: &TraceReader, volume: u32) -> u8 {
    if reader.header().is_some() {
        let name = reader.names().volumes().get(volume as usize);
        let number = name.and_then(|name| name.parse::<u8>().ok());
        return number.and_then(|n| n.checked_sub(1)).unwrap_or(volume as u8);
    }
    volume as u8
}

/// Returns a header for requests recorded on an unknown drive.
fn made_up(scan: &Scan) -> CaptureHeader {
    let sizes: Vec<u64> =
        scan.volumes.iter().map(|v| v.end.next_multiple_of(GRANULE).max(GRANULE)).collect();
    let capacity: u64 = sizes.iter().sum();
    let ru = 64 << 20;
    let ru_count = capacity.div_ceil(ru) + capacity.div_ceil(ru) / 7 + 8;
    CaptureHeader {
        format: "wafer.capture/1".to_owned(),
        software: concat!("wafer ", env!("CARGO_PKG_VERSION"), ", converted").to_owned(),
        started_unix_ms: 0,
        drive: None,
        earlier_media_bytes: 0,
        device: DeviceConfig {
            capacity: Bytes(capacity),
            page: Bytes(4096),
            reclaim_unit: ReclaimUnitConfig { size: Bytes(ru), count: Some(ru_count) },
            overprovisioning: None,
            handles: 1,
            groups: 1,
            isolation: Default::default(),
            handle_isolation: Default::default(),
            fdp: true,
            streams: 0,
            gc: Default::default(),
            namespaces: Vec::new(),
            service: Default::default(),
            timing: None,
            endurance: None,
            firmware: Default::default(),
        },
        geometry: CaptureGeometry {
            page_bytes: 4096,
            logical_pages: capacity / 4096,
            pages_per_ru: (ru / 4096) as u32,
            ru_count: ru_count as u32,
            groups: 1,
            handles: 1,
        },
        namespaces: (sizes.iter().enumerate())
            .map(|(i, bytes)| CaptureNamespace {
                namespace: i as u8,
                blocks: bytes / LBA_BYTES,
                lba_bytes: 512,
                handles: vec![0],
            })
            .collect(),
    }
}
