//! Plays traces as commands on a device: remapped, placed, merged by time, repeated.

use std::path::Path;
use std::sync::Arc;

use wafer_interface::{
    Batch, Command, CommandStream, Completion, Figure, LBA_BYTES, NsId, Op, Placement,
    StreamDescription, StreamState, Surplus,
};
use wafer_record::capture::used_before;

use super::error::TraceError;
use super::options::{Map, Repeat, TraceOptions, Volumes};
use super::placing::Placer;
use super::reader::TraceReader;
use super::remap::{Area, Fit, Remap};
use super::request::Request;
use super::scan::{Filter, Scan, sectors};

/// The format that records placement identifiers and namespace numbers.
pub(crate) const CAPTURE: &str = "capture";

/// A trace that has been scanned.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The result of the scan.
    pub scan: Arc<Scan>,
    /// The options for playing it.
    pub options: TraceOptions,
    /// Placement identifiers of all requests of the trace, in order. They replace the recorded ones
    /// with `placement = "trace"`.
    pub placements: Option<Arc<[u16]>>,
}

/// The device that traces are played on.
#[derive(Clone, Debug)]
pub struct TraceTarget<'a> {
    /// Bytes of each namespace.
    pub namespace_bytes: Vec<u64>,
    /// Number of placement handles of each namespace.
    pub namespace_handles: Vec<u16>,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Repeat traces except those with `repeat = "once"`.
    pub until_volume: bool,
    /// Folder that the paths of placement maps are relative to.
    pub folder: &'a Path,
}

/// Commands of one or several traces.
#[derive(Debug)]
pub struct TraceStream {
    tenants: Vec<Tenant>,
    surplus: Surplus,
    notices: Vec<String>,
}

/// A trace being played.
#[derive(Debug)]
struct Tenant {
    trace: Trace,
    reader: TraceReader,
    filter: Filter,
    requests: Vec<Request>,
    at: usize,
    /// Number of requests read in this pass.
    seen: usize,
    remap: Remap,
    placer: Placer,
    repeats: bool,
    speed: f64,
    passes: u64,
    /// Model time at which this pass began, in nanoseconds.
    pass_began: u64,
    wrote_in_pass: bool,
    counts: Counts,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    writes: u64,
    deallocates: u64,
    reads: u64,
    flushes: u64,
    /// Requests wholly or partly beyond the end of the namespace.
    outside: u64,
    /// Requests on pages that the trace never writes, which compaction omits.
    unwritten: u64,
}

impl TraceStream {
    /// Plays traces on a device.
    ///
    /// # Errors
    /// If an option does not fit the device, or a file can no longer be read.
    pub fn new(traces: &[Trace], target: &TraceTarget<'_>) -> Result<Self, TraceError> {
        let mut notices = Vec::new();
        let mut tenants = Vec::new();
        for (number, trace) in traces.iter().enumerate() {
            let (areas, joined) = areas(trace, number, traces.len(), target)?;
            let scan = &trace.scan;
            let (remap, fit) = Remap::new(scan, &trace.options, &areas, joined, target.page_bytes);
            let path = scan.path.display();
            match fit {
                Fit::Given => {}
                Fit::Compacted => notices.push(format!(
                    "{path}: addresses reach beyond the namespace; gaps between written granules of \
                     1 MiB are removed (map = \"compact\")"
                )),
                Fit::Wrapped => notices.push(format!(
                    "{path}: the trace writes more addresses than the namespace has; they wrap \
                     around, so that some share a location (map = \"compact\")"
                )),
            }
            if remap.is_compacted() && scan.reads.requests > 0 {
                notices.push(format!(
                    "{path}: reads of pages that the trace never writes are left out (map = \"compact\" or \"pages\"); \
                     the figure trace_unwritten counts them"
                ));
            }
            notices.extend(damage(scan));
            notices.extend(used_before(&scan.path, scan.earlier_media_bytes));
            let handles_of = |volume: usize| {
                let namespace = remap.namespace(volume as u32).index();
                target.namespace_handles.get(namespace).copied().unwrap_or(1)
            };
            let handles: Vec<u16> = (0..scan.volumes.len()).map(handles_of).collect();
            let placer = Placer::new(&trace.options.placement, scan, &handles, target.folder)?;
            notices.extend(placer.unmet(scan));
            let moved = fit != Fit::Given || !matches!(trace.options.map, Map::Auto | Map::Keep);
            if moved && placer.map().is_some() {
                notices.push(format!(
                    "{path}: the ranges of the placement map are addresses on the device; those of the trace are moved there \
                     by `map`"
                ));
            }
            tenants.push(Tenant {
                reader: scan.open()?,
                filter: Filter::new(&trace.options),
                requests: Vec::new(),
                at: 0,
                seen: 0,
                remap,
                placer,
                repeats: target.until_volume && trace.options.repeat != Repeat::Once,
                speed: trace.options.speed.unwrap_or(1.0),
                passes: 0,
                pass_began: 0,
                wrote_in_pass: false,
                counts: Counts::default(),
                trace: trace.clone(),
            });
        }
        Ok(TraceStream { tenants, surplus: Surplus::default(), notices })
    }

    /// Returns the notices to print before a run, one line each.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// Returns the bytes that will be written, if no trace is repeated.
    pub fn total_bytes(&self) -> Option<u64> {
        let once = self.tenants.iter().all(|t| !t.repeats);
        once.then(|| self.tenants.iter().map(|t| t.trace.scan.writes.bytes).sum())
    }

    /// Returns the approximate memory taken by playing, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        let granules = |t: &Tenant| -> u64 {
            // Both the scan and the remap hold them.
            t.trace
                .scan
                .volumes
                .iter()
                .map(|v| 2 * (v.granules.memory_bytes() + v.pages.memory_bytes()))
                .sum()
        };
        self.tenants.iter().map(|t| (8 << 20) + granules(t)).sum()
    }

    /// Returns the time and index of the tenant with the earliest request; the first one at a tie.
    #[inline]
    fn earliest(&mut self) -> Option<(u64, usize)> {
        let mut best: Option<(u64, usize)> = None;
        for (i, tenant) in self.tenants.iter_mut().enumerate() {
            let Some(time) = tenant.next_time() else { continue };
            if best.is_none_or(|(earliest, _)| time < earliest) {
                best = Some((time, i));
            }
        }
        best
    }
}

/// Returns the notices on damaged records of a trace.
fn damage(scan: &Scan) -> Vec<String> {
    let mut lines = scan.messages.clone();
    let more = scan.faults.count - lines.len() as u64;
    if more > 0 {
        lines.push(format!("{}: {more} more damaged records", scan.path.display()));
    }
    lines.into_iter().map(|line| format!("{line} (left out)")).collect()
}

/// Returns the namespaces with a capture's numbers, if the device has them all.
fn numbered(trace: &Trace, count: usize) -> Option<Vec<usize>> {
    let number = |name: &str| name.parse::<usize>().ok()?.checked_sub(1).filter(|n| *n < count);
    let capture = trace.scan.format.name == CAPTURE && trace.options.namespace.is_none();
    let volumes = capture.then(|| trace.scan.volumes.iter().map(|v| number(&v.name)))?;
    volumes.collect::<Option<Vec<_>>>().filter(|numbers| !numbers.is_empty())
}

/// Returns the parts of namespaces that a trace writes, and whether its volumes are joined on one.
fn areas(
    trace: &Trace,
    number: usize,
    traces: usize,
    target: &TraceTarget<'_>,
) -> Result<(Vec<Area>, bool), TraceError> {
    let count = target.namespace_bytes.len();
    let whole = |n: usize| Area {
        namespace: NsId(n as u8),
        first: 0,
        blocks: (target.namespace_bytes[n] / LBA_BYTES).max(1),
    };
    let refuse = |reason: String| TraceError::Option { path: trace.scan.path.clone(), reason };
    if trace.options.volumes == Volumes::Namespaces {
        return Ok(((0..count).map(whole).collect(), false));
    }
    if trace.options.volumes == Volumes::Auto
        && traces == 1
        && let Some(numbers) = numbered(trace, count)
    {
        return Ok((numbers.into_iter().map(whole).collect(), false));
    }
    let areas = match trace.options.namespace {
        Some(n) if n == 0 || usize::from(n) > count => {
            Err(refuse(format!("namespace: {n}; the device has namespaces 1 to {count}")))
        }
        Some(n) => Ok(vec![whole(usize::from(n) - 1)]),
        None if traces <= count => Ok(vec![whole(number)]),
        // More traces than namespaces: those sharing a namespace divide it evenly.
        None => {
            let namespace = number % count;
            let sharing = (traces - namespace).div_ceil(count) as u64;
            let Area { blocks, .. } = whole(namespace);
            let page = target.page_bytes / LBA_BYTES;
            let each = (blocks / sharing / page * page).max(1);
            let first = each * (number / count) as u64;
            Ok(vec![Area { namespace: NsId(namespace as u8), first, blocks: each }])
        }
    };
    areas.map(|areas| (areas, true))
}

impl Tenant {
    /// Reads until a request is available; returns false at the end.
    fn ready(&mut self) -> bool {
        while self.at == self.requests.len() {
            self.requests.clear();
            self.at = 0;
            if self.reader.read(&mut self.requests) {
                if let Some(placements) = &self.trace.placements {
                    let given = placements.get(self.seen..).unwrap_or_default();
                    for (request, placement) in self.requests.iter_mut().zip(given) {
                        request.placement = Placement(*placement);
                    }
                    self.seen += self.requests.len();
                }
                let (filter, reader) = (&mut self.filter, &self.reader);
                self.requests.retain(|request| filter.passes(request, reader));
            } else if !self.begin_again() {
                return false;
            }
        }
        true
    }

    /// Starts the next pass; returns false if there is none.
    fn begin_again(&mut self) -> bool {
        if !self.repeats || !self.wrote_in_pass {
            return false;
        }
        let scan = &self.trace.scan;
        // The file was readable before; if it no longer is, the trace ends here.
        let Ok(reader) = scan.open() else { return false };
        self.reader = reader;
        self.filter = Filter::new(&self.trace.options);
        self.seen = 0;
        self.passes += 1;
        self.wrote_in_pass = false;
        let span = (scan.span_ns as f64 / self.speed) as u64;
        self.pass_began = self.pass_began.saturating_add(span.max(1));
        if self.trace.options.repeat == Repeat::Shift {
            // Multiples of the golden ratio: passes never coincide.
            let fraction = (self.passes as f64 * 0.618_033_988_749_894_9).fract();
            self.remap.shift_by(fraction);
        }
        true
    }

    fn next_time(&mut self) -> Option<u64> {
        if !self.ready() {
            return None;
        }
        let begin = self.filter.begin(self.trace.scan.origin_ns);
        let time = self.requests[self.at].time_ns.saturating_sub(begin);
        Some(self.pass_began.saturating_add((time as f64 / self.speed) as u64))
    }

    /// Appends the commands of the next request.
    #[inline]
    fn take(&mut self, out: &mut Vec<Command>) {
        let request = self.requests[self.at];
        self.at += 1;
        let op = request.op;
        match op {
            Op::Write => self.counts.writes += 1,
            Op::Deallocate => self.counts.deallocates += 1,
            Op::Read => self.counts.reads += 1,
            Op::Flush => {
                self.counts.flushes += 1;
                return out.push(Command::flush(self.remap.namespace(request.volume)));
            }
            Op::Update => {
                let namespace = self.remap.namespace(request.volume);
                return out.push(Command::update(namespace, request.placement));
            }
        }
        let placement = if op == Op::Write { self.placer.place(&request) } else { Placement::NONE };
        let map = self.placer.map().filter(|_| op == Op::Write);
        let (first, end) = sectors(&request);
        let before = out.len();
        let inside = self.remap.pieces(request.volume, first, end, |namespace, lba, blocks| {
            let (mut lba, mut left) = (lba, blocks);
            while left > 0 {
                let mut blocks = left.min(u64::from(u32::MAX));
                let mut placement = placement;
                if let Some(map) = map {
                    let (found, next) = map.at(namespace.0, lba);
                    placement = found;
                    blocks = blocks.min(next - lba);
                }
                out.push(Command { lba, blocks: blocks as u32, placement, op, namespace });
                lba += blocks;
                left -= blocks;
            }
        });
        // If no write reaches the device, another pass would write nothing either.
        self.wrote_in_pass |= op == Op::Write && out.len() > before;
        self.counts.outside += u64::from(!inside);
        self.counts.unwritten += u64::from(inside && out.len() == before);
    }
}

impl CommandStream for TraceStream {
    fn description(&self) -> StreamDescription {
        let recorded = |t: &Tenant| t.trace.scan.format.name == CAPTURE && t.placer.is_recorded();
        StreamDescription {
            identifiers: self.tenants.iter().all(recorded),
            queue_depth: 1,
            loads: false,
            // A format without times gives all requests the same.
            timed: self.tenants.iter().any(|t| t.trace.scan.has_times()),
            waits: false,
        }
    }

    fn load(&mut self, _: &mut Batch, _: usize) -> StreamState {
        StreamState::Ended
    }

    fn next(&mut self, batch: &mut Batch, max: usize) -> StreamState {
        let end = batch.len() + max;
        self.surplus.take(batch, end);
        while batch.len() < end {
            let Some((time, next)) = self.earliest() else { break };
            self.tenants[next].take(&mut batch.commands);
            batch.times.resize(batch.commands.len(), time);
        }
        self.surplus.keep(batch, end);
        batch.state_at(end)
    }

    /// Does nothing: the arrival times of a trace do not depend on completions.
    fn completed(&mut self, _: &[Completion]) {}

    fn figures(&self) -> Vec<Figure> {
        let several = self.tenants.len() > 1;
        self.tenants
            .iter()
            .flat_map(|t| {
                let tenant =
                    if several { t.trace.scan.path.display().to_string() } else { String::new() };
                let Counts { writes, deallocates, reads, flushes, outside, unwritten } = t.counts;
                let damaged = t.trace.scan.faults.count;
                [
                    ("trace_writes", writes, "write requests"),
                    ("trace_deallocates", deallocates, "deallocate requests"),
                    ("trace_reads", reads, "read requests"),
                    ("trace_flushes", flushes, "flush requests"),
                    (
                        "trace_outside",
                        outside,
                        "requests beyond the end of the namespace, left out in whole or part",
                    ),
                    ("trace_damaged", damaged, "damaged records in one pass, left out"),
                    ("trace_passes", t.passes + 1, "times that the trace was begun"),
                    (
                        "trace_unwritten",
                        unwritten,
                        "requests on pages that the trace never writes, left out by compaction",
                    ),
                ]
                .into_iter()
                .filter(|(name, value, _)| *name != "trace_unwritten" || *value > 0)
                .map(move |(name, value, meaning)| Figure {
                    tenant: tenant.clone(),
                    ..Figure::new(name, value as f64, "", meaning)
                })
            })
            .collect()
    }
}
