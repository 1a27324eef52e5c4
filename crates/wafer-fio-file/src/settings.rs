//! The values of the options of one section, before they become jobs.

use std::collections::BTreeMap;

use super::distribution::Split;
use super::engine::Engine;
use super::error::Origin;
use super::expand::Variables;
use super::placement::Placement;
use super::steady::Steady;
use super::target::IgnoredOption;
use super::value::Amount;
use wafer_fio::job::{
    DIRECTIONS, Direction, Distribution, Exit, Order, RateProcess, Sequencer, Submission,
};

/// Maximum queue depth: the capacity of an NVMe submission queue.
pub(super) const IODEPTH_MAX: u32 = 65_536;
/// Maximum number of jobs that fio runs at once.
pub(super) const MAX_JOBS: u32 = 4096;

/// The context in which options are read, and the ignored options found so far.
pub(super) struct Context<'a> {
    pub(super) page_bytes: u64,
    pub(super) variables: Variables<'a>,
    pub(super) ignored: Vec<IgnoredOption>,
}

impl Context<'_> {
    /// Reports an option without effect, once.
    pub(super) fn ignore(&mut self, name: &'static str, at: &Origin, reason: &'static str) {
        if self.ignored.iter().all(|i| i.name != name) {
            let file = at.file.to_path_buf();
            self.ignored.push(IgnoredOption { name, file, line: at.line, reason });
        }
    }
}

/// Values of all supported options.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    /// Where each option was last set, and under which of its names.
    origins: BTreeMap<&'static str, (Origin, String)>,
    pub(super) kb_base: u64,
    pub(super) name: Option<String>,
    pub(super) wait_for: Option<String>,
    pub(super) stonewall: bool,
    pub(super) exitall: bool,
    pub(super) exit_what: Exit,
    pub(super) engine: Engine,
    pub(super) filename: Option<String>,
    pub(super) directory: Option<String>,
    /// From the I/O engine's own option, which takes precedence over `filename`.
    pub(super) nsid: Option<u8>,
    pub(super) nrfiles: u32,

    pub(super) direction: Direction,
    pub(super) order: Order,
    pub(super) order_modifier: i64,
    pub(super) sequencer: Sequencer,
    pub(super) read_percent: u8,
    pub(super) percent_random: [u8; DIRECTIONS],

    pub(super) bs: [u64; DIRECTIONS],
    /// A later `bssplit` clears it.
    pub(super) bsrange: [Option<(u64, u64)>; DIRECTIONS],
    pub(super) bssplit: [Split; DIRECTIONS],
    pub(super) bs_unaligned: bool,
    pub(super) blockalign: [Option<u64>; DIRECTIONS],

    pub(super) size: Option<Amount>,
    pub(super) io_size: Option<Amount>,
    pub(super) filesize: Option<(u64, u64)>,
    pub(super) fill_device: bool,
    pub(super) offset: Amount,
    pub(super) offset_increment: Amount,
    pub(super) offset_align: Option<u64>,
    pub(super) number_ios: u64,
    pub(super) loops: u32,
    pub(super) numjobs: u32,

    pub(super) time_based: bool,
    pub(super) runtime_us: u64,
    pub(super) ramp_us: u64,
    /// Lower and upper bound.
    pub(super) start_delay_us: (u64, u64),
    pub(super) fsync: u32,
    pub(super) end_fsync: bool,
    pub(super) sync: bool,

    pub(super) norandommap: bool,
    pub(super) lfsr: bool,
    pub(super) distribution: [Distribution; DIRECTIONS],
    /// Whether a distribution other than `random` is named, which excludes the random map even if it is in effect
    /// uniform.
    pub(super) skewed: bool,
    pub(super) seed: Option<u64>,
    /// `randrepeat`: every pass draws the same numbers.
    pub(super) random_repeat: bool,

    pub(super) iodepth: u32,
    pub(super) iodepth_low: u32,
    pub(super) complete_least: u32,
    pub(super) submission: Submission,
    pub(super) rate: [u64; DIRECTIONS],
    pub(super) rate_iops: [u32; DIRECTIONS],
    pub(super) rate_process: RateProcess,
    pub(super) thinktime_us: u64,
    pub(super) thinktime_blocks: u32,
    pub(super) thinktime_issued: bool,
    pub(super) thinkcycles: u32,
    pub(super) latency_target_us: u64,
    pub(super) latency_window_us: u64,
    pub(super) latency_percentile: f64,
    pub(super) latency_run: bool,
    pub(super) steady: Steady,
    pub(super) flow: u32,
    pub(super) flow_id: u32,
    pub(super) new_group: bool,
    pub(super) group_reporting: bool,
    pub(super) placement: Placement,
}

impl Settings {
    /// Returns fio's defaults.
    pub(super) fn of_fio() -> Self {
        Self {
            kb_base: 1024,
            nrfiles: 1,
            read_percent: 50,
            percent_random: [100; DIRECTIONS],
            bs: [4096; DIRECTIONS],
            loops: 1,
            numjobs: 1,
            random_repeat: true,
            iodepth: 1,
            complete_least: 1,
            thinktime_blocks: 1,
            latency_percentile: 100.0,
            ..Self::default()
        }
    }

    /// Returns where an option was set, and how the file spells it.
    pub(super) fn origin(&self, name: &str) -> Option<&(Origin, String)> {
        self.origins.get(name)
    }

    /// Records where an option was set.
    pub(super) fn set_at(&mut self, name: &'static str, at: &Origin, spelled: &str) {
        self.origins.insert(name, (at.clone(), spelled.to_owned()));
    }
}
