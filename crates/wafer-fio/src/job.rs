//! One job of a fio file with every option resolved: the interface between the job file reader
//! (`fio`) and the generators of commands.

use std::path::PathBuf;

use crate::flow::Flow;

/// Number of directions that options distinguish, in fio's order: read, write, trim.
pub const DIRECTIONS: usize = 3;
/// Index of reads in per-direction options.
pub const READ: usize = 0;
/// Index of writes in per-direction options.
pub const WRITE: usize = 1;
/// Index of trims in per-direction options.
pub const TRIM: usize = 2;

/// One job: a section of a job file, or one of its `numjobs` clones.
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
    /// Index of the namespace that `filename` selects, from 0 (`/dev/ng0n2` and `/dev/nvme0n2` are 1; any other file is
    /// 0).
    pub namespace: u8,

    /// Direction of the commands (`rw`).
    pub direction: Direction,
    /// Sequential or random addresses (`rw`).
    pub order: Order,
    /// `rw=write:8k`, `rw=randwrite:8`: for sequential order, the bytes skipped after each command (may be negative);
    /// for random order, the commands between new random offsets (1 if not given).
    pub order_modifier: i64,
    /// `rw_sequencer`: what a random job does between new random offsets.
    pub sequencer: Sequencer,
    /// `rwmixread`: percentage of reads among the commands of a mixed job, 0-100.
    pub read_percent: u8,
    /// `percentage_random`: percentage of a random job's commands that are random, 0-100, by direction.
    pub percent_random: [u8; DIRECTIONS],

    /// Block sizes, by direction.
    pub block_size: [BlockSize; DIRECTIONS],
    /// `bs_unaligned`: sizes of a range need not be multiples of its minimum.
    pub block_size_unaligned: bool,
    /// `blockalign`, bytes, by direction: offsets of random commands are multiples of it. Default: the smallest block
    /// size of the direction.
    pub block_align: [u64; DIRECTIONS],

    /// First byte of the job's region in the namespace, `offset` + instance * `offset_increment` resolved and aligned
    /// as in fio (up, and only if a percentage is involved).
    pub offset: u64,
    /// Bytes of the job's region (`size`, `filesize`), resolved; at least one block.
    pub size: u64,
    /// Bytes of the namespace: sequential commands with gaps between them wrap there, not at the end of the region.
    pub namespace_bytes: u64,
    /// Bytes that the job transfers per loop (`io_size`; default `size`), resolved.
    pub io_size: u64,
    /// Bytes after which a pass over the region ends, in both directions together; `None`: when no address is left. fio
    /// counts the bytes of I/O engines that queue commands (`total_bytes` in `do_io`). Not for `trimwrite`.
    pub pass_bytes: Option<u64>,
    /// `number_ios`: end after this many commands.
    pub number_ios: Option<u64>,
    /// `loops`: how often the job is repeated.
    pub loops: u64,
    /// `time_based`: repeat until `runtime` is over, regardless of `io_size` and `loops`.
    pub time_based: bool,
    /// `runtime`, model seconds; `None`: until all bytes are transferred.
    pub runtime: Option<f64>,
    /// `ramp_time`, model seconds before `runtime` begins to count.
    pub ramp_time: f64,
    /// `startdelay`, model seconds; drawn from the range if one is given.
    pub start_delay: f64,

    /// Whether `norandommap` is absent: random commands cover each block once before any is repeated.
    pub random_map: bool,
    /// `random_distribution`, per direction.
    pub distribution: [Distribution; DIRECTIONS],
    /// `randseed`: seed of the job's own random numbers; `None`: the seed of the run.
    pub seed: Option<u64>,
    /// `randrepeat` (default true; `randrepeat=0` and `randseed` turn it off): every further pass over the region,
    /// because of `loops` or an `io_size` above `size`, restarts the random numbers and visits the blocks in *the same
    /// order*. A `time_based` job continues its random numbers instead.
    pub random_repeat: bool,

    /// Number of commands in flight (`iodepth`), at least 1.
    pub iodepth: u32,
    /// `io_submit_mode`. Ignored without a clock.
    pub submission: Submission,
    /// `iodepth_low` and `iodepth_batch_complete_min`; `None`: the host reaps every command as it completes. Ignored
    /// without a clock.
    pub reaping: Option<Reaping>,
    /// `rate`, bytes per model second, by direction.
    pub rate: [Option<u64>; DIRECTIONS],
    /// `rate_iops`, commands per model second, by direction.
    pub rate_iops: [Option<u64>; DIRECTIONS],
    /// `rate_process`: how the commands of `rate` and `rate_iops` are spread over time.
    pub rate_process: RateProcess,
    /// `fsync` or `fdatasync`: number of writes after which the job sends a Flush; 0: never. Ignored without a clock.
    pub fsync: u32,
    /// `end_fsync` or `fsync_on_close`: whether a job that writes sends a Flush at its end. Ignored without a clock.
    pub end_fsync: bool,
    /// `sync` or `writefua`: whether a write completes only when it is durable. Ignored without a clock.
    pub sync: bool,
    /// `thinktime`: pause after `thinktime_blocks` commands, model microseconds.
    pub thinktime_us: u64,
    /// `thinktime_blocks`, default 1.
    pub thinktime_blocks: u64,
    /// `thinktime_blocks_type=issue`: commands count when submitted, as they always do without a clock, not when
    /// reaped.
    pub thinktime_issued: bool,
    /// `thinkcycles`: nanoseconds that the job's thread works after each command. Ignored without a clock.
    pub thinkcycles: u32,
    /// `latency_target`: the queue depth, up to `iodepth`, follows the latency. Ignored without a clock.
    pub latency_target: Option<LatencyTarget>,
    /// `steadystate`: ends the job when it has reached a steady state. Ignored without a clock.
    pub steady_state: Option<SteadyState>,

    /// `flow`: the job keeps its share of the commands of the running jobs with its `flow_id`.
    pub flow: Option<Flow>,
    /// Group of the job, from 0; `stonewall` and `new_group` begin a new one.
    pub group: u32,
    /// `group_reporting`: the jobs of a group report their results together, and `steadystate` watches and ends them
    /// together.
    pub group_reporting: bool,
    /// `exitall`: which other jobs end when this one does.
    pub exit: Option<Exit>,

    /// How writes choose their placement identifier.
    pub placement: PlacementRule,
}

/// `exit_what`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Exit {
    /// The jobs of its group.
    #[default]
    Group,
    /// All running jobs, but none that waits for its `startdelay` or is in its `ramp_time`.
    Running,
    /// All jobs, including those of later phases.
    All,
}

impl Exit {
    /// Returns whether the job `beside` ends because `ended` has. `runs`: it is past its `startdelay` and `ramp_time`.
    pub fn ends(self, ended: &JobSpec, beside: &JobSpec, runs: bool) -> bool {
        match self {
            Exit::Group => ended.group == beside.group,
            Exit::Running => runs,
            Exit::All => true,
        }
    }
}

/// `latency_target` and related options.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatencyTarget {
    /// Maximum latency of a command, model nanoseconds.
    pub nanoseconds: u64,
    /// `latency_window`: how long a depth has to meet the target, model nanoseconds.
    pub window: u64,
    /// `latency_percentile`: percentage of the commands that have to meet the target.
    pub percentile: f64,
    /// `latency_run`: whether the job keeps searching once it has found a depth, instead of ending after another
    /// window.
    pub keeps_looking: bool,
}

/// `steadystate` and related options.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyState {
    /// The measure that must be steady.
    pub measure: Measure,
    /// Whether the slope of a line through the intervals has to be below the limit, instead of the largest deviation of
    /// an interval from their mean.
    pub slope: bool,
    /// In commands per second, bytes per second or nanoseconds, for a slope per interval; or in percent of the mean.
    pub limit: f64,
    /// Whether the limit is in percent of the mean.
    pub percent: bool,
    /// `steadystate_duration`, in intervals.
    pub intervals: usize,
    /// `steadystate_check_interval`, model nanoseconds.
    pub interval: u64,
    /// `steadystate_ramp_time`: model nanoseconds before the first interval.
    pub ramp: u64,
}

impl SteadyState {
    /// Returns the duration in whole model seconds.
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

/// `rw`: the directions of a job.
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
    /// By the thread that also waits for completions: all commands in flight complete before it sleeps for `rate`.
    #[default]
    Inline,
    /// By separate threads: a command is submitted as soon as its `rate` allows.
    Offload,
}

/// When the host reaps completions, once it has reached `iodepth` commands in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reaping {
    /// `iodepth_low`: the host submits again when this many are left.
    pub low: u32,
    /// `iodepth_batch_complete_min`: the host waits for this many at once.
    pub least: u32,
}

/// `rate_process`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum RateProcess {
    /// Evenly.
    #[default]
    Linear,
    /// At random times, with exponentially distributed intervals.
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
    /// `bssplit=4k/60:64k/40`: sizes and percentages, which add up to 100.
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
        /// Position of the most frequent block, 0-1; `None`: by fio's hash.
        center: Option<f64>,
    },
    /// `pareto:h[:center]`.
    Pareto {
        /// Shape input, 0 < h < 1.
        h: f64,
        /// As for zipf.
        center: Option<f64>,
    },
    /// `normal:deviation[:center]`, as fio defines it: a bell of fixed width (a standard deviation of 1/12 of the
    /// region), shifted by a uniform part and hashed over the region.
    Normal {
        /// Width of the uniform part, percent of the region; not a standard deviation.
        deviation: f64,
        /// Shift of the hash, 0-1; `None`: the middle.
        center: Option<f64>,
    },
    /// `zoned:access/size:...`: percentages of commands and of the region; each adds up to 100.
    Zoned(Vec<(f64, f64)>),
    /// `zoned_abs:access/size:...`: percentages of commands, and bytes of the region.
    ZonedAbs(Vec<(f64, u64)>),
}

/// How a job's writes choose a placement identifier: `fdp`, `dataplacement`, `plids`/`fdp_pli`,
/// `plid_select`/`fdp_pli_select`.
#[derive(Clone, Debug, PartialEq)]
pub enum PlacementRule {
    /// No directive: the namespace's first handle.
    None,
    /// Always this placement index, from `plids` or `write_hint`.
    Fixed(u16),
    /// Each of the list in turn (`plid_select=roundrobin`, fio's default).
    RoundRobin(Vec<u16>),
    /// At random from the list.
    Random(Vec<u16>),
    /// `plid_select=scheme` with `dp_scheme=FILE`: the first range that contains the offset names the placement index;
    /// outside all ranges, the first of the list.
    Scheme {
        /// Start byte, end byte (exclusive), placement index.
        ranges: Vec<(u64, u64, u16)>,
        /// Placement indices to fall back on.
        plids: Vec<u16>,
    },
}
