//! Turns the settings of all sections into jobs: whatever depends on several options or on the device.

use super::engine::{self, Engine};
use super::error::FioError;
use super::ini::Section;
use super::phase::{self, Barrier};
use super::region::{self, Blocks, Region};
use super::settings::{Context, MAX_JOBS, Settings};
use super::steady::STEADY_STATE;
use super::target::Target;
use wafer_fio::flow::Flow;
use wafer_fio::job::{
    BlockSize, DIRECTIONS, Direction, Distribution, JobSpec, LatencyTarget, Order, Reaping,
    Submission, WRITE,
};
use wafer_random::{Purpose, Rng};

/// Devices transfer multiples of this many bytes.
const SECTOR: u64 = 512;
/// Microseconds per second.
const SECOND_US: f64 = 1e6;

/// A section with all its options, including those of the global sections before it.
pub(super) struct Job<'a> {
    pub(super) section: &'a Section,
    pub(super) settings: Settings,
}

impl Job<'_> {
    pub(super) fn name(&self) -> &str {
        self.settings.name.as_deref().unwrap_or(&self.section.name)
    }

    pub(super) fn is_without_engine(&self) -> bool {
        self.settings.iodepth > 1 && self.settings.origin("ioengine").is_none()
    }

    /// Returns the file of each clone. A named file is shared by all clones.
    pub(super) fn files(&self) -> impl Iterator<Item = Option<String>> {
        let s = &self.settings;
        (0..s.numjobs).map(|clone| match (&s.directory, &s.filename) {
            (None, name) => name.clone(),
            (Some(folder), Some(name)) => Some(format!("{folder}/{name}")),
            (Some(folder), None) => Some(format!("{folder}/{}.{clone}.0", self.name())),
        })
    }

    /// Creates an error of an option, at the line that set it or else at the section.
    fn error(&self, option: &'static str, message: String) -> FioError {
        match self.settings.origin(option) {
            Some((at, spelled)) => FioError::option(at, spelled, message),
            None => FioError::option(&self.section.at, option, message),
        }
    }
}

/// Returns the jobs of all sections, in file order, the clones of each one after another.
pub(super) fn jobs(
    all: &[Job<'_>],
    target: &Target,
    context: &mut Context<'_>,
) -> Result<Vec<JobSpec>, FioError> {
    let barriers: Vec<_> = all
        .iter()
        .map(|job| Barrier {
            name: job.name(),
            stonewall: job.settings.stonewall,
            wait_for: job.settings.wait_for.as_deref(),
        })
        .collect();
    let phases =
        phase::phases(&barriers).map_err(|(index, why)| all[index].error("wait_for", why))?;
    let exits = all.iter().any(|job| job.settings.exitall);

    let (mut specs, mut group) = (Vec::new(), 0);
    for (job, phase) in all.iter().zip(phases) {
        let begins = job.settings.stonewall || job.settings.new_group;
        group += u32::from(begins && !specs.is_empty());
        let together = job.settings.group_reporting;
        let steady = job.settings.steady.resolve();
        let steady_state = steady.map_err(|(option, why)| job.error(option, why))?;
        let joins = |spec: &&JobSpec| spec.group == group && spec.group_reporting;
        let watched = specs.iter().filter(joins).find_map(|spec| spec.steady_state);
        if together && watched.is_some_and(|watched| Some(watched) != steady_state) {
            let why = "differs from that of another job of its group";
            return Err(job.error("steadystate_duration", why.into()));
        }
        // In fio, `exitall` applies to all jobs.
        let exit = exits.then_some(job.settings.exit_what);
        check(job)?;
        report_unused(job, context);
        let clones = job.settings.numjobs;
        if specs.len() + clones as usize > MAX_JOBS as usize {
            return Err(job.error("numjobs", format!("more than {MAX_JOBS} jobs in the file")));
        }
        for instance in 0..clones {
            let spec = spec(job, instance, phase, target)?;
            let start_delay = start_delay(&job.settings, specs.len() as u32);
            specs.push(JobSpec { steady_state, group, exit, start_delay, ..spec });
        }
    }
    Ok(specs)
}

/// Returns the start of a job in seconds, drawn from its range and, as in fio, the same in every run.
fn start_delay(settings: &Settings, number: u32) -> f64 {
    let (least, greatest) = settings.start_delay_us;
    let mut random = Rng::new(settings.seed.unwrap_or(0), number, Purpose::Arrival, 1);
    let more = if greatest > least { random.below(greatest - least) } else { 0 };
    (least + more) as f64 / SECOND_US
}

/// Refuses options that exclude each other.
fn check(job: &Job<'_>) -> Result<(), FioError> {
    let s = &job.settings;
    if s.rate.iter().any(|&r| r > 0) && s.rate_iops.iter().any(|&r| r > 0) {
        return Err(job.error("rate_iops", "rate and rate_iops exclude each other".into()));
    }
    if s.nrfiles > 1 && s.filename.is_none() {
        return Err(job.error("nrfiles", "several files are not supported".into()));
    }
    for &direction in s.direction.used() {
        // fio cuts the sizes of the split to the range.
        let range = s.bsrange[direction].is_some_and(|(min, max)| min < max);
        if range && !s.bssplit[direction].is_empty() {
            return Err(job.error("bsrange", "a range after bssplit is not supported".into()));
        }
    }
    let zoned = |d: &Distribution| matches!(d, Distribution::Zoned(_) | Distribution::ZonedAbs(_));
    if s.lfsr && s.order == Order::Random && s.distribution.iter().any(zoned) {
        let why = "`lfsr` with a zoned distribution is not supported";
        return Err(job.error("random_generator", why.into()));
    }
    Ok(())
}

/// Reports supported options that have no effect in this job.
fn report_unused(job: &Job<'_>, context: &mut Context<'_>) {
    let s = &job.settings;
    let mut unused = |name, reason| {
        if let Some((at, _)) = s.origin(name) {
            context.ignore(name, at, reason);
        }
    };
    if !s.placement.is_on() {
        for name in ["plids", "plid_select", "dp_scheme"] {
            unused(name, "without effect unless fdp=1 or dataplacement=fdp");
        }
    }
    if s.steady.duration_us == 0 {
        for name in STEADY_STATE {
            unused(name, "without effect unless steadystate_duration is set");
        }
    }
    if s.time_based && s.runtime_us == 0 {
        unused("time_based", "without effect unless runtime is set");
    }
    if s.engine == Engine::Synchronous && s.iodepth > 1 {
        unused("iodepth", "a synchronous I/O engine has one command in flight");
    }
    if s.flow == 0 {
        unused("flow_id", "without effect unless flow is set");
    }
    if s.nrfiles != 1 {
        unused("nrfiles", "filename names the one file");
    }
}

/// Returns the block sizes of a direction, and the option that set them. `bs` counts only if neither a range nor a
/// split is given, in whatever order; between those two, a range of one size takes precedence if it comes last.
fn block_size(s: &Settings, direction: usize) -> (BlockSize, &'static str) {
    match (&s.bssplit[direction][..], s.bsrange[direction]) {
        (_, Some((min, max))) if min == max => (BlockSize::Fixed(min), "bsrange"),
        (_, Some((min, max))) => (BlockSize::Range { min, max }, "bsrange"),
        (&[], None) => (BlockSize::Fixed(s.bs[direction]), "bs"),
        (&[(size, _)], None) => (BlockSize::Fixed(size), "bssplit"),
        (split, None) => (BlockSize::Split(split.to_vec()), "bssplit"),
    }
}

/// Returns the sizes that a block size consists of.
fn bounds(size: &BlockSize) -> Vec<u64> {
    match size {
        BlockSize::Fixed(size) => vec![*size],
        BlockSize::Range { min, max } => vec![*min, *max],
        BlockSize::Split(split) => split.iter().map(|&(size, _)| size).collect(),
    }
}

fn check_sectors(job: &Job<'_>, option: &'static str, bytes: u64) -> Result<(), FioError> {
    if bytes.is_multiple_of(SECTOR) {
        return Ok(());
    }
    let why = format!("{bytes} is not a multiple of the {SECTOR} bytes of a sector");
    Err(job.error(option, why))
}

fn spec(job: &Job<'_>, instance: u32, phase: u32, target: &Target) -> Result<JobSpec, FioError> {
    let s = &job.settings;
    let random = s.order == Order::Random;
    let directions = s.direction.used();

    let sizes: [(BlockSize, &str); DIRECTIONS] = std::array::from_fn(|d| block_size(s, d));
    for &direction in directions {
        let (size, option) = &sizes[direction];
        for bytes in bounds(size) {
            check_sectors(job, option, bytes)?;
        }
    }
    let block_size = sizes.map(|(size, _)| size);
    let minimum: [u64; DIRECTIONS] = std::array::from_fn(|d| block_size[d].smallest());
    // `blockalign` applies to random commands only, and disables the random map.
    let mut block_align = minimum;
    if random {
        for (align, given) in block_align.iter_mut().zip(s.blockalign) {
            *align = given.unwrap_or(*align);
        }
        for &direction in directions {
            check_sectors(job, "ba", block_align[direction])?;
        }
    }
    // The shift register visits every block once without a map.
    let random_map = !s.skewed && (s.lfsr || (!s.norandommap && block_align == minimum));

    let (namespace, bytes, handles) = namespace(job, target)?;
    let used_sizes = || directions.iter().map(|&d| &block_size[d]);
    let blocks = Blocks {
        smallest: minimum.into_iter().min().unwrap_or(SECTOR),
        used: directions.iter().map(|&d| minimum[d]).min().unwrap_or(SECTOR),
        only: used_sizes().next().filter(|_| !random || random_map).and_then(|first| match first {
            BlockSize::Fixed(size) if used_sizes().all(|s| s == first) => Some(*size),
            _ => None,
        }),
    };
    let Region { offset, size, io_size } = region::region(s, instance, bytes, &blocks)
        .map_err(|(option, why)| job.error(option, why))?;
    let io_size = match s.direction {
        Direction::TrimWrite if s.loops <= 1 && (!random || random_map) => {
            let largest = directions.iter().flat_map(|&d| bounds(&block_size[d])).max();
            trim_write_bytes(size, io_size, largest.unwrap_or(SECTOR))
        }
        _ => io_size,
    };
    check_sectors(job, "offset", offset)?;
    if random {
        check_zones(job, directions, size)?;
    }
    let placement = s.placement.rule(handles).map_err(|(option, why)| job.error(option, why))?;

    let some = |rate: u64| (rate > 0).then_some(rate);
    Ok(JobSpec {
        name: job.name().to_owned(),
        instance,
        source: (job.section.at.file.to_path_buf(), job.section.at.line),
        phase,
        namespace,
        direction: s.direction,
        order: s.order,
        order_modifier: s.order_modifier,
        sequencer: s.sequencer,
        read_percent: s.read_percent,
        percent_random: s.percent_random,
        block_size,
        block_size_unaligned: s.bs_unaligned,
        block_align,
        offset,
        size,
        namespace_bytes: bytes,
        io_size,
        pass_bytes: pass_bytes(s, size, io_size, block_align == minimum),
        number_ios: some(s.number_ios),
        loops: u64::from(s.loops.max(1)),
        time_based: s.time_based && s.runtime_us > 0,
        runtime: some(s.runtime_us).map(|us| us as f64 / SECOND_US),
        ramp_time: s.ramp_us as f64 / SECOND_US,
        start_delay: 0.0,
        random_map,
        distribution: s.distribution.clone(),
        seed: s.seed,
        random_repeat: s.random_repeat && s.seed.is_none(),
        iodepth: if s.engine == Engine::Synchronous { 1 } else { s.iodepth },
        submission: s.submission,
        reaping: reaping(s),
        rate: s.rate.map(some),
        rate_iops: s.rate_iops.map(|r| some(u64::from(r))),
        rate_process: s.rate_process,
        fsync: s.fsync,
        end_fsync: s.end_fsync,
        sync: s.sync,
        thinktime_us: s.thinktime_us,
        thinktime_blocks: u64::from(s.thinktime_blocks),
        thinktime_issued: s.thinktime_issued,
        thinkcycles: s.thinkcycles,
        latency_target: (s.latency_target_us > 0).then(|| LatencyTarget {
            nanoseconds: s.latency_target_us.saturating_mul(1000),
            window: s.latency_window_us.saturating_mul(1000),
            percentile: s.latency_percentile,
            keeps_looking: s.latency_run,
        }),
        steady_state: None,
        flow: (s.flow > 0).then_some(Flow { id: s.flow_id, weight: s.flow }),
        group: 0,
        group_reporting: s.group_reporting,
        exit: None,
        placement,
    })
}

/// Returns the bytes after which a pass over the region ends, if fio counts them. `is_aligned`: by the smallest block.
fn pass_bytes(s: &Settings, size: u64, io_size: u64, is_aligned: bool) -> Option<u64> {
    // fio's default engine does not count them.
    let counts = s.engine == Engine::Asynchronous
        && s.origin("ioengine").is_some()
        && s.submission == Submission::Inline
        && s.direction != Direction::TrimWrite;
    // fio sets `norandommap` in the second and third case.
    let without_map = s.norandommap || s.skewed || !is_aligned;
    let goes_on =
        s.direction.used().contains(&WRITE) && (without_map || s.order == Order::Sequential);
    counts.then(|| if goes_on { size.max(io_size) } else { size })
}

/// Returns the bytes that a job trims and then writes: whole passes until both together come within one command of
/// `io_size` (`keep_running`).
fn trim_write_bytes(size: u64, io_size: u64, largest: u64) -> u64 {
    if io_size <= size {
        return io_size;
    }
    let passes = io_size.saturating_sub(largest) / size.saturating_mul(2).max(1) + 1;
    passes.saturating_mul(size)
}

/// Returns when the job reaps completions, by fio's rules (`fixup_options`). With `offload`, the submitting threads
/// reap.
fn reaping(s: &Settings) -> Option<Reaping> {
    let low = if s.iodepth_low == 0 { s.iodepth } else { s.iodepth_low.min(s.iodepth) };
    let least = s.complete_least.max(1);
    let looks = s.engine == Engine::Asynchronous && s.submission == Submission::Inline;
    let differs = low < s.iodepth || least > 1;
    (looks && differs).then_some(Reaping { low, least })
}

/// Returns the index, bytes and placement handles of the job's namespace.
fn namespace(job: &Job<'_>, target: &Target) -> Result<(u8, u64, u16), FioError> {
    let named = || engine::namespace(job.settings.filename.as_deref()?).ok();
    let index = job.settings.nsid.or_else(named).unwrap_or(0);
    match target.namespace_bytes.get(usize::from(index)) {
        Some(&bytes) => {
            let handles = target.namespace_handles.get(usize::from(index)).copied().unwrap_or(0);
            Ok((index, bytes, handles))
        }
        None => {
            let have = match target.namespace_bytes.len() {
                1 => "1 namespace".into(),
                n => format!("{n} namespaces"),
            };
            let why = format!("namespace {} of a device with {have}", u32::from(index) + 1);
            let option = if job.settings.nsid.is_some() { "xnvme_dev_nsid" } else { "filename" };
            Err(job.error(option, why))
        }
    }
}

fn check_zones(job: &Job<'_>, directions: &[usize], size: u64) -> Result<(), FioError> {
    for &direction in directions {
        if let Distribution::ZonedAbs(zones) = &job.settings.distribution[direction] {
            let sum: u128 = zones.iter().map(|&(_, bytes)| u128::from(bytes)).sum();
            if sum > u128::from(size) {
                let why = format!("zones of {sum} bytes in a region of {size}");
                return Err(job.error("random_distribution", why));
            }
        }
    }
    Ok(())
}
