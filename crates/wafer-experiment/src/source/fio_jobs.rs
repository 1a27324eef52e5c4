//! The jobs of a fio file in a record.

use std::collections::BTreeMap;
use std::fmt::Display;

use wafer_fio::job::{
    BlockSize, Direction, Distribution, JobSpec, Order, PlacementRule, READ, RateProcess,
    Sequencer, Submission, TRIM, WRITE,
};
use wafer_fio_file::Jobs;
use wafer_interface::Bytes;
use wafer_record::record::JobRecord;

use wafer_config::ResolvedDevice;

/// Returns the jobs on a device, the clones of `numjobs` counted together.
pub(super) fn records(jobs: &[JobSpec], device: &ResolvedDevice) -> Vec<JobRecord> {
    let mut records: Vec<JobRecord> = Vec::new();
    for job in jobs {
        match records.last_mut() {
            Some(last) if job.instance > 0 && last.name == job.name => {
                last.count += 1;
                if job.instance == 1 && job.offset > last.offset {
                    let apart = (job.offset - last.offset).to_string();
                    last.options.insert("offset_increment".to_owned(), apart);
                }
            }
            _ => records.push(record(job, device)),
        }
    }
    records
}

/// Returns a note if jobs whose files would be separate in fio overlap in a namespace.
pub(super) fn overlap(jobs: &Jobs) -> Option<String> {
    let named = jobs.jobs.iter().zip(&jobs.files);
    let mut before: Vec<(&JobSpec, &String)> = Vec::new();
    for (job, file) in named.filter_map(|(job, file)| Some((job, file.as_ref()?))) {
        let overlaps = |(other, of): &&(&JobSpec, &String)| {
            let apart =
                job.offset >= other.offset + other.size || other.offset >= job.offset + job.size;
            *of != file && other.namespace == job.namespace && !apart
        };
        if let Some((_, other)) = before.iter().find(overlaps) {
            let namespace = job.namespace + 1;
            return Some(format!(
                "{other} and {file} are the same blocks of namespace {namespace} here; jobs with their own offset and size \
                 do not overlap"
            ));
        }
        before.push((job, file));
    }
    None
}

fn record(job: &JobSpec, device: &ResolvedDevice) -> JobRecord {
    let indices = match &job.placement {
        PlacementRule::None => Vec::new(),
        PlacementRule::Fixed(index) => vec![*index],
        PlacementRule::RoundRobin(indices) | PlacementRule::Random(indices) => indices.clone(),
        PlacementRule::Scheme { ranges, plids } => {
            let mut all: Vec<u16> =
                ranges.iter().map(|range| range.2).chain(plids.clone()).collect();
            all.sort_unstable();
            all.dedup();
            all
        }
    };
    let (writes, shown) = match job.direction {
        Direction::Read => (false, READ),
        Direction::Trim => (false, TRIM),
        _ => (true, WRITE),
    };
    JobRecord {
        name: job.name.clone(),
        count: 1,
        group: job.group,
        rw: rw(job),
        bs: block_size(&job.block_size[shown]),
        offset: job.offset,
        size: job.size,
        iodepth: job.iodepth,
        namespace: u32::from(job.namespace) + 1,
        namespace_bytes: job.namespace_bytes,
        handles: if writes { handles(&indices, job.namespace, device) } else { Vec::new() },
        placement_indices: indices,
        steady_state: job.steady_state.map(|steady| steady.criterion()),
        steady_state_seconds: job.steady_state.map(|steady| steady.seconds()),
        options: options(job),
    }
}

/// Returns the options of a job that determine which commands arrive and when, except those with fio's default.
fn options(job: &JobSpec) -> BTreeMap<String, String> {
    let mut options = BTreeMap::new();
    let mut add = |name: &str, value: String| {
        options.insert(name.to_owned(), value);
    };
    for (name, rates) in [("rate", &job.rate), ("rate_iops", &job.rate_iops)] {
        if rates.iter().any(Option::is_some) {
            let text = |rate: &Option<u64>| rate.map_or(String::new(), |rate| rate.to_string());
            add(name, rates.iter().map(text).collect::<Vec<_>>().join(","));
            if job.rate_process == RateProcess::Poisson {
                add("rate_process", "poisson".to_owned());
            }
            if job.submission == Submission::Offload {
                add("io_submit_mode", "offload".to_owned());
            }
        }
    }
    if let Some(reaping) = job.reaping {
        add("iodepth_low", reaping.low.to_string());
        add("iodepth_batch_complete_min", reaping.least.to_string());
    }
    if job.direction == Direction::ReadWrite {
        add("rwmixread", job.read_percent.to_string());
    }
    if job.thinktime_us > 0 {
        add("thinktime", format!("{}us", job.thinktime_us));
        add("thinktime_blocks", job.thinktime_blocks.to_string());
        if job.thinktime_issued {
            add("thinktime_blocks_type", "issue".to_owned());
        }
    }
    if job.thinkcycles > 0 {
        add("thinkcycles", job.thinkcycles.to_string());
    }
    if job.fsync > 0 {
        add("fsync", job.fsync.to_string());
    }
    if job.start_delay > 0.0 {
        add("startdelay", format!("{}us", (job.start_delay * 1e6).round()));
    }
    if job.io_size != job.size {
        add("io_size", job.io_size.to_string());
    }
    let used = job.direction.used();
    if used.iter().any(|at| job.block_size[*at] != job.block_size[used[0]]) {
        let (name, sizes) = sizes(&job.block_size);
        add(name, sizes);
    }
    addresses(job, used, &mut add);
    placement(&job.placement, &mut add);
    if let Some(flow) = job.flow {
        add("flow", flow.weight.to_string());
        add("flow_id", flow.id.to_string());
    }
    let (reporting, end_fsync) = (job.group_reporting, job.end_fsync);
    let flags = [("group_reporting", reporting), ("end_fsync", end_fsync), ("sync", job.sync)];
    for (name, _) in flags.into_iter().filter(|(_, is_set)| *is_set) {
        add(name, "1".to_owned());
    }
    if let Some(target) = job.latency_target {
        add("latency_target", format!("{}us", target.nanoseconds / 1000));
        add("latency_window", format!("{}us", target.window / 1000));
        add("latency_percentile", target.percentile.to_string());
    }
    options
}

/// Adds the options that determine the addresses of a job.
fn addresses(job: &JobSpec, used: &[usize], add: &mut impl FnMut(&str, String)) {
    let list = |values: &[String]| match values {
        [first, rest @ ..] if rest.iter().all(|value| value == first) => first.clone(),
        all => all.join(","),
    };
    let random = job.order == Order::Random;
    if job.order_modifier != i64::from(random) {
        add("rw", format!("{}:{}", rw(job), job.order_modifier));
    }
    if job.sequencer == Sequencer::Identical {
        add("rw_sequencer", "identical".to_owned());
    }
    if job.block_size_unaligned {
        add("bs_unaligned", "1".to_owned());
    }
    if !random {
        return;
    }
    if job.percent_random.iter().any(|percent| *percent < 100) {
        add("percentage_random", list(&job.percent_random.map(|percent| percent.to_string())));
    }
    if !job.random_map {
        add("norandommap", "1".to_owned());
    }
    if used.iter().any(|at| job.block_align[*at] != job.block_size[*at].smallest()) {
        add("blockalign", list(&job.block_align.map(|bytes| bytes.to_string())));
    }
    if job.distribution.iter().any(|of| *of != Distribution::Uniform) {
        // The kind appears once, before all directions.
        let (kind, _) = distribution(&job.distribution[0]);
        let values = job.distribution.each_ref().map(|of| distribution(of).1);
        add("random_distribution", format!("{kind}{}", list(&values)));
    }
}

/// Adds the options that determine where a drive with FDP places the writes of a job.
fn placement(rule: &PlacementRule, add: &mut impl FnMut(&str, String)) {
    let (indices, select) = match rule {
        PlacementRule::None => return,
        PlacementRule::Fixed(index) => (vec![*index], "roundrobin"),
        PlacementRule::RoundRobin(indices) => (indices.clone(), "roundrobin"),
        PlacementRule::Random(indices) => (indices.clone(), "random"),
        PlacementRule::Scheme { plids, .. } => (plids.clone(), "scheme"),
    };
    add("fdp", "1".to_owned());
    add("plids", indices.iter().map(u16::to_string).collect::<Vec<_>>().join(","));
    add("plid_select", select.to_owned());
}

/// Returns the option and value of block sizes by direction.
fn sizes(sizes: &[BlockSize]) -> (&'static str, String) {
    let name = match () {
        () if sizes.iter().any(|size| matches!(size, BlockSize::Split(_))) => "bssplit",
        () if sizes.iter().any(|size| matches!(size, BlockSize::Range { .. })) => "bsrange",
        () => "bs",
    };
    let text = |size: &BlockSize| match (size, name) {
        (BlockSize::Fixed(bytes), "bsrange") => format!("{bytes}-{bytes}"),
        (BlockSize::Fixed(bytes), "bssplit") => format!("{bytes}/100"),
        (BlockSize::Fixed(bytes), _) => bytes.to_string(),
        (BlockSize::Range { min, max }, _) => format!("{min}-{max}"),
        (BlockSize::Split(parts), _) => pairs(parts),
    };
    (name, sizes.iter().map(text).collect::<Vec<_>>().join(","))
}

/// Returns a distribution as fio spells it: kind and parameters.
fn distribution(of: &Distribution) -> (&'static str, String) {
    let with = |value: &f64, center: &Option<f64>| match center {
        Some(center) => format!("{value}:{center}"),
        None => value.to_string(),
    };
    match of {
        Distribution::Uniform => ("random", String::new()),
        Distribution::Zipf { theta, center } => ("zipf:", with(theta, center)),
        Distribution::Pareto { h, center } => ("pareto:", with(h, center)),
        Distribution::Normal { deviation, center } => ("normal:", with(deviation, center)),
        Distribution::Zoned(zones) => ("zoned:", pairs(zones)),
        Distribution::ZonedAbs(zones) => ("zoned_abs:", pairs(zones)),
    }
}

fn pairs<A: Display, B: Display>(all: &[(A, B)]) -> String {
    all.iter().map(|(a, b)| format!("{a}/{b}")).collect::<Vec<_>>().join(":")
}

/// Returns the handles of placement indices. The list of a namespace has every group of its first handle, then every
/// group of the next. Writes without a directive go to the first.
fn handles(indices: &[u16], namespace: u8, device: &ResolvedDevice) -> Vec<u16> {
    let geometry = &device.geometry;
    let Some(list) = geometry.namespace_handles.get(usize::from(namespace)) else {
        return Vec::new();
    };
    let default = [0];
    let indices = if indices.is_empty() || !device.config.fdp { &default[..] } else { indices };
    let mut handles: Vec<u16> = (indices.iter())
        .filter_map(|index| list.get(usize::from(index / geometry.groups)).copied())
        .collect();
    handles.sort_unstable();
    handles.dedup();
    handles
}

fn rw(job: &JobSpec) -> String {
    let random = job.order == Order::Random;
    match (job.direction, random) {
        (Direction::ReadWrite, false) => "rw".to_owned(),
        (direction, _) => {
            let name = match direction {
                Direction::Read => "read",
                Direction::Write => "write",
                Direction::Trim => "trim",
                Direction::ReadWrite => "rw",
                Direction::TrimWrite => "trimwrite",
            };
            format!("{}{name}", if random { "rand" } else { "" })
        }
    }
}

fn block_size(size: &BlockSize) -> String {
    match size {
        BlockSize::Fixed(bytes) => Bytes(*bytes).to_string(),
        BlockSize::Range { min, max } => format!("{}-{}", Bytes(*min), Bytes(*max)),
        BlockSize::Split(parts) => {
            let part = |(bytes, percent): &(u64, f64)| format!("{}/{percent}", Bytes(*bytes));
            parts.iter().map(part).collect::<Vec<_>>().join(":")
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Experiment, Options, Workload};

    #[test]
    fn lists_and_ranges_of_placement_indices_name_their_handles() {
        let text = "fio_text = \"\"\"\n[global]\nrw=randwrite\nbs=8k\nsize=1m\nfdp=1\n[both]\nplids=0,1\n\
                    [range]\nplids=2-3\nnumjobs=2\n[reads]\nrw=read\n[off]\nfdp=0\nrw=rw\n\"\"\"\n";
        let device = wafer_config::load_device("warp", &[]).unwrap();
        let text = format!("[workload]\n{text}");
        let workload = Workload::from_text("t.toml", &text, std::path::Path::new("")).unwrap();
        let experiment = Experiment::of(device, workload, &Options::default());
        let jobs = experiment.workload.jobs(&experiment.target()).unwrap();
        let told: Vec<_> = jobs
            .iter()
            .map(|j| (j.name.as_str(), j.count, j.rw.as_str(), &j.handles[..]))
            .collect();
        assert_eq!(
            told,
            [
                ("both", 1, "randwrite", &[0, 1][..]),
                ("range", 2, "randwrite", &[2, 3]),
                ("reads", 1, "read", &[]),
                ("off", 1, "rw", &[0]),
            ]
        );
        assert_eq!((jobs[0].bs.as_str(), jobs[0].size), ("8KiB", 1 << 20));
    }
}
