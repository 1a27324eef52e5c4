//! One pass over a trace: collects its contents, and what a remap must know beforehand.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use wafer_interface::Op;
use wafer_record::capture::CaptureHeader;

use super::decode::{Faults, SECTOR};
use super::error::TraceError;
use super::format::Format;
use super::granules::{GRANULE, Granules, Growing};
use super::options::TraceOptions;
use super::pages::{GrowingPages, PAGE, Pages};
use super::reader::TraceReader;
use super::request::{NO_PROCESS, Request};

/// Maximum number of separate ranges of granules and of partly written granules in all volumes together: about 1 GB of
/// memory, and as many as a drive of 16 TiB can need.
const MOST_RANGES: i64 = 1 << 24;

/// A number of requests and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Requests.
    pub requests: u64,
    /// Bytes, each request widened to whole sectors of 512 bytes.
    pub bytes: u64,
}

impl Amount {
    fn add(&mut self, bytes: u64) {
        self.requests += 1;
        // Damaged lengths may add up to more than 64 bits.
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// A volume of a trace.
#[derive(Clone, Debug, Default)]
pub struct VolumeScan {
    /// Its name; empty if the format has only one volume.
    pub name: String,
    /// All requests.
    pub all: Amount,
    /// Writes.
    pub writes: Amount,
    /// The first byte of any write; 0 without one.
    pub start: u64,
    /// The byte after the last written one.
    pub end: u64,
    /// Granules with a write.
    pub granules: Granules,
    /// Pages with a write.
    pub pages: Pages,
}

impl VolumeScan {
    /// Returns the bytes of all written pages of 4 KiB, each counted once.
    pub fn touched_bytes(&self) -> u64 {
        self.pages.len() * PAGE
    }

    /// Returns the bytes it takes with `map = compact`.
    pub fn compact_bytes(&self) -> u64 {
        self.granules.len() * GRANULE
    }
}

/// The contents of a trace, within the time range and volume of the options.
#[derive(Clone, Debug)]
pub struct Scan {
    /// The file.
    pub path: PathBuf,
    /// Its format.
    pub format: Format,
    /// Writes.
    pub writes: Amount,
    /// Deallocates.
    pub deallocates: Amount,
    /// Reads.
    pub reads: Amount,
    /// Flushes.
    pub flushes: u64,
    /// Time of the trace's first request, from which times in options count.
    pub origin_ns: u64,
    /// Time from the earliest to the latest request, in nanoseconds.
    pub span_ns: u64,
    /// Number of requests that come after one with a later time.
    pub late: u64,
    /// Maximum lateness of them, in nanoseconds.
    pub most_late_ns: u64,
    /// Volumes in order of first appearance, by the index used in requests.
    pub volumes: Vec<VolumeScan>,
    /// Processes with the bytes they write, by the index used in requests.
    pub processes: Vec<(String, u64)>,
    /// Bytes written by unknown processes.
    pub unknown_process_bytes: u64,
    /// Media bytes that the drive of a capture had written before it began.
    pub earlier_media_bytes: u64,
    /// Bytes written with each placement identifier, ascending; [`u16::MAX`] is none.
    pub placements: Vec<(u16, u64)>,
    /// Bytes written by requests up to 4, 16, 64, 256, 1024 KiB, and more.
    pub sizes: [u64; 6],
    /// Damaged records.
    pub faults: Faults,
    /// Messages on the first damaged records.
    pub messages: Vec<String>,
}

/// Lateness explained by concurrent submission and the clocks of several processors: 10 ms.
const MOST_LATE_NS: u64 = 10_000_000;

/// Returns the sectors that a request touches: first, and one past the last.
#[inline]
pub(super) fn sectors(request: &Request) -> (u64, u64) {
    (request.offset / SECTOR, request.end().div_ceil(SECTOR))
}

/// Returns the size class of a request, as in [`Scan::sizes`].
#[inline]
pub(super) fn size_class(bytes: u64) -> usize {
    match bytes {
        0..=0x1000 => 0,
        0x1001..=0x4000 => 1,
        0x4001..=0x10000 => 2,
        0x10001..=0x40000 => 3,
        0x40001..=0x10_0000 => 4,
        _ => 5,
    }
}

/// Selects the requests within the time range and volume of the options.
#[derive(Clone, Debug, Default)]
pub(super) struct Filter {
    from: u64,
    to: u64,
    origin: Option<u64>,
    /// The name of the only selected volume.
    volume: Option<String>,
    /// Whether each volume is selected, as far as decided.
    counts: Vec<bool>,
}

impl Filter {
    pub(super) fn new(options: &TraceOptions) -> Self {
        Filter {
            from: options.from.map_or(0, |d| d.0),
            to: options.to.map_or(u64::MAX, |d| d.0),
            origin: None,
            volume: options.volume.clone(),
            counts: Vec::new(),
        }
    }

    /// Returns the time at which the range begins in a trace that begins at `origin_ns`.
    pub(super) fn begin(&self, origin_ns: u64) -> u64 {
        origin_ns.saturating_add(self.from)
    }

    /// Returns whether the request is selected.
    #[inline]
    pub(super) fn passes(&mut self, request: &Request, reader: &TraceReader) -> bool {
        let origin = *self.origin.get_or_insert(request.time_ns);
        let time = request.time_ns.saturating_sub(origin);
        if time < self.from || time >= self.to {
            return false;
        }
        self.volume.is_none() || self.volume_counts(request.volume as usize, reader)
    }

    fn volume_counts(&mut self, volume: usize, reader: &TraceReader) -> bool {
        while self.counts.len() <= volume {
            let name = reader.names().volumes().get(self.counts.len()).map_or("", String::as_str);
            self.counts.push(self.volume.as_deref() == Some(name));
        }
        self.counts[volume]
    }
}

/// Returns the format that the options name.
pub(super) fn named_format(
    path: &Path,
    options: &TraceOptions,
) -> Result<Option<Format>, TraceError> {
    let refused = |reason| TraceError::Option { path: path.to_owned(), reason };
    options.named_format().map_err(|reason| refused(format!("format: {reason}")))
}

impl Scan {
    /// Reads the whole trace once. Calls `keep_going` from time to time with the number of requests so
    /// far; if it returns false, the scan ends with `Ok(None)`.
    ///
    /// # Errors
    /// If the file cannot be read, its format is unknown, or it is damaged and the options are strict.
    pub fn of(
        path: &Path,
        options: &TraceOptions,
        keep_going: &dyn Fn(u64) -> bool,
    ) -> Result<Option<Self>, TraceError> {
        let mut reader = TraceReader::open(path, named_format(path, options)?)?;
        let mut filter = Filter::new(options);
        let mut scan = Scanning::new(&reader);
        let mut requests = Vec::new();
        let mut seen = 0;
        while reader.read(&mut requests) {
            for request in requests.iter().filter(|r| filter.passes(r, &reader)) {
                scan.add(request);
            }
            if scan.ranges > MOST_RANGES {
                let reason =
                    format!("writes to more than {MOST_RANGES} places that are 1 MiB apart");
                return Err(TraceError::Option { path: path.to_owned(), reason });
            }
            seen += requests.len() as u64;
            requests.clear();
            if !keep_going(seen) {
                return Ok(None);
            }
        }
        if let Some(reason) = reader.refusal() {
            return Err(TraceError::Option { path: path.to_owned(), reason });
        }
        let count = reader.faults().count;
        if options.strict && count > 0 {
            let first = reader.messages().into_iter().next().unwrap_or_default();
            return Err(TraceError::Damaged { first, count });
        }
        if seen == 0
            && let Some((position, reason)) = reader.faults().first.first()
        {
            let format = reader.format();
            let (name, record) = (format.name, format.record);
            let reason =
                format!("no request that format `{name}` can read; {record} {position}: {reason}");
            return Err(TraceError::Option { path: path.to_owned(), reason });
        }
        if seen == 0 {
            return Err(TraceError::Unknown { path: path.to_owned(), empty: true });
        }
        if let Some(volume) = &options.volume
            && !reader.names().volumes().contains(volume)
        {
            let names: Vec<&str> =
                reader.names().volumes().iter().take(12).map(|n| n.as_str()).collect();
            let reason =
                format!("volume: no volume `{volume}`; the trace has {}", names.join(", "));
            return Err(TraceError::Option { path: path.to_owned(), reason });
        }
        Ok(Some(scan.finish(&reader, filter.origin.unwrap_or(0))))
    }

    /// Returns the bytes of all written pages of 4 KiB, each counted once.
    pub fn touched_bytes(&self) -> u64 {
        self.volumes.iter().map(VolumeScan::touched_bytes).sum()
    }

    /// Returns a notice if requests are so late that a run with a clock plays them at another time.
    pub fn out_of_order(&self) -> Option<String> {
        let seconds = self.most_late_ns as f64 / 1e9;
        (self.most_late_ns > MOST_LATE_NS).then(|| {
            format!(
                "{}: not in order of time: {} of {} requests come after later ones, by up to {seconds:.2} s; a run with a \
                 clock plays them when they come",
                self.path.display(),
                self.late,
                self.requests()
            )
        })
    }

    /// Returns whether requests have times: a format without gives all the same.
    pub fn has_times(&self) -> bool {
        self.span_ns > 0
    }

    /// Opens the trace again, from its first request.
    ///
    /// # Errors
    /// If the file cannot be read, or cannot be read twice, such as a pipe.
    pub fn open(&self) -> Result<TraceReader, TraceError> {
        if std::fs::metadata(&self.path).is_ok_and(|metadata| !metadata.is_file()) {
            let reason = "is not a regular file; a trace is read twice".to_owned();
            return Err(TraceError::Option { path: self.path.clone(), reason });
        }
        TraceReader::open(&self.path, Some(self.format))
    }

    /// Returns the total number of requests.
    pub fn requests(&self) -> u64 {
        self.writes.requests + self.deallocates.requests + self.reads.requests + self.flushes
    }
}

/// A scan in progress.
struct Scanning {
    scan: Scan,
    /// Time range of the requests.
    times: Option<(u64, u64)>,
    /// Written granules of each volume.
    granules: Vec<Growing>,
    /// Written pages of each volume.
    pages: Vec<GrowingPages>,
    /// Number of ranges in all volumes together.
    ranges: i64,
    placements: BTreeMap<u16, u64>,
}

impl Scanning {
    fn new(reader: &TraceReader) -> Self {
        let scan = Scan {
            path: reader.path().to_owned(),
            format: reader.format(),
            writes: Amount::default(),
            deallocates: Amount::default(),
            reads: Amount::default(),
            flushes: 0,
            origin_ns: 0,
            span_ns: 0,
            late: 0,
            most_late_ns: 0,
            volumes: Vec::new(),
            processes: Vec::new(),
            unknown_process_bytes: 0,
            earlier_media_bytes: 0,
            placements: Vec::new(),
            sizes: [0; 6],
            faults: Faults::default(),
            messages: Vec::new(),
        };
        let (granules, pages, placements) = (Vec::new(), Vec::new(), BTreeMap::new());
        Scanning { scan, times: None, granules, pages, ranges: 0, placements }
    }

    #[inline]
    fn add(&mut self, request: &Request) {
        let Scanning { scan, times, .. } = self;
        let time = request.time_ns;
        let (from, to) = times.unwrap_or((time, time));
        *times = Some((from.min(time), to.max(time)));
        scan.late += u64::from(time < to);
        scan.most_late_ns = scan.most_late_ns.max(to.saturating_sub(time));
        let index = request.volume as usize;
        if index >= scan.volumes.len() {
            let fresh = || VolumeScan { start: u64::MAX, ..Default::default() };
            scan.volumes.resize_with(index + 1, fresh);
            self.granules.resize_with(index + 1, Growing::default);
            self.pages.resize_with(index + 1, GrowingPages::default);
        }
        let volume = &mut scan.volumes[index];
        if !request.op.has_range() {
            scan.flushes += u64::from(request.op == Op::Flush);
            volume.all.add(0);
            return;
        }
        let (first, end) = sectors(request);
        let bytes = (end - first) * SECTOR;
        volume.all.add(bytes);
        match request.op {
            Op::Read => scan.reads.add(bytes),
            Op::Deallocate => scan.deallocates.add(bytes),
            Op::Flush | Op::Update => {}
            Op::Write => {
                scan.writes.add(bytes);
                volume.writes.add(bytes);
                volume.start = volume.start.min(request.offset);
                volume.end = volume.end.max(request.end());
                scan.sizes[size_class(request.bytes)] += bytes;
                *self.placements.entry(request.placement.0).or_default() += bytes;
                if request.process == NO_PROCESS {
                    scan.unknown_process_bytes += bytes;
                } else {
                    let process = request.process as usize;
                    if process >= scan.processes.len() {
                        scan.processes.resize(process + 1, Default::default());
                    }
                    scan.processes[process].1 += bytes;
                }
                let (first, end) = (request.offset / GRANULE, request.end().div_ceil(GRANULE));
                self.ranges += self.granules[index].add(first, end);
                let (first, end) = (request.offset / PAGE, request.end().div_ceil(PAGE));
                self.ranges += self.pages[index].add(first, end);
            }
        }
    }

    fn finish(self, reader: &TraceReader, origin_ns: u64) -> Scan {
        let names = reader.names();
        let mut scan = self.scan;
        let written = self.granules.into_iter().zip(self.pages);
        for (i, (volume, (granules, pages))) in scan.volumes.iter_mut().zip(written).enumerate() {
            volume.granules = granules.finish();
            volume.pages = pages.finish();
            volume.name = names.volumes().get(i).cloned().unwrap_or_default();
            if volume.start == u64::MAX {
                volume.start = 0;
            }
        }
        scan.processes.resize(names.processes().len(), Default::default());
        for (process, name) in scan.processes.iter_mut().zip(names.processes()) {
            process.0.clone_from(name);
        }
        scan.origin_ns = origin_ns;
        scan.span_ns = self.times.map_or(0, |(from, to)| to - from);
        scan.placements = self.placements.into_iter().collect();
        let header = reader.header().and_then(|h| serde_json::from_slice::<CaptureHeader>(h).ok());
        scan.earlier_media_bytes = header.map_or(0, |header| header.earlier_media_bytes);
        scan.faults = reader.faults().clone();
        scan.messages = reader.messages();
        scan
    }
}
