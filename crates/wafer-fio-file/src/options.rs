//! Every option of fio that is followed or refused, each with its name, meaning and parser.
//!
//! To add or change an option, edit its line in [`OPTIONS`], and add a field to [`Settings`] if it needs one. The list
//! follows the order of fio's `options.c` (3.42, with the names that older versions print), including the options of
//! the I/O engines that write to block devices. Options without effect are in `ignored.rs`. Options of other engines
//! are not listed, because those engines are refused.

use super::distribution;
use super::engine;
use super::error::{Origin, quote};
use super::ignored::{IGNORED, PROFILE};
use super::nearest::did_you_mean;
use super::placement::{self, Interface, Select};
use super::settings::{Context, IODEPTH_MAX, MAX_JOBS, Settings};
use super::value;
use wafer_fio::job::{DIRECTIONS, Direction, Exit, Order, RateProcess, Sequencer, Submission};

/// The value of an option line.
pub(super) struct Value<'a> {
    /// The text after `=`, if there is one.
    pub(super) given: Option<&'a str>,
    /// Where the line is.
    pub(super) at: &'a Origin,
    /// Bytes in the unit `k`.
    pub(super) kb: u64,
}

impl<'a> Value<'a> {
    fn flag(&self) -> Result<bool, String> {
        value::flag(self.given)
    }

    fn text(&self) -> Result<&'a str, String> {
        self.given.ok_or_else(|| "needs a value".to_owned())
    }

    fn filled(&self) -> Result<String, String> {
        match self.text()? {
            "" => Err("needs a value".to_owned()),
            text => Ok(text.to_owned()),
        }
    }

    /// Reads a value whose numbers may have units.
    fn read<T>(&self, parse: impl Fn(&str, u64) -> Result<T, String>) -> Result<T, String> {
        parse(self.text()?, self.kb)
    }

    fn word<T: Copy>(&self, words: &[(&str, T)]) -> Result<T, String> {
        value::word(self.text()?, words)
    }

    /// Reads a time, whose default unit is seconds if `seconds`, otherwise microseconds.
    fn time(&self, seconds: bool) -> Result<u64, String> {
        value::time_us(self.text()?, seconds)
    }

    /// Reads a list of values by direction, and replaces the values of the directions that it mentions.
    fn merge<T: Copy>(
        &self,
        values: &mut [T; DIRECTIONS],
        separators: &[char],
        parse: impl Fn(&str, u64) -> Result<T, String>,
    ) -> Result<(), String> {
        let new = value::per_direction(self.text()?, separators, |t| parse(t, self.kb))?;
        for (old, new) in values.iter_mut().zip(new) {
            *old = new.unwrap_or(*old);
        }
        Ok(())
    }
}

/// Sets a field of the settings, optional or not, to the value read.
fn set<T, V: Into<T>>(field: &mut T, value: Result<V, String>) -> Result<(), String> {
    *field = value?.into();
    Ok(())
}

/// Reads a value into the settings.
type Read = fn(&mut Settings, &Value<'_>, &mut Context<'_>) -> Result<(), String>;

/// The effect of an option.
#[derive(Clone, Copy)]
pub(super) enum Effect {
    /// Followed: it decides what is written.
    Followed(Read),
    /// Accepted and reported: it does not change what is written.
    None,
    /// Refused: it would change what is written. Only the listed values, which switch it off, are accepted.
    Refused(&'static [&'static str]),
    /// Refused by fio itself.
    Removed,
}

#[derive(Clone, Copy)]
pub(super) struct FioOption {
    pub(super) name: &'static str,
    /// The other spelling; empty if there is none.
    pub(super) alias: &'static str,
    /// The effect of the option, or why it is ignored or refused.
    pub(super) meaning: &'static str,
    pub(super) effect: Effect,
}

const fn yes(
    name: &'static str,
    alias: &'static str,
    meaning: &'static str,
    read: Read,
) -> FioOption {
    FioOption { name, alias, meaning, effect: Effect::Followed(read) }
}

const fn no(
    name: &'static str,
    alias: &'static str,
    off: &'static [&'static str],
    meaning: &'static str,
) -> FioOption {
    FioOption { name, alias, meaning, effect: Effect::Refused(off) }
}

const fn gone(name: &'static str, meaning: &'static str) -> FioOption {
    FioOption { name, alias: "", meaning, effect: Effect::Removed }
}

/// fio's limit for `flow`.
const FLOW_MAX: u32 = 1000;

/// The value that switches most options off.
const OFF: &[&str] = &["0"];

const ZONES: &str = "zones are not supported";
const REPLAY: &str = "a trace, not a job: give it to the trace reader";
const NO_DATA: &str = "commands that write no data are not supported";
const TRIMS: &str = "trims between verifications are not supported";

/// The options that are followed or refused.
#[rustfmt::skip] // one option, one line
pub(super) const OPTIONS: &[FioOption] = &[
    yes("name", "", "Name of the job, in results and for `wait_for`", |s, v, _| set(&mut s.name, v.filled())),
    yes("wait_for", "", "Starts the job when the named job has ended", |s, v, _| set(&mut s.wait_for, v.filled())),
    yes("filename", "", "Chooses the namespace by its number; not opened", filename),
    yes("directory", "", "Distinguishes the files of jobs; not opened", |s, v, _| set(&mut s.directory, v.filled())),
    no("opendir", "", &[], "names many files; one namespace is supported"),
    yes("rw", "readwrite", "Direction and order of the commands", |s, v, _| rw(s, v.text()?)),
    yes("rw_sequencer", "", "Addresses within a group of `rw=...:N` commands", |s, v, _| set(&mut s.sequencer, v.word(SEQUENCERS))),
    yes("ioengine", "", "Determines whether `iodepth` commands or one are in flight", ioengine),
    yes("iodepth", "", "Commands in flight: the weight of the job in a closed loop", |s, v, _| set(&mut s.iodepth, v.read(|t, kb| value::integer(t, kb, 1, IODEPTH_MAX)))),
    yes("iodepth_batch_complete_min", "iodepth_batch_complete", "With a clock: minimum completions that the job reaps at once when `iodepth` commands are in flight", |s, v, _| set(&mut s.complete_least, v.read(|t, kb| value::integer(t, kb, 0, IODEPTH_MAX)))),
    yes("iodepth_low", "", "With a clock: commands in flight at which the job submits again after reaching `iodepth`", |s, v, _| set(&mut s.iodepth_low, v.read(|t, kb| value::integer(t, kb, 0, IODEPTH_MAX)))),
    yes("io_submit_mode", "", "With a clock: `offload` submits at the times of `rate`; `inline` waits for all commands in flight before it sleeps", |s, v, _| set(&mut s.submission, v.word(SUBMISSIONS))),
    yes("size", "", "Bytes that the job covers, or a share of its namespace", |s, v, _| set(&mut s.size, v.read(value::amount))),
    yes("io_size", "io_limit", "Bytes that the job transfers", |s, v, _| set(&mut s.io_size, v.read(value::amount))),
    yes("fill_device", "fill_fs", "Covers the whole namespace", |s, v, _| set(&mut s.fill_device, value::boolean(v.text()?))),
    yes("filesize", "", "Bytes that the job covers if `size` is not given", |s, v, _| set(&mut s.filesize, value::value_or_range(v.text()?, |t| value::size_above_zero(t, v.kb)))),
    yes("offset", "fileoffset", "First byte of the job", |s, v, _| set(&mut s.offset, v.read(value::amount))),
    yes("offset_align", "", "Alignment of the first byte", |s, v, _| set(&mut s.offset_align, v.read(value::size_above_zero))),
    yes("offset_increment", "", "Distance between the first bytes of clones", |s, v, _| set(&mut s.offset_increment, v.read(value::amount))),
    yes("number_ios", "", "Commands after which the job ends", |s, v, _| set(&mut s.number_ios, v.read(value::number))),
    no("num_range", "", &["1"], "trim commands of several ranges are not supported"),
    yes("bs", "blocksize", "Bytes of a command, by direction", |s, v, _| v.merge(&mut s.bs, value::NUMBERS, value::size_above_zero)),
    yes("ba", "blockalign", "Alignment of random commands, by direction", |s, v, _| v.merge(&mut s.blockalign, value::NUMBERS, |t, kb| value::size_above_zero(t, kb).map(Some))),
    yes("bsrange", "blocksize_range", "Smallest and largest command in bytes, by direction", |s, v, _| v.merge(&mut s.bsrange, value::COMMA, |t, kb| value::range(t, |t| value::size_above_zero(t, kb)).map(Some))),
    yes("bssplit", "", "Sizes of commands with their shares, by direction", bssplit),
    yes("bs_unaligned", "blocksize_unaligned", "Sizes of a range need not be multiples of the smallest", |s, v, _| set(&mut s.bs_unaligned, v.flag())),
    no("bs_is_seq_rand", "", OFF, "block sizes by order instead of direction are not supported"),
    yes("randrepeat", "allrandrepeat", "Draws the same random numbers in every pass", |s, v, _| set(&mut s.random_repeat, value::boolean(v.text()?))),
    yes("randseed", "", "Random seed of the job", |s, v, _| set(&mut s.seed, v.read(value::number))),
    yes("norandommap", "", "Draws addresses without visiting every block once", |s, v, _| set(&mut s.norandommap, v.flag())),
    no("sprandom", "", OFF, "the SPRandom address order is not supported"),
    yes("random_generator", "", "Generator of random addresses; `lfsr` visits every block once without a map", |s, v, _| set(&mut s.lfsr, v.word(GENERATORS))),
    yes("random_distribution", "", "Distribution of random addresses", random_distribution),
    no("random_sequence_stride", "", OFF, "`random_distribution=sequence` is not supported"),
    yes("percentage_random", "", "Share of random commands, by direction", |s, v, _| v.merge(&mut s.percent_random, value::NUMBERS, value::percent)),
    gone("percentage_sequential", "use percentage_random"),
    yes("nrfiles", "nr_files", "Number of files; one is supported", |s, v, _| set(&mut s.nrfiles, v.read(value::count))),
    yes("loops", "", "Number of passes", |s, v, _| set(&mut s.loops, v.read(value::count))),
    yes("numjobs", "", "Number of clones of the job", |s, v, _| set(&mut s.numjobs, v.read(|t, kb| value::integer(t, kb, 1, MAX_JOBS)))),
    yes("startdelay", "", "Model time at which the job starts, or a range in which each clone draws its own", |s, v, _| set(&mut s.start_delay_us, value::value_or_range(v.text()?, |t| value::time_us(t, true)))),
    yes("runtime", "timeout", "Model time after which the job ends", |s, v, _| set(&mut s.runtime_us, v.time(true))),
    yes("time_based", "", "Starts over until `runtime` ends", |s, v, _| set(&mut s.time_based, v.flag())),
    no("verify_only", "", OFF, "nothing would be written"),
    yes("ramp_time", "", "Model time before `runtime` counts", |s, v, _| set(&mut s.ramp_us, v.time(true))),
    no("trim_percentage", "", OFF, TRIMS),
    no("trim_backlog", "", OFF, TRIMS),
    no("read_iolog", "", &[], REPLAY),
    no("read_iolog_chunked", "", OFF, REPLAY),
    no("replay_no_stall", "", OFF, REPLAY),
    no("replay_redirect", "", &[], REPLAY),
    no("replay_scale", "", &["1"], REPLAY),
    no("replay_align", "", OFF, REPLAY),
    no("replay_time_scale", "", &["100"], REPLAY),
    no("replay_skip", "", &[], REPLAY),
    no("merge_blktrace_file", "", &[], REPLAY),
    no("merge_blktrace_scalars", "", &[], REPLAY),
    no("merge_blktrace_iters", "", &[], REPLAY),
    no("zonemode", "", &["none"], ZONES),
    no("zonesize", "", OFF, ZONES),
    yes("fdp", "", "Enables placement directives", |s, v, _| set(&mut s.placement.fdp, value::boolean(v.text()?))),
    yes("dataplacement", "data_placement", "Enables placement directives by name", |s, v, _| set(&mut s.placement.interface, v.word(INTERFACES))),
    yes("plid_select", "fdp_pli_select", "Choice among `plids`", |s, v, _| set(&mut s.placement.select, v.word(SELECTS))),
    yes("plids", "fdp_pli", "Placement handles of the job", |s, v, _| set(&mut s.placement.plids, placement::plids(v.text()?))),
    yes("dp_scheme", "", "File of address ranges with their placement handles", |s, v, _| set(&mut s.placement.scheme, placement::scheme(&v.at.file, v.text()?))),
    yes("rwmixread", "", "Share of reads, in percent", |s, v, _| set(&mut s.read_percent, v.read(value::percent))),
    yes("rwmixwrite", "", "Share of writes, in percent", |s, v, _| set(&mut s.read_percent, v.read(value::percent).map(|writes| 100 - writes))),
    gone("rwmixcycle", "without replacement"),
    yes("fsync", "", "With a clock: writes after which the job sends a Flush", |s, v, _| set(&mut s.fsync, v.read(|t, kb| value::integer(t, kb, 0, u32::MAX)))),
    yes("fdatasync", "", "As `fsync`", |s, v, _| set(&mut s.fsync, v.read(|t, kb| value::integer(t, kb, 0, u32::MAX)))),
    yes("end_fsync", "", "With a clock: whether the job sends a Flush when everything else has completed", |s, v, _| set(&mut s.end_fsync, value::boolean(v.text()?))),
    yes("fsync_on_close", "", "As `end_fsync`", |s, v, _| set(&mut s.end_fsync, value::boolean(v.text()?))),
    yes("sync", "", "With a clock: whether a write completes only when it is durable", |s, v, _| set(&mut s.sync, v.word(SYNCS))),
    yes("thinktime", "", "Pause after `thinktime_blocks` commands", |s, v, _| set(&mut s.thinktime_us, v.time(false))),
    yes("thinktime_blocks", "", "Commands between two pauses", |s, v, _| set(&mut s.thinktime_blocks, v.read(|t, kb| value::integer(t, kb, 1, u32::MAX)))),
    yes("thinktime_blocks_type", "", "With a clock: whether commands count when they have completed or when they are issued", |s, v, _| set(&mut s.thinktime_issued, v.word(&[("complete", false), ("issue", true)]))),
    yes("thinkcycles", "", "With a clock: cycles of 1 ns that the job's thread works for each command before it submits the next", |s, v, _| set(&mut s.thinkcycles, v.read(|t, kb| value::integer(t, kb, 0, u32::MAX)))),
    no("thinktime_iotime", "", OFF, "pauses after a time instead of a number of commands are not supported"),
    yes("rate", "", "Maximum bytes per second, by direction", |s, v, _| v.merge(&mut s.rate, value::NUMBERS, |t, kb| value::unsigned(t, kb, "a rate"))),
    yes("rate_iops", "", "Maximum commands per second, by direction", |s, v, _| v.merge(&mut s.rate_iops, value::NUMBERS, value::count)),
    yes("rate_process", "", "Spread of `rate_iops` over time, with a clock: even or Poisson", |s, v, _| set(&mut s.rate_process, v.word(RATE_PROCESSES))),
    yes("latency_target", "", "Longest latency; the queue depth, up to `iodepth`, is the highest that keeps it. Needs a clock", |s, v, _| set(&mut s.latency_target_us, v.time(false))),
    yes("latency_window", "", "Time for which a queue depth must keep `latency_target`", |s, v, _| set(&mut s.latency_window_us, v.time(false))),
    yes("latency_percentile", "", "Share of commands that must keep `latency_target`, in percent", |s, v, _| set(&mut s.latency_percentile, value::share(v.text()?))),
    yes("latency_run", "", "Whether the job keeps running when it has found its queue depth, instead of ending", |s, v, _| set(&mut s.latency_run, value::boolean(v.text()?))),
    yes("write_hint", "", "Placement of writes without `fdp`, chosen by lifetime as in Linux 6.16 and later", |s, v, _| set(&mut s.placement.hint, v.word(WRITE_HINTS))),
    no("create_only", "", OFF, "nothing would be written"),
    yes("exitall", "", "Ends other jobs when a job ends", |s, v, _| set(&mut s.exitall, v.flag())),
    yes("exit_what", "", "With `exitall`: which jobs end with this one: those of its group, all running ones, or all", |s, v, _| set(&mut s.exit_what, v.word(EXITS))),
    yes("new_group", "", "Starts a new group of jobs, for `group_reporting` and `exitall`", |s, v, _| set(&mut s.new_group, v.flag())),
    yes("group_reporting", "", "Reports the jobs of a group as one; `steadystate` watches them together", |s, v, _| set(&mut s.group_reporting, v.flag())),
    yes("stonewall", "wait_for_previous", "Starts the job when all jobs before it have ended", |s, v, _| set(&mut s.stonewall, v.flag())),
    no("profile", "", &[], "built-in profiles are not supported"),
    yes("kb_base", "", "Bytes of the unit k, 1000 or 1024; read before other options", |s, v, _| set(&mut s.kb_base, v.word(&[("1024", 1024u64), ("1000", 1000)]))),
    yes("flow_id", "", "Group of jobs whose `flow` counts together", |s, v, _| set(&mut s.flow_id, v.read(value::count))),
    yes("flow", "", "Weight of the job: its share of its group's commands", |s, v, _| set(&mut s.flow, v.read(|t, kb| value::integer(t, kb, 0, FLOW_MAX)))),
    yes("steadystate", "ss", "What must be steady for the job to end, and how far it may vary", |s, v, _| s.steady.criterion(v.text()?, v.kb)),
    yes("steadystate_duration", "ss_dur", "Time for which `steadystate` must hold; then the job ends. Needs a clock", |s, v, _| set(&mut s.steady.duration_us, v.time(true))),
    yes("steadystate_ramp_time", "ss_ramp", "Time before `steadystate` is checked", |s, v, _| set(&mut s.steady.ramp_us, v.time(true))),
    yes("steadystate_check_interval", "ss_interval", "Interval of `steadystate` measurements", |s, v, _| set(&mut s.steady.interval_us, v.time(true))),
    // Options of I/O engines.
    no("write_mode", "", &["write"], NO_DATA),
    no("sg_write_mode", "", &["write"], NO_DATA),
    yes("writefua", "", "As `sync`", |s, v, _| set(&mut s.sync, value::boolean(v.text()?))),
    yes("xnvme_dev_nsid", "", "Chooses the namespace; takes precedence over `filename`", |s, v, _| set(&mut s.nsid, engine::nsid(v.text()?))),
];

/// Returns the option of a name or alias.
pub(super) fn find(name: &str) -> Option<FioOption> {
    all().find(|o| o.name == name || (!o.alias.is_empty() && o.alias == name))
}

fn all() -> impl Iterator<Item = FioOption> {
    let ignored = IGNORED.iter().flat_map(|(meaning, names)| {
        names.iter().map(|names| {
            let (name, alias) = names.split_once('|').unwrap_or((names, ""));
            FioOption { name, alias, meaning, effect: Effect::None }
        })
    });
    OPTIONS.iter().copied().chain(ignored)
}

/// Returns the message for an unknown option.
pub(super) fn unknown(name: &str) -> String {
    let own = all().filter(|o| o.meaning != PROFILE);
    let names = own.flat_map(|o| [o.name, o.alias]).filter(|n| !n.is_empty());
    format!("fio has no such option for block devices{}", did_you_mean(name, names))
}

const EXITS: &[(&str, Exit)] =
    &[("group", Exit::Group), ("stonewall", Exit::Running), ("all", Exit::All)];

const SEQUENCERS: &[(&str, Sequencer)] =
    &[("sequential", Sequencer::Sequential), ("identical", Sequencer::Identical)];

/// Generators of random addresses, and whether each is the shift register.
const GENERATORS: &[(&str, bool)] =
    &[("tausworthe", false), ("lfsr", true), ("tausworthe64", false)];

const INTERFACES: &[(&str, Interface)] =
    &[("none", Interface::None), ("fdp", Interface::Fdp), ("streams", Interface::Streams)];

const SELECTS: &[(&str, Select)] =
    &[("roundrobin", Select::RoundRobin), ("random", Select::Random), ("scheme", Select::Scheme)];

const SUBMISSIONS: &[(&str, Submission)] =
    &[("inline", Submission::Inline), ("offload", Submission::Offload)];

/// Linux takes the hint as the number of a write stream, which is the placement index plus one (`blkdev_direct_IO`,
/// `nvme_setup_rw`).
const WRITE_HINTS: &[(&str, u16)] =
    &[("none", 0), ("short", 1), ("medium", 2), ("long", 3), ("extreme", 4)];

const SYNCS: &[(&str, bool)] =
    &[("none", false), ("0", false), ("sync", true), ("1", true), ("dsync", true)];

const RATE_PROCESSES: &[(&str, RateProcess)] =
    &[("linear", RateProcess::Linear), ("poisson", RateProcess::Poisson)];

const RW: &[(&str, (Direction, Order))] = &[
    ("read", (Direction::Read, Order::Sequential)),
    ("write", (Direction::Write, Order::Sequential)),
    ("trim", (Direction::Trim, Order::Sequential)),
    ("randread", (Direction::Read, Order::Random)),
    ("randwrite", (Direction::Write, Order::Random)),
    ("randtrim", (Direction::Trim, Order::Random)),
    ("rw", (Direction::ReadWrite, Order::Sequential)),
    ("readwrite", (Direction::ReadWrite, Order::Sequential)),
    ("randrw", (Direction::ReadWrite, Order::Random)),
    ("trimwrite", (Direction::TrimWrite, Order::Sequential)),
    ("randtrimwrite", (Direction::TrimWrite, Order::Random)),
];

/// Reads `rw`: direction and order, with the number of commands or the gap after a colon.
fn rw(s: &mut Settings, text: &str) -> Result<(), String> {
    let (kind, postfix) = match text.split_once(':') {
        Some((kind, postfix)) => (kind, Some(postfix.trim())),
        None => (text, None),
    };
    (s.direction, s.order) = value::word(kind, RW)?;
    let random = s.order == Order::Random;
    s.order_modifier = match postfix {
        None => i64::from(random),
        Some(text) if random => {
            let count = value::signed(text, s.kb_base, "a number")?;
            if !(1..=i64::from(u32::MAX)).contains(&count) {
                return Err(format!("{} is not a number of commands", quote(text)));
            }
            count
        }
        Some(text) => value::signed(text, s.kb_base, "a size")?,
    };
    Ok(())
}

fn filename(s: &mut Settings, v: &Value<'_>, _: &mut Context<'_>) -> Result<(), String> {
    engine::namespace(v.text()?)?;
    // A namespace has these two devices.
    s.filename = Some(v.text()?.trim().replace("/dev/ng", "/dev/nvme"));
    Ok(())
}

fn ioengine(s: &mut Settings, v: &Value<'_>, _: &mut Context<'_>) -> Result<(), String> {
    s.engine = engine::engine(v.text()?)?;
    Ok(())
}

fn bssplit(s: &mut Settings, v: &Value<'_>, _: &mut Context<'_>) -> Result<(), String> {
    let splits = v.read(distribution::bssplit)?;
    for (direction, new) in splits.into_iter().enumerate().filter(|(_, new)| !new.is_empty()) {
        s.bssplit[direction] = new;
        // `bssplit` and `bsrange` set the same bounds.
        s.bsrange[direction] = None;
    }
    Ok(())
}

fn random_distribution(s: &mut Settings, v: &Value<'_>, _: &mut Context<'_>) -> Result<(), String> {
    s.distribution = v.read(distribution::random_distribution)?;
    s.skewed = v.given != Some("random");
    Ok(())
}

#[cfg(test)]
mod tests;
