//! Several applications on one drive, `[[tenants]]`, each with a workload of any kind.

use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::json;
use wafer_apps::tenants::{Pacing, PlacedRange, Tenant, TenantPlacement, Tenants};
use wafer_interface::{
    Batch, Bytes, CommandStream, Completion, Figure, LBA_BYTES, NsId, StreamDescription,
    StreamState, stream,
};

use super::interface::{Built, Host, Source, SourceTarget, TimedJob, Workload, depth_fault};
use crate::error::LabError;
use crate::placements::Placements;
use crate::seed;
use wafer_config::{Files, Layers, ResolvedDevice, schema as schemas};

/// One application of an experiment, except its `workload`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TenantFile {
    /// Name in charts and messages. Default: `tenant0`, `tenant1`, ...
    name: Option<String>,
    /// Its namespace, by position in the device from 0, which is the only one that it sees. Default 0.
    #[serde(default)]
    namespace: u8,
    /// Start of its part of the namespace. Default 0.
    #[serde(default)]
    offset: Bytes,
    /// Size of its part of the namespace. Default: to the end.
    size: Option<Bytes>,
    /// Its share of the written bytes, in any unit; set it for all tenants or for none. Without it, tenants run in a
    /// closed loop: the drive serves commands in order of arrival, so a tenant's share of the commands is its share of
    /// the commands in flight.
    rate: Option<f64>,
    /// Commands in flight, for the closed loop; with a clock, the jobs of a fio tenant keep their own. Default: that of
    /// the workload, such as `iodepth` of a fio job.
    queue_depth: Option<u32>,
    /// `"closed-loop"` (default without `rate`), or `"time"`: by the timestamps of the trace. Without a clock, set it for
    /// all tenants or for none.
    pace: Option<PaceFile>,
    /// Placement handle of writes without a placement directive. Default: none, the namespace's first handle.
    placement: Option<u16>,
    /// Placement handles by range of the namespace's addresses, for writes without a directive; they take precedence
    /// over `placement`.
    #[serde(default)]
    ranges: Vec<RangeFile>,
}

/// How tenants share the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum PaceFile {
    /// By commands in flight.
    ClosedLoop,
    /// By the timestamps of traces.
    Time,
}

/// Addresses of a namespace with a placement handle.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RangeFile {
    /// First byte, from the start of the namespace.
    from: Bytes,
    /// One past the last byte.
    to: Bytes,
    /// Placement handle of writes there.
    placement: u16,
}

/// Applications that share a device.
#[derive(Debug)]
pub struct TenantsSource {
    path: String,
    tenants: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    name: String,
    file: TenantFile,
    placement: TenantPlacement,
    workload: Workload,
    /// The keys, to locate errors.
    table: Layers,
}

impl Source for TenantsSource {
    fn kind(&self) -> &'static str {
        "tenants"
    }

    fn path(&self) -> String {
        self.path.clone()
    }

    fn files(&self) -> Vec<PathBuf> {
        let own = std::iter::once(self.path.clone().into());
        own.chain(self.tenants.iter().flat_map(|entry| entry.workload.files())).collect()
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for entry in &self.tenants {
            text += "[[tenants]]\n";
            text += &entry.table.to_text();
            let (kind, path) = (entry.workload.kind(), entry.workload.path());
            text += &format!("# workload: {kind}, {path}\n{}\n", entry.workload.text());
        }
        text
    }

    fn details(&self, target: &SourceTarget<'_>) -> Result<String, LabError> {
        let details = self.tenants.iter().map(|entry| {
            let device = entry.part_of(target.device)?;
            entry.workload.details(&SourceTarget { device: &device, ..*target })
        });
        details.collect::<Result<Vec<_>, _>>().map(|details| details.join("\n"))
    }

    fn memory_bytes(&self, target: &SourceTarget<'_>) -> Result<u64, LabError> {
        let needed = self.tenants.iter().map(|entry| {
            let device = entry.part_of(target.device)?;
            entry.workload.memory_bytes(&SourceTarget { device: &device, ..*target })
        });
        needed.sum()
    }

    fn build(&self, target: &SourceTarget<'_>) -> Result<Built, LabError> {
        target.refuse_pace("only jobs of a fio job file have shares; tenants have `rate`")?;
        let mut built = Built {
            jobs: Vec::new(),
            host: Host::default(),
            stream: Box::new(stream::from_fn(|_, _| {})),
            total_bytes: Some(0),
            memory_bytes: 0,
            ignored: vec![],
            notices: vec![],
        };
        let (mut tenants, mut depths) = (Vec::new(), Vec::new());
        let has_rates = self.tenants.iter().any(|entry| entry.file.rate.is_some());
        let by_time = self.tenants.iter().all(Entry::follows_times);
        // Also with shares: an endless stream must not run ahead of the drive while others wait for it.
        let by_clock = target.timed && !by_time;
        for (i, entry) in self.tenants.iter().enumerate() {
            let device = entry.part_of(target.device)?;
            let own =
                SourceTarget { device: &device, seed: seed::derived(target.seed, i), ..*target };
            let named = |e: LabError| e.of(&format!("tenant {}", entry.name));
            let mut one = entry.workload.build(&own).map_err(named)?;
            one.host.queue_depth = entry.file.queue_depth.or(one.host.queue_depth);
            depths.push(one.queue_depth());
            if by_clock && entry.follows_times() && one.host.queue_depth.is_some() {
                let name = &entry.name;
                let told = "queue_depth has no effect with pace = \"time\"";
                built.notices.push(format!("tenant {name}: {told}"));
            }
            let one = match (by_clock, entry.follows_times()) {
                (true, true) => one.in_open_loop().ok_or_else(|| entry.without_times())?,
                (true, false) => one.in_closed_loop(),
                (false, follows) => {
                    if follows && !one.stream.description().timed {
                        return Err(entry.without_times());
                    }
                    one
                }
            };
            built.total_bytes = built.total_bytes.zip(one.total_bytes).map(|(a, b)| a + b);
            built.memory_bytes += one.memory_bytes;
            built.ignored.extend(one.ignored);
            built.notices.extend(one.notices);
            if by_clock && entry.file.queue_depth.is_some() && !one.jobs.is_empty() {
                let name = &entry.name;
                built.notices.push(format!(
                    "tenant {name}: queue_depth has no effect with a clock; jobs have their `iodepth`"
                ));
            }
            let description = one.stream.description();
            let jobs = jobs_of(&entry.name, one.jobs, built.jobs.len());
            let count = jobs.len();
            if target.timed {
                built.jobs.extend(jobs);
            }
            // The streams are merged, so all of them must name identifiers.
            let indices = StreamDescription { identifiers: false, ..description };
            let placements = Placements::of(&device.geometry, indices);
            let placement = entry.placement.map(|handle| placements.identifier(NsId(0), handle).0);
            let stream = match description.identifiers {
                true => one.stream,
                false => Box::new(Identified { stream: one.stream, placements }),
            };
            tenants.push(Tenant {
                name: entry.name.clone(),
                stream,
                namespace: NsId(entry.file.namespace),
                first_block: entry.file.offset.0 / LBA_BYTES,
                placement,
                jobs: count,
            });
        }
        if let Some(entry) = self.tenants.iter().find(|entry| entry.follows_times())
            && !target.timed
            && !by_time
        {
            built.notices.push(format!(
                "tenant {}: without a clock, pace = \"time\" has an effect only for all tenants",
                entry.name
            ));
        }
        let shares: Vec<f64> = self.tenants.iter().filter_map(|e| e.file.rate).collect();
        let pacing = if has_rates {
            Pacing::Shares(shares)
        } else if by_clock {
            Pacing::Clock
        } else if by_time {
            Pacing::Time
        } else {
            Pacing::ClosedLoop(depths)
        };
        let tenants = Tenants::new(tenants, pacing);
        built.stream = Box::new(if target.timed { tenants.with_clock() } else { tenants });
        Ok(built)
    }
}

/// Returns a tenant's jobs, numbered from `first` among those of all tenants: its own, or a single one.
fn jobs_of(tenant: &str, own: Vec<TimedJob>, first: usize) -> Vec<TimedJob> {
    if own.is_empty() {
        return vec![TimedJob { name: tenant.to_owned(), ramp: 0, replaces: None, sync: false }];
    }
    let among = |job: TimedJob| TimedJob {
        name: format!("{tenant}/{}", job.name),
        replaces: job.replaces.map(|number| first + number),
        ..job
    };
    own.into_iter().map(among).collect()
}

/// A tenant's stream with placement indices translated to placement identifiers.
struct Identified {
    stream: Box<dyn CommandStream>,
    placements: Placements,
}

impl CommandStream for Identified {
    fn description(&self) -> StreamDescription {
        StreamDescription { identifiers: true, ..self.stream.description() }
    }

    fn load(&mut self, batch: &mut Batch, max: usize) -> StreamState {
        let before = batch.len();
        let state = self.stream.load(batch, max);
        self.placements.resolve(&mut batch.commands[before..]);
        state
    }

    fn next(&mut self, batch: &mut Batch, max: usize) -> StreamState {
        let before = batch.len();
        let state = self.stream.next(batch, max);
        self.placements.resolve(&mut batch.commands[before..]);
        state
    }

    fn completed(&mut self, completions: &[Completion]) {
        self.stream.completed(completions);
    }

    fn figures(&self) -> Vec<Figure> {
        self.stream.figures()
    }
}

impl Entry {
    /// Returns whether its commands arrive by the timestamps of its trace.
    fn follows_times(&self) -> bool {
        self.file.pace == Some(PaceFile::Time)
    }

    /// Returns the error of a tenant that is to follow times and has none.
    fn without_times(&self) -> LabError {
        let kind = self.workload.kind();
        self.table
            .error("pace", &format!("a workload of kind {kind} has no times; use a trace"))
            .into()
    }

    /// Returns the device as the tenant sees it, which is only its part of its namespace.
    fn part_of(&self, device: &ResolvedDevice) -> Result<ResolvedDevice, LabError> {
        let geometry = &device.geometry;
        let number = usize::from(self.file.namespace);
        let (Some(pages), Some(handles)) =
            (geometry.namespaces.get(number), geometry.namespace_handles.get(number))
        else {
            let most = geometry.namespaces.len() - 1;
            let reason = format!("{number}: the device has namespaces 0 to {most}");
            return Err(self.table.error("namespace", &reason).into());
        };
        let page = geometry.page_bytes;
        let (offset, whole) = (self.file.offset.0, (pages.end - pages.start) * page);
        if !offset.is_multiple_of(page) || offset >= whole {
            let reason = format!("not a multiple of the page below {}", Bytes(whole));
            return Err(self.table.error("offset", &reason).into());
        }
        let size = self.file.size.map_or(whole - offset, |size| size.0);
        if !size.is_multiple_of(page) || size == 0 || size > whole - offset {
            let reason = format!("not a multiple of the page up to {}", Bytes(whole - offset));
            return Err(self.table.error("size", &reason).into());
        }
        if device.config.fdp {
            let most = handles.len() as u16 * geometry.groups - 1;
            let refused = |key: &str, handle: u16| {
                let reason = format!("{handle}: the namespace has placement handles 0 to {most}");
                Err(self.table.error(key, &reason).into())
            };
            if let Some(handle) = self.file.placement.filter(|handle| *handle > most) {
                return refused("placement", handle);
            }
            let mut ranges = self.file.ranges.iter().enumerate();
            if let Some((i, range)) = ranges.find(|(_, range)| range.placement > most) {
                return refused(&format!("ranges[{i}].placement"), range.placement);
            }
        }
        let first = pages.start + offset / page;
        let mut part = device.clone();
        part.geometry.namespaces = std::iter::once(first..first + size / page).collect();
        part.geometry.namespace_handles = vec![handles.clone()];
        Ok(part)
    }
}

/// Returns the schema of a `[[tenants]]` table.
pub(crate) fn schema(generator: &mut SchemaGenerator) -> Schema {
    let workload = json!({
        "description": "What it writes; of any kind.", "$ref": "#/$defs/workload",
    });
    let tenant = TenantFile::json_schema(generator);
    schemas::merged(schemas::table_with("workload", workload), &tenant)
}

/// Reads the table at a key of the experiment file `path`.
type WorkloadParser = fn(&mut Layers, &str, &Files, path: &Path) -> Result<Workload, LabError>;

/// Reads `[[tenants]]` of an experiment file, each tenant's `[workload]` with `workload`.
pub(super) fn parse(
    file: &mut Layers,
    files: &Files,
    path: &Path,
    workload: WorkloadParser,
) -> Result<Workload, LabError> {
    let place = file.clone();
    let tables = match file.split_off_list("tenants") {
        Some(Ok(tables)) if !tables.is_empty() => tables,
        _ => return Err(place.error("tenants", "expected tables [[tenants]]").into()),
    };
    let mut tenants: Vec<Entry> = Vec::new();
    for (i, mut table) in tables.into_iter().enumerate() {
        let source = workload(&mut table, "workload", files, path)?;
        let entry = entry(i, table, source)?;
        if tenants.iter().any(|other| other.name == entry.name) {
            return Err(entry
                .table
                .error("name", &format!("another tenant is named `{}`", entry.name))
                .into());
        }
        tenants.push(entry);
    }
    check_pace(&tenants)?;
    Ok(Workload::new(TenantsSource { path: path.display().to_string(), tenants }))
}

fn entry(i: usize, table: Layers, workload: Workload) -> Result<Entry, LabError> {
    let file: TenantFile = table.read()?;
    if file.rate.is_some_and(|rate| !(rate > 0.0 && rate <= 1e9)) {
        return Err(table.error("rate", "expected a number above 0").into());
    }
    if let Some((key, reason)) = depth_fault(file.queue_depth) {
        return Err(table.error(key, reason).into());
    }
    let mut ranges = Vec::new();
    for (r, range) in file.ranges.iter().enumerate() {
        for (key, bytes) in [("from", range.from), ("to", range.to)] {
            if !bytes.0.is_multiple_of(LBA_BYTES) {
                let reason = format!("not a multiple of {LBA_BYTES} bytes");
                return Err(table.error(&format!("ranges[{r}].{key}"), &reason).into());
            }
        }
        let blocks = range.from.0 / LBA_BYTES..range.to.0 / LBA_BYTES;
        ranges.push(PlacedRange { blocks, handle: range.placement });
    }
    let wrong = |r| table.error(&format!("ranges[{r}]"), "empty, or overlaps one before it");
    let placement = TenantPlacement::new(file.placement, ranges).map_err(wrong)?;
    let name = file.name.clone().unwrap_or_else(|| format!("tenant{i}"));
    Ok(Entry { name, file, placement, workload, table })
}

/// Checks that all tenants or none have a rate, and none of them a pace then.
fn check_pace(tenants: &[Entry]) -> Result<(), LabError> {
    let rated = tenants.iter().any(|e| e.file.rate.is_some());
    for entry in tenants {
        let file = &entry.file;
        if rated && file.rate.is_none() {
            let reason = "missing: give every tenant a rate, or none";
            return Err(entry.table.error("rate", reason).into());
        }
        if rated && file.pace.is_some() {
            return Err(entry.table.error("pace", "give rate or pace, not both").into());
        }
    }
    Ok(())
}
