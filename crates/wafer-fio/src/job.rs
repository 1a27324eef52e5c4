//! One job of a fio file with every option resolved: the interface between the job file reader
//! (`fio`) and the generators of commands.

use std::path::PathBuf;

use crate::flow::Flow;

/// Directions a block size or a share can be given for, in fio's order: read, write, trim.
pub const DIRECTIONS: usize = 3;
/// Index of reads in per-direction options.
pub const READ: usize = 0;
/// Index of writes in per-direction options.
pub const WRITE: usize = 1;
/// Index of trims in per-direction options.
pub const TRIM: usize = 2;

/// One running job: a section of a job file, one per `numjobs`.
#[derive(Clone, Debug, PartialEq)]
pub struct JobSpec {
    /// Section name (`name=`); clones of `numjobs` share it.
    pub name: String,
    /// Which of the `numjobs` clones, from 0.
    pub instance: u32,
    /// The job file and the line of the section header, for messages.
    pub source: (PathBuf, u32),
    /// Jobs of one phase run at the same time; `stonewall` (`wait_for_previous`) starts the next.
    pub phase: u32,
    /// `filename`/`directory`-independent: the namespace addressed, from 0 (`/dev/ng0n2` and
    /// `/dev/nvme0n2` are 1; anything else is 0).
    pub namespace: u8,

    /// Directions, and sequential or random (`rw`).
    pub direction: Direction,
    /// Sequential or random addresses.
    pub order: Order,
    /// `rw=write:8k`, `rw=randwrite:8`: for sequential order the bytes skipped after each
    /// command (may be negative), for random order the commands between new random offsets
    /// (1 when not given).
    pub order_modifier: i64,
    /// `rw_sequencer`: what a random job does between new random offsets.
    pub sequencer: Sequencer,
    /// Percent of commands that are reads in mixed directions (`rwmixread`), 0-100.
    pub read_percent: u8,
    /// Per direction, percent of a random job's commands that are random
    /// (`percentage_random`), 0-100.
    pub percent_random: [u8; DIRECTIONS],

    /// Block sizes per direction.
    pub block_size: [BlockSize; DIRECTIONS],
    /// `bs_unaligned`: sizes of a range need not be multiples of its minimum.
    pub block_size_unaligned: bool,
    /// `blockalign` per direction: offsets of random commands are multiples of this, bytes.
    /// Default: the smallest block size of the direction.
    pub block_align: [u64; DIRECTIONS],

    /// First byte of the job's region in the namespace, `offset` + instance * `offset_increment`
    /// resolved and aligned as fio does (up, and only where a percentage is involved).
    pub offset: u64,
    /// Bytes of the job's region (`size`, `filesize`), resolved; at least one block.
    pub size: u64,
    /// Bytes of the namespace: sequential commands with gaps between them wrap there, not at the end of the region.
    pub namespace_bytes: u64,
    /// Bytes the job transfers per loop (`io_size`; default `size`), resolved.
    pub io_size: u64,
    /// `number_ios`: end after this many commands.
    pub number_ios: Option<u64>,
    /// `loops`: how often the job is repeated.
    pub loops: u64,
    /// `time_based`: repeat until `runtime` is over, whatever `io_size` and `loops` say.
    pub time_based: bool,
    /// `runtime`, model seconds; none: until the bytes are done.
    pub runtime: Option<f64>,
    /// `ramp_time`, model seconds that run before `runtime` counts.
    pub ramp_time: f64,
    /// `startdelay`, model seconds (lower end when a range is given).
    pub start_delay: f64,

    /// `norandommap` absent: random commands cover each block once before any is repeated.
    pub random_map: bool,
    /// `random_distribution`, per direction.
    pub distribution: [Distribution; DIRECTIONS],
    /// Seed of the job's own random numbers when the file fixes one (`randseed`); `None`: the run's
    /// seed decides.
    pub seed: Option<u64>,
    /// `randrepeat` (default true; `randrepeat=0` and `randseed` turn it off): every further pass over the region that
    /// `loops` or an `io_size` above `size` ask for starts the random numbers over, so it visits the blocks in *the
    /// same order*. A `time_based` job continues with its random numbers instead.
    pub random_repeat: bool,

    /// Commands in flight (`iodepth`), at least 1.
    pub iodepth: u32,
    /// `io_submit_mode`. Ignored without a clock.
    pub submission: Submission,
    /// `iodepth_low` and `iodepth_batch_complete_min`; none: the host reaps every command as it completes. Ignored
    /// without a clock.
    pub reaping: Option<Reaping>,
    /// `rate` per direction, bytes per model second.
    pub rate: [Option<u64>; DIRECTIONS],
    /// `rate_iops` per direction, commands per model second.
    pub rate_iops: [Option<u64>; DIRECTIONS],
    /// `rate_process`: how the commands of `rate` and `rate_iops` are spread over time.
    pub rate_process: RateProcess,
    /// `fsync` or `fdatasync`: writes after which a Flush is sent; 0: never. Only a run with a clock sends it.
    pub fsync: u32,
    /// `end_fsync` or `fsync_on_close`: whether a job that writes sends a Flush at its end. Only a run with a clock sends it.
    pub end_fsync: bool,
    /// `sync` or `writefua`: whether a write completes only when it is durable. Only a run with a clock knows.
    pub sync: bool,
    /// `thinktime`, model microseconds of pause after `thinktime_blocks` commands.
    pub thinktime_us: u64,
    /// `thinktime_blocks`, default 1.
    pub thinktime_blocks: u64,
    /// `thinktime_blocks_type=issue`: commands count when they are submitted, as always without a clock, not when reaped.
    pub thinktime_issued: bool,
    /// `thinkcycles`: nanoseconds that the job's thread works for each command before the next. Only in a run with a clock.
    pub thinkcycles: u32,
    /// `latency_target`: the queue depth, up to `iodepth`, follows the latency. Only a run with a clock has latencies.
    pub latency_target: Option<LatencyTarget>,
    /// `steadystate`: ends the job when it runs steadily. Only a run with a clock knows.
    pub steady_state: Option<SteadyState>,

    /// `flow`: the job keeps its part of the commands of the jobs of its `flow_id` that run.
    pub flow: Option<Flow>,
    /// Group of the job, from 0: `stonewall` and `new_group` begin another.
    pub group: u32,
    /// `group_reporting`: the jobs of its group have their results together, and `steadystate` watches them and ends them together.
    pub group_reporting: bool,
    /// `exitall`: which other jobs end when this one does.
    pub exit: Option<Exit>,

    /// How writes choose their placement.
    pub placement: PlacementRule,
}

/// `exit_what`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Exit {
    /// Those of its group.
    #[default]
    Group,
    /// All that run.
    Running,
    /// All, also those of later phases.
    All,
}

impl Exit {
    /// Returns whether a job ends with another one that has ended.
    pub fn ends(self, ended: &JobSpec, beside: &JobSpec) -> bool {
        self != Exit::Group || ended.group == beside.group
    }
}

/// `latency_target`, and what goes with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatencyTarget {
    /// The longest latency of a command, model nanoseconds.
    pub nanoseconds: u64,
    /// `latency_window`: how long a depth has to keep it, model nanoseconds.
    pub window: u64,
    /// `latency_percentile`: share of the commands that have to keep it, percent.
    pub percentile: f64,
    /// `latency_run`: whether the job looks on when it has found a depth, instead of ending after another window.
    pub keeps_looking: bool,
}

/// `steadystate`, and what goes with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyState {
    /// What must be steady.
    pub measure: Measure,
    /// Whether the slope of a line through the intervals has to be below the limit, instead of the greatest distance of
    /// an interval from their mean.
    pub slope: bool,
    /// Commands per second, bytes per second or nanoseconds, the slope's by interval; or percent of the mean.
    pub limit: f64,
    /// Whether the limit is in percent of the mean.
    pub percent: bool,
    /// `steadystate_duration`, intervals.
    pub intervals: usize,
    /// `steadystate_check_interval`, model nanoseconds.
    pub interval: u64,
    /// `steadystate_ramp_time`: model nanoseconds before the first interval.
    pub ramp: u64,
}

impl SteadyState {
    /// Returns the duration, whole model seconds.
    pub fn seconds(&self) -> u64 {
        (self.intervals as u64).saturating_mul(self.interval) / 1_000_000_000
    }

    /// Returns `steadystate` as fio spells it, such as "iops_slope:0.3%".
    pub fn criterion(&self) -> String {
        let measure = match self.measure {
            Measure::Iops => "iops",
            Measure::Bandwidth => "bw",
            Measure::Latency => "lat",
        };
        let slope = if self.slope { "_slope" } else { "" };
        format!("{measure}{slope}:{}{}", self.limit, if self.percent { "%" } else { "" })
    }
}

/// What `steadystate` measures in each interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Commands per second.
    Iops,
    /// Bytes per second.
    Bandwidth,
    /// Mean latency, nanoseconds.
    Latency,
}

/// `rw`: which directions a job has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Direction {
    /// `read`, `randread`.
    #[default]
    Read,
    /// `write`, `randwrite`.
    Write,
    /// `trim`, `randtrim`.
    Trim,
    /// `rw`, `readwrite`, `randrw`: reads and writes mixed by `rwmixread`.
    ReadWrite,
    /// `trimwrite`, `randtrimwrite`: each block is trimmed, then written.
    TrimWrite,
}

impl Direction {
    /// Returns the directions of the commands that such a job issues.
    pub fn used(self) -> &'static [usize] {
        match self {
            Direction::Read => &[READ],
            Direction::Write => &[WRITE],
            Direction::Trim => &[TRIM],
            Direction::ReadWrite => &[READ, WRITE],
            Direction::TrimWrite => &[WRITE, TRIM],
        }
    }
}

/// `rw`: how addresses follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Order {
    /// Ascending, wrapping at the end of the region.
    #[default]
    Sequential,
    /// By `random_distribution` and the random map.
    Random,
}

/// `rw_sequencer`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Sequencer {
    /// Continue sequentially from the last offset.
    #[default]
    Sequential,
    /// Repeat the same offset.
    Identical,
}

/// `io_submit_mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Submission {
    /// By the thread that also waits for completions: before it sleeps for `rate`, all commands in flight complete.
    #[default]
    Inline,
    /// By threads of their own: a command goes when its `rate` lets it.
    Offload,
}

/// When the host reaps completions, once it has `iodepth` commands in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reaping {
    /// `iodepth_low`: it submits again when this many are left.
    pub low: u32,
    /// `iodepth_batch_complete_min`: it waits for this many at once.
    pub least: u32,
}

/// `rate_process`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum RateProcess {
    /// Evenly.
    #[default]
    Linear,
    /// At random times: exponential distances.
    Poisson,
}

/// Block sizes of one direction, bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum BlockSize {
    /// `bs=4k`.
    Fixed(u64),
    /// `bsrange=4k-64k`: uniform, in multiples of the minimum unless `bs_unaligned`.
    Range {
        /// Smallest size.
        min: u64,
        /// Largest size.
        max: u64,
    },
    /// `bssplit=4k/60:64k/40`: size and percent; the percents add up to 100.
    Split(Vec<(u64, f64)>),
}

impl BlockSize {
    /// Returns the smallest size.
    pub fn smallest(&self) -> u64 {
        match self {
            BlockSize::Fixed(size) => *size,
            BlockSize::Range { min, .. } => *min,
            BlockSize::Split(split) => split.iter().map(|(size, _)| *size).min().unwrap_or(0),
        }
    }
}

/// `random_distribution`.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Distribution {
    /// `random`: uniform.
    #[default]
    Uniform,
    /// `zipf:theta[:center]`.
    Zipf {
        /// Exponent, > 0, not 1.
        theta: f64,
        /// Position of the most frequent block, 0-1; none: by fio's hash.
        center: Option<f64>,
    },
    /// `pareto:h[:center]`.
    Pareto {
        /// Shape input, 0 < h < 1.
        h: f64,
        /// As for zipf.
        center: Option<f64>,
    },
    /// `normal:deviation[:center]`, with fio's law: a bell of fixed width (a standard deviation of
    /// 1/12 of the region), moved by a uniform part and hashed over the region.
    Normal {
        /// Width of the uniform part, percent of the region; not a standard deviation.
        deviation: f64,
        /// 0-1, shifts the hash; none: the middle.
        center: Option<f64>,
    },
    /// `zoned:access/size:...`: percent of commands, percent of the region; both add up to 100.
    Zoned(Vec<(f64, f64)>),
    /// `zoned_abs:access/size:...`: percent of commands, bytes of the region.
    ZonedAbs(Vec<(f64, u64)>),
}

/// How a job's writes choose a placement identifier: `fdp`, `dataplacement`, `plids`/`fdp_pli`,
/// `plid_select`/`fdp_pli_select`.
#[derive(Clone, Debug, PartialEq)]
pub enum PlacementRule {
    /// No directive: the namespace's first handle.
    None,
    /// Always this index into the namespace's list of placement identifiers, of `plids` or `write_hint`.
    Fixed(u16),
    /// In turn through the list (`plid_select=roundrobin`, fio's default).
    RoundRobin(Vec<u16>),
    /// At random from the list.
    Random(Vec<u16>),
    /// `plid_select=scheme` with `dp_scheme=FILE`: the first range that holds the offset names the
    /// placement identifier; else the first of the list.
    Scheme {
        /// Start byte, end byte (exclusive), placement identifier index.
        ranges: Vec<(u64, u64, u16)>,
        /// `plids`, to fall back on.
        plids: Vec<u16>,
    },
}
