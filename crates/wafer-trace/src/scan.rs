//! One pass over a trace: what is in it, and what a remap needs to know beforehand.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use wafer_interface::Op;

use super::decode::{Faults, SECTOR};
use super::error::TraceError;
use super::format::{FORMATS, Format, format};
use super::options::TraceOptions;
use super::reader::TraceReader;
use super::request::{NO_PROCESS, Request};

/// Bytes of a granule: the unit in which a scan remembers where a trace writes.
pub const GRANULE: u64 = 1 << 20;

/// Requests and bytes.
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
        // Damaged lengths may add up to more than there is.
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// A volume of a trace.
#[derive(Clone, Debug, Default)]
pub struct VolumeScan {
    /// Its name; empty where the format has but one.
    pub name: String,
    /// All requests.
    pub all: Amount,
    /// Writes.
    pub writes: Amount,
    /// The first byte of any request.
    pub start: u64,
    /// The byte after the last of any write.
    pub end: u64,
    /// Granules with a write, ascending.
    pub granules: Vec<u64>,
}

/// What one pass over a trace found, time range and volume of the options applied.
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
    /// Time of the trace's first request, which times of options count from.
    pub origin_ns: u64,
    /// From the earliest to the latest request, nanoseconds.
    pub span_ns: u64,
    /// Volumes in order of first appearance, by the index that requests have.
    pub volumes: Vec<VolumeScan>,
    /// Processes with the bytes that they write, by the index that requests have.
    pub processes: Vec<(String, u64)>,
    /// Bytes written whose process is not known.
    pub unknown_process_bytes: u64,
    /// Bytes written with each placement identifier, ascending; [`u16::MAX`] is none.
    pub placements: Vec<(u16, u64)>,
    /// Bytes written by requests up to 4, 16, 64, 256, 1024 KiB, and more.
    pub sizes: [u64; 6],
    /// Damaged records.
    pub faults: Faults,
    /// The first of them in words.
    pub messages: Vec<String>,
}

/// Sectors that a request touches: first, and one past the last.
#[inline]
pub(super) fn sectors(request: &Request) -> (u64, u64) {
    (request.offset / SECTOR, request.end().div_ceil(SECTOR))
}

/// The class of a request's size, as in [`Scan::sizes`].
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

/// Which requests of a trace count.
#[derive(Clone, Debug, Default)]
pub(super) struct Filter {
    from: u64,
    to: u64,
    origin: Option<u64>,
    /// The name of the only volume that counts.
    volume: Option<String>,
    /// Whether each volume counts, as far as decided.
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

    pub(super) fn origin(&self) -> u64 {
        self.origin.unwrap_or(0)
    }

    /// Whether the request counts; `names` are those of its trace.
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

/// The format that the options name.
pub(super) fn named_format(
    path: &Path,
    options: &TraceOptions,
) -> Result<Option<Format>, TraceError> {
    let Some(name) = options.format.as_deref() else { return Ok(None) };
    format(name).map(Some).ok_or_else(|| {
        let names: Vec<&str> = FORMATS.iter().map(|f| f.name).collect();
        let reason = format!("format: no format `{name}`; known: {}", names.join(", "));
        TraceError::Option { path: path.to_owned(), reason }
    })
}

impl Scan {
    /// Reads the whole trace once. `keep_going` is asked now and then with the requests so far.
    ///
    /// # Errors
    /// When the file cannot be read, its format is unknown, or it is damaged and the options are
    /// strict. `Ok(None)` when `keep_going` said no.
    pub fn of(
        path: &Path,
        options: &TraceOptions,
        keep_going: &dyn Fn(u64) -> bool,
    ) -> Result<Option<Self>, TraceError> {
        let mut reader = TraceReader::open(path, named_format(path, options)?)?;
        let mut filter = Filter::new(options);
        let mut scan = Scanning::default();
        let mut requests = Vec::new();
        let mut seen = 0;
        while reader.read(&mut requests) {
            for request in requests.iter().filter(|r| filter.passes(r, &reader)) {
                scan.add(request);
            }
            seen += requests.len() as u64;
            requests.clear();
            if !keep_going(seen) {
                return Ok(None);
            }
        }
        let faults = reader.faults().clone();
        let messages = reader.messages();
        if options.strict && faults.count > 0 {
            let first = messages.into_iter().next().unwrap_or_default();
            return Err(TraceError::Damaged { first, count: faults.count });
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
        Ok(Some(scan.finish(&reader, filter.origin(), faults, messages)))
    }

    /// Bytes of the granules that are written.
    pub fn touched_bytes(&self) -> u64 {
        self.volumes.iter().map(|v| v.granules.len() as u64 * GRANULE).sum()
    }

    /// Bytes that the volumes take one behind the other.
    pub fn joined_bytes(&self) -> u64 {
        self.volumes.iter().map(|v| v.end.next_multiple_of(GRANULE)).fold(0, u64::saturating_add)
    }

    /// All requests.
    pub fn requests(&self) -> u64 {
        self.writes.requests + self.deallocates.requests + self.reads.requests + self.flushes
    }
}

#[derive(Default)]
struct Scanning {
    writes: Amount,
    deallocates: Amount,
    reads: Amount,
    flushes: u64,
    first_ns: Option<u64>,
    last_ns: u64,
    volumes: Vec<(VolumeScan, HashSet<u64>, u64)>,
    process_bytes: Vec<u64>,
    unknown_process_bytes: u64,
    placements: std::collections::BTreeMap<u16, u64>,
    sizes: [u64; 6],
}

impl Scanning {
    #[inline]
    fn add(&mut self, request: &Request) {
        let time = request.time_ns;
        self.first_ns = Some(self.first_ns.map_or(time, |first| first.min(time)));
        self.last_ns = self.last_ns.max(time);
        let volume = request.volume as usize;
        if volume >= self.volumes.len() {
            let fresh =
                || (VolumeScan { start: u64::MAX, ..Default::default() }, HashSet::new(), u64::MAX);
            self.volumes.resize_with(volume + 1, fresh);
        }
        let (scan, granules, latest) = &mut self.volumes[volume];
        if request.op == Op::Update {
            scan.all.add(0);
            return;
        }
        if request.op == Op::Flush {
            self.flushes += 1;
            scan.all.add(0);
            return;
        }
        let (first, end) = sectors(request);
        let bytes = (end - first) * SECTOR;
        scan.all.add(bytes);
        scan.start = scan.start.min(request.offset);
        match request.op {
            Op::Read => self.reads.add(bytes),
            Op::Deallocate => self.deallocates.add(bytes),
            Op::Flush | Op::Update => {}
            Op::Write => {
                self.writes.add(bytes);
                scan.writes.add(bytes);
                scan.end = scan.end.max(request.end());
                self.sizes[size_class(request.bytes)] += bytes;
                *self.placements.entry(request.placement.0).or_default() += bytes;
                if request.process == NO_PROCESS {
                    self.unknown_process_bytes += bytes;
                } else {
                    let process = request.process as usize;
                    if process >= self.process_bytes.len() {
                        self.process_bytes.resize(process + 1, 0);
                    }
                    self.process_bytes[process] += bytes;
                }
                // No reader passes on a write of more than 4 GiB: at most 4,097 granules.
                for granule in request.offset / GRANULE..request.end().div_ceil(GRANULE) {
                    if granule != *latest {
                        granules.insert(granule);
                        *latest = granule;
                    }
                }
            }
        }
    }

    fn finish(
        self,
        reader: &TraceReader,
        origin_ns: u64,
        faults: Faults,
        messages: Vec<String>,
    ) -> Scan {
        let names = reader.names();
        let volumes = self.volumes.into_iter().enumerate().map(|(i, (scan, granules, _))| {
            let mut granules: Vec<u64> = granules.into_iter().collect();
            granules.sort_unstable();
            let name = names.volumes().get(i).cloned().unwrap_or_default();
            let start = if scan.start == u64::MAX { 0 } else { scan.start };
            VolumeScan { name, granules, start, ..scan }
        });
        let bytes_of = |i: usize| self.process_bytes.get(i).copied().unwrap_or(0);
        Scan {
            path: reader.path().to_owned(),
            format: reader.format(),
            writes: self.writes,
            deallocates: self.deallocates,
            reads: self.reads,
            flushes: self.flushes,
            origin_ns,
            span_ns: self.last_ns - self.first_ns.unwrap_or(self.last_ns),
            volumes: volumes.collect(),
            processes: (names.processes().iter().enumerate())
                .map(|(i, name)| (name.clone(), bytes_of(i)))
                .collect(),
            unknown_process_bytes: self.unknown_process_bytes,
            placements: self.placements.into_iter().collect(),
            sizes: self.sizes,
            faults,
            messages,
        }
    }
}
