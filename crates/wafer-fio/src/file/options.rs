//! Every option of fio, each one value: its name, what it means here, and how it is read.
//!
//! To add or change an option, edit its line in [`OPTIONS`], and add a field to [`Settings`] where it needs
//! one. The list follows the order of fio's `options.c` (3.42, with the names that older versions print),
//! with the options of the I/O engines that write to block devices and those of its profiles. Options of
//! other engines are not listed: such an engine is refused itself.

use super::distribution;
use super::engine::{self, Engine};
use super::error::{Origin, quote};
use super::nearest::nearest;
use super::placement::{self, Interface, Select};
use super::settings::{Context, IODEPTH_MAX, MAX_JOBS, Settings};
use super::value;
use crate::job::{DIRECTIONS, Direction, Order, Sequencer};

/// The value of an option line.
pub(super) struct Value<'a> {
    /// The text after `=`, if there is one.
    pub(super) given: Option<&'a str>,
    /// Place of the line.
    pub(super) at: &'a Origin,
    /// Bytes of the unit k.
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
    /// Refused: it would change what is written. The values listed switch it off.
    Refused(&'static [&'static str]),
    /// Refused by fio itself.
    Removed,
}

/// One option.
#[derive(Clone, Copy)]
pub(super) struct FioOption {
    pub(super) name: &'static str,
    /// The other spelling; empty: none.
    pub(super) alias: &'static str,
    /// What the option does here, or why it is ignored or refused.
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

const fn skip(name: &'static str, alias: &'static str, meaning: &'static str) -> FioOption {
    FioOption { name, alias, meaning, effect: Effect::None }
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

/// Zero switches most options off.
const OFF: &[&str] = &["0"];

const REPORT: &str = "concerns reports and logs";
const FILES: &str = "concerns files of a file system; the job writes to a namespace";
const HOST: &str = "concerns the host that runs fio";
const ENGINE: &str = "concerns the I/O engine of the host";
const BATCH: &str = "submission in batches is not modelled";
const CONTENT: &str = "contents of the data do not matter";
const VERIFY: &str = "verification reads and writes nothing";
const FLUSH: &str = "flushes write nothing";
const FINISH: &str = "concerns errors and the end after them";
const RATE: &str = "rates are kept exactly";
const LATENCY: &str = "without effect unless latency_target is set";
const SPR: &str = "without effect unless sprandom is set";
const THINK: &str = "pauses are idle time after thinktime_blocks commands";
const FLOW: &str = "without effect unless flow is set";
const NO_ZONES: &str = "without effect unless zonemode is set";
const ZONES: &str = "zones are not supported";
/// fio accepts the options of its profiles everywhere.
const PROFILE: &str = "belongs to a profile of fio";
const REPLAY: &str = "a trace, not a job: give it to the trace reader";

/// All options.
#[rustfmt::skip] // one option, one line
pub(super) const OPTIONS: &[FioOption] = &[
    skip("description", "", REPORT),
    yes("name", "", "Name of the job, in results and for `wait_for`", |s, v, _| { s.name = Some(v.filled()?); Ok(()) }),
    yes("wait_for", "", "Starts the job when the named job has ended", |s, v, _| { s.wait_for = Some(v.filled()?); Ok(()) }),
    yes("filename", "", "Chooses the namespace by its number; not opened", |s, v, _| { s.namespace = Some(engine::namespace(v.text()?)?); Ok(()) }),
    skip("filetype", "", FILES),
    skip("directory", "", FILES),
    skip("filename_format", "", FILES),
    skip("unique_filename", "", FILES),
    skip("lockfile", "", FILES),
    no("opendir", "", &[], "names many files; one namespace is supported"),
    yes("rw", "readwrite", "Direction and order of the commands", |s, v, _| rw(s, v.text()?)),
    yes("rw_sequencer", "", "Addresses within a group of `rw=...:N` commands", |s, v, _| {
        let words = [("sequential", Sequencer::Sequential), ("identical", Sequencer::Identical)];
        s.sequencer = value::word(v.text()?, &words)?;
        Ok(())
    }),
    yes("ioengine", "", "Decides whether `iodepth` commands are in flight or one", |s, v, context| {
        s.engine = engine::engine(v.text()?)?;
        if s.engine == Engine::Asynchronous {
            context.ignore("ioengine", v.at, "the device is modelled, not the host");
        }
        Ok(())
    }),
    yes("iodepth", "", "Commands in flight: the weight of the job in a closed loop", |s, v, _| { s.iodepth = value::integer(v.text()?, v.kb, 1, IODEPTH_MAX)?; Ok(()) }),
    skip("iodepth_batch", "iodepth_batch_submit", BATCH),
    skip("iodepth_batch_complete_min", "iodepth_batch_complete", BATCH),
    skip("iodepth_batch_complete_max", "", BATCH),
    skip("iodepth_low", "", BATCH),
    skip("serialize_overlap", "", HOST),
    skip("io_submit_mode", "", BATCH),
    yes("size", "", "Bytes that the job covers, or a share of its namespace", |s, v, _| { s.size = Some(value::amount(v.text()?, v.kb)?); Ok(()) }),
    yes("io_size", "io_limit", "Bytes that the job transfers", |s, v, _| { s.io_size = Some(value::amount(v.text()?, v.kb)?); Ok(()) }),
    yes("fill_device", "fill_fs", "Covers the whole namespace", |s, v, _| { s.fill_device = value::boolean(v.text()?)?; Ok(()) }),
    yes("filesize", "", "Bytes that the job covers, where `size` is not given", |s, v, _| { s.filesize = Some(value::value_or_range(v.text()?, |t| value::size_above_zero(t, v.kb))?); Ok(()) }),
    skip("file_append", "", FILES),
    yes("offset", "fileoffset", "First byte of the job", |s, v, _| { s.offset = value::amount(v.text()?, v.kb)?; Ok(()) }),
    yes("offset_align", "", "Alignment of the first byte", |s, v, _| { s.offset_align = Some(value::size_above_zero(v.text()?, v.kb)?); Ok(()) }),
    yes("offset_increment", "", "Distance between the first bytes of clones", |s, v, _| { s.offset_increment = value::amount(v.text()?, v.kb)?; Ok(()) }),
    yes("number_ios", "", "Commands after which the job ends", |s, v, _| { s.number_ios = value::unsigned(v.text()?, v.kb, "a number")?; Ok(()) }),
    no("num_range", "", &["1"], "trim commands of several ranges are not supported"),
    yes("bs", "blocksize", "Bytes of a command, by direction", |s, v, _| merge(&mut s.bs, v.text()?, |t| value::size_above_zero(t, v.kb))),
    yes("ba", "blockalign", "Alignment of random commands, by direction", |s, v, _| merge(&mut s.blockalign, v.text()?, |t| value::size_above_zero(t, v.kb).map(Some))),
    yes("bsrange", "blocksize_range", "Least and most bytes of a command, by direction", |s, v, _| {
        let range = |t: &str| value::range(t, |t| value::size_above_zero(t, v.kb));
        let ranges = value::per_direction(v.text()?, value::COMMA, range)?;
        for (old, new) in s.bsrange.iter_mut().zip(ranges) {
            *old = new.or(*old);
        }
        Ok(())
    }),
    yes("bssplit", "", "Sizes of commands with their shares, by direction", |s, v, _| {
        let splits = distribution::bssplit(v.text()?, v.kb)?;
        for (direction, new) in splits.into_iter().enumerate() {
            if !new.is_empty() {
                s.bssplit[direction] = new;
                // Both set the same bounds.
                s.bsrange[direction] = None;
            }
        }
        Ok(())
    }),
    yes("bs_unaligned", "blocksize_unaligned", "Sizes of a range need not be multiples of the least", |s, v, _| { s.bs_unaligned = v.flag()?; Ok(()) }),
    no("bs_is_seq_rand", "", OFF, "block sizes by order instead of direction are not supported"),
    yes("randrepeat", "allrandrepeat", "Draws the same random numbers in every pass", |s, v, _| { s.random_repeat = value::boolean(v.text()?)?; Ok(()) }),
    yes("randseed", "", "Random seed of the job", |s, v, _| { s.seed = Some(value::unsigned(v.text()?, v.kb, "a number")?); Ok(()) }),
    yes("norandommap", "", "Draws addresses without visiting every block once", |s, v, _| { s.norandommap = v.flag()?; Ok(()) }),
    skip("softrandommap", "", HOST),
    no("sprandom", "", OFF, "the SPRandom address order is not supported"),
    skip("spr_num_regions", "", SPR),
    skip("spr_op", "", SPR),
    skip("spr_cs", "", SPR),
    yes("random_generator", "", "Generator of random addresses; `lfsr` visits every block once without a map", |s, v, _| {
        let words = [("tausworthe", false), ("lfsr", true), ("tausworthe64", false)];
        s.lfsr = value::word(v.text()?, &words)?;
        Ok(())
    }),
    yes("random_distribution", "", "Distribution of random addresses", |s, v, _| {
        s.distribution = distribution::random_distribution(v.text()?, v.kb)?;
        s.skewed = v.given != Some("random");
        Ok(())
    }),
    no("random_sequence_stride", "", OFF, "`random_distribution=sequence` is not supported"),
    yes("percentage_random", "", "Share of random commands, by direction", |s, v, _| merge(&mut s.percent_random, v.text()?, |t| value::percent(t, v.kb))),
    gone("percentage_sequential", "use percentage_random"),
    yes("nrfiles", "nr_files", "Number of files; one is supported", |s, v, _| { s.nrfiles = value::integer(v.text()?, v.kb, 0, u32::MAX)?; Ok(()) }),
    skip("openfiles", "", FILES),
    skip("file_service_type", "", FILES),
    skip("fallocate", "", FILES),
    skip("fadvise_hint", "", FILES),
    skip("fsync", "", FLUSH),
    skip("fdatasync", "", FLUSH),
    skip("write_barrier", "", FLUSH),
    skip("sync_file_range", "", FLUSH),
    skip("direct", "", HOST),
    skip("atomic", "", HOST),
    skip("buffered", "", HOST),
    skip("overwrite", "", FILES),
    yes("loops", "", "Number of passes", |s, v, _| { s.loops = value::integer(v.text()?, v.kb, 0, u32::MAX)?; Ok(()) }),
    yes("numjobs", "", "Number of clones of the job", |s, v, _| { s.numjobs = value::integer(v.text()?, v.kb, 1, MAX_JOBS)?; Ok(()) }),
    yes("startdelay", "", "Model time at which the job starts", |s, v, _| { s.start_delay_us = value::value_or_range(v.text()?, |t| value::time_us(t, true))?.0; Ok(()) }),
    yes("runtime", "timeout", "Model time after which the job ends", |s, v, _| { s.runtime_us = value::time_us(v.text()?, true)?; Ok(()) }),
    yes("time_based", "", "Begins again until `runtime` is over", |s, v, _| { s.time_based = v.flag()?; Ok(()) }),
    no("verify_only", "", OFF, "nothing would be written"),
    yes("ramp_time", "", "Model time before `runtime` counts", |s, v, _| { s.ramp_us = value::time_us(v.text()?, true)?; Ok(()) }),
    skip("ramp_size", "", REPORT),
    skip("clocksource", "", HOST),
    skip("mem", "iomem", HOST),
    skip("iomem_align", "mem_align", HOST),
    skip("verify", "", VERIFY),
    skip("do_verify", "", VERIFY),
    skip("verify_policy", "", VERIFY),
    skip("verifysort", "", VERIFY),
    skip("verifysort_nr", "", VERIFY),
    skip("verify_interval", "", VERIFY),
    skip("verify_offset", "", VERIFY),
    skip("verify_pattern", "", VERIFY),
    skip("verify_pattern_interval", "", VERIFY),
    skip("verify_fatal", "", VERIFY),
    skip("verify_dump", "", VERIFY),
    skip("verify_async", "", VERIFY),
    skip("verify_backlog", "", VERIFY),
    skip("verify_backlog_batch", "", VERIFY),
    skip("verify_async_cpus", "", VERIFY),
    skip("experimental_verify", "", VERIFY),
    skip("verify_state_load", "", VERIFY),
    skip("verify_state_save", "", VERIFY),
    skip("verify_write_sequence", "", VERIFY),
    skip("verify_header_seed", "", VERIFY),
    no("trim_percentage", "", OFF, "trims between verifications are not supported"),
    skip("trim_verify_zero", "", VERIFY),
    no("trim_backlog", "", OFF, "trims between verifications are not supported"),
    skip("trim_backlog_batch", "", VERIFY),
    skip("write_iolog", "", REPORT),
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
    skip("exec_prerun", "", HOST),
    skip("exec_postrun", "", HOST),
    skip("ioscheduler", "", HOST),
    no("zonemode", "", &["none"], ZONES),
    no("zonesize", "", OFF, ZONES),
    skip("zonecapacity", "", NO_ZONES),
    skip("zonerange", "", NO_ZONES),
    skip("zoneskip", "", NO_ZONES),
    skip("read_beyond_wp", "", NO_ZONES),
    skip("max_open_zones", "", NO_ZONES),
    skip("job_max_open_zones", "", NO_ZONES),
    skip("ignore_zone_limits", "", NO_ZONES),
    skip("zone_reset_threshold", "", NO_ZONES),
    skip("zone_reset_frequency", "", NO_ZONES),
    skip("recover_zbd_write_error", "", NO_ZONES),
    skip("write_zone_remainder", "", NO_ZONES),
    yes("fdp", "", "Enables placement directives", |s, v, _| { s.placement.fdp = value::boolean(v.text()?)?; Ok(()) }),
    yes("dataplacement", "data_placement", "Enables placement directives by name", |s, v, _| {
        let words =
            [("none", Interface::None), ("fdp", Interface::Fdp), ("streams", Interface::Streams)];
        s.placement.interface = Some(value::word(v.text()?, &words)?);
        Ok(())
    }),
    yes("plid_select", "fdp_pli_select", "Choice among `plids`", |s, v, _| {
        let words = [
            ("roundrobin", Select::RoundRobin),
            ("random", Select::Random),
            ("scheme", Select::Scheme),
        ];
        s.placement.select = value::word(v.text()?, &words)?;
        Ok(())
    }),
    yes("plids", "fdp_pli", "Placement handles of the job", |s, v, _| { s.placement.plids = placement::plids(v.text()?)?; Ok(()) }),
    yes("dp_scheme", "", "File of address ranges with their placement handles", |s, v, _| { s.placement.scheme = Some(placement::scheme(&v.at.file, v.text()?)?); Ok(()) }),
    skip("lockmem", "", HOST),
    yes("rwmixread", "", "Share of reads, in percent", |s, v, _| { s.read_percent = value::percent(v.text()?, v.kb)?; Ok(()) }),
    yes("rwmixwrite", "", "Share of writes, in percent", |s, v, _| { s.read_percent = 100 - value::percent(v.text()?, v.kb)?; Ok(()) }),
    gone("rwmixcycle", "without replacement"),
    skip("comm", "", HOST),
    skip("nice", "", HOST),
    skip("prio", "", HOST),
    skip("prioclass", "", HOST),
    skip("priohint", "", HOST),
    yes("thinktime", "", "Pause after `thinktime_blocks` commands", |s, v, _| { s.thinktime_us = value::time_us(v.text()?, false)?; Ok(()) }),
    skip("thinktime_spin", "", THINK),
    skip("thinkcycles", "", THINK),
    yes("thinktime_blocks", "", "Commands between two pauses", |s, v, _| { s.thinktime_blocks = value::integer(v.text()?, v.kb, 1, u32::MAX)?; Ok(()) }),
    skip("thinktime_blocks_type", "", THINK),
    no("thinktime_iotime", "", OFF, "pauses after a time instead of a number of commands are not supported"),
    yes("rate", "", "Most bytes a second, by direction", |s, v, _| merge(&mut s.rate, v.text()?, |t| value::unsigned(t, v.kb, "a rate"))),
    skip("rate_min", "ratemin", RATE),
    yes("rate_iops", "", "Most commands a second, by direction", |s, v, _| merge(&mut s.rate_iops, v.text()?, |t| value::integer(t, v.kb, 0, u32::MAX))),
    skip("rate_iops_min", "", RATE),
    skip("rate_process", "", RATE),
    skip("rate_cycle", "ratecycle", RATE),
    skip("rate_ignore_thinktime", "", RATE),
    skip("max_latency", "", FINISH),
    no("latency_target", "", OFF, "a queue depth that follows the latency is not supported"),
    skip("latency_window", "", LATENCY),
    skip("latency_percentile", "", LATENCY),
    skip("latency_run", "", LATENCY),
    skip("invalidate", "", HOST),
    skip("sync", "", FLUSH),
    no("write_hint", "", &["none"], "write lifetime hints are not supported; use `fdp` and `plids`"),
    skip("create_serialize", "", FILES),
    skip("create_fsync", "", FILES),
    skip("create_on_open", "", FILES),
    no("create_only", "", OFF, "nothing would be written"),
    skip("allow_file_create", "", FILES),
    skip("allow_mounted_write", "", HOST),
    skip("pre_read", "", HOST),
    skip("cpumask", "", HOST),
    skip("cpus_allowed", "", HOST),
    skip("cpus_allowed_policy", "", HOST),
    skip("numa_cpu_nodes", "", HOST),
    skip("numa_mem_policy", "", HOST),
    skip("gpu_dev_id", "", HOST),
    skip("end_fsync", "", FLUSH),
    skip("fsync_on_close", "", FLUSH),
    skip("end_syncfs", "", FLUSH),
    skip("unlink", "", FILES),
    skip("unlink_each_loop", "", FILES),
    yes("exitall", "", "Ends all jobs with the first; only where that changes nothing", |s, v, _| { s.exitall = v.flag()?; Ok(()) }),
    skip("exit_what", "", FINISH),
    skip("exitall_on_error", "", FINISH),
    yes("stonewall", "wait_for_previous", "Starts the job when all jobs before it have ended", |s, v, _| { s.stonewall = v.flag()?; Ok(()) }),
    skip("new_group", "", REPORT),
    skip("thread", "", HOST),
    skip("per_job_logs", "", REPORT),
    skip("write_bw_log", "", REPORT),
    skip("write_lat_log", "", REPORT),
    skip("write_iops_log", "", REPORT),
    skip("log_entries", "", REPORT),
    skip("log_avg_msec", "", REPORT),
    skip("log_hist_msec", "", REPORT),
    skip("log_hist_coarseness", "", REPORT),
    skip("write_hist_log", "", REPORT),
    skip("log_window_value", "log_max_value", REPORT),
    skip("log_offset", "", REPORT),
    skip("log_prio", "", REPORT),
    skip("log_issue_time", "", REPORT),
    skip("log_compression", "", REPORT),
    skip("log_compression_cpus", "", REPORT),
    skip("log_store_compressed", "", REPORT),
    skip("log_alternate_epoch", "log_unix_epoch", REPORT),
    skip("log_alternate_epoch_clock_id", "", REPORT),
    skip("block_error_percentiles", "", REPORT),
    skip("bwavgtime", "", REPORT),
    skip("iopsavgtime", "", REPORT),
    skip("group_reporting", "", REPORT),
    skip("stats", "", REPORT),
    skip("zero_buffers", "", CONTENT),
    skip("refill_buffers", "", CONTENT),
    skip("scramble_buffers", "", CONTENT),
    skip("buffer_pattern", "", CONTENT),
    skip("buffer_compress_percentage", "", CONTENT),
    skip("buffer_compress_chunk", "", CONTENT),
    skip("dedupe_percentage", "", CONTENT),
    skip("dedupe_global", "", CONTENT),
    skip("dedupe_mode", "", CONTENT),
    skip("dedupe_working_set_percentage", "", CONTENT),
    skip("clat_percentiles", "", REPORT),
    skip("lat_percentiles", "", REPORT),
    skip("slat_percentiles", "", REPORT),
    skip("percentile_list", "", REPORT),
    skip("significant_figures", "", REPORT),
    skip("disk_util", "", REPORT),
    skip("gtod_reduce", "", REPORT),
    skip("disable_lat", "", REPORT),
    skip("disable_clat", "", REPORT),
    skip("disable_slat", "", REPORT),
    skip("disable_bw_measurement", "disable_bw", REPORT),
    skip("gtod_cpu", "", REPORT),
    skip("job_start_clock_id", "", HOST),
    skip("unified_rw_reporting", "", REPORT),
    skip("continue_on_error", "", FINISH),
    skip("ignore_error", "", FINISH),
    skip("error_dump", "", FINISH),
    no("profile", "", &[], "built-in profiles are not supported"),
    skip("cgroup", "", HOST),
    skip("cgroup_nodelete", "", HOST),
    skip("cgroup_weight", "", HOST),
    skip("uid", "", HOST),
    skip("gid", "", HOST),
    yes("kb_base", "", "Bytes of the unit k, 1000 or 1024; read before other options", |s, v, _| { s.kb_base = value::word(v.text()?, &[("1024", 1024), ("1000", 1000)])?; Ok(()) }),
    skip("unit_base", "", REPORT),
    skip("hugepage-size", "", HOST),
    skip("flow_id", "", FLOW),
    no("flow", "", OFF, "shares between jobs by flow are not supported; use --pace"),
    skip("flow_watermark", "", FLOW),
    skip("flow_sleep", "", FLOW),
    skip("steadystate", "ss", REPORT),
    no("steadystate_duration", "ss_dur", OFF, "an end by steady state is not supported; use --volume"),
    skip("steadystate_ramp_time", "ss_ramp", REPORT),
    skip("steadystate_check_interval", "ss_interval", REPORT),
    // Options of I/O engines.
    skip("hipri", "", ENGINE),
    skip("readfua", "", ENGINE),
    skip("writefua", "", ENGINE),
    no("write_mode", "", &["write"], "commands that write no data are not supported"),
    skip("verify_mode", "", ENGINE),
    skip("fixedbufs", "", ENGINE),
    skip("registerfiles", "", ENGINE),
    skip("sqthread_poll", "", ENGINE),
    skip("sqthread_poll_cpu", "", ENGINE),
    skip("nonvectored", "", ENGINE),
    skip("uncached", "", ENGINE),
    skip("nowait", "", ENGINE),
    skip("force_async", "", ENGINE),
    skip("cmd_type", "", ENGINE),
    skip("cdb_len", "", ENGINE),
    skip("verify_bytchk", "", ENGINE),
    skip("read_mode", "", ENGINE),
    skip("md_per_io_size", "", ENGINE),
    skip("pi_act", "", ENGINE),
    skip("pi_chk", "", ENGINE),
    skip("apptag", "", ENGINE),
    skip("apptag_mask", "", ENGINE),
    skip("deac", "", ENGINE),
    skip("userspace_reap", "", ENGINE),
    skip("libaio_vectored", "", ENGINE),
    skip("hipri_percentage", "", ENGINE),
    no("sg_write_mode", "", &["write"], "commands that write no data are not supported"),
    skip("stream_id", "", ENGINE),
    skip("cmdprio_percentage", "", ENGINE),
    skip("cmdprio_class", "", ENGINE),
    skip("cmdprio_hint", "", ENGINE),
    skip("cmdprio", "", ENGINE),
    skip("cmdprio_bssplit", "", ENGINE),
    skip("xnvme_be", "", ENGINE),
    skip("xnvme_mem", "", ENGINE),
    skip("xnvme_async", "", ENGINE),
    skip("xnvme_sync", "", ENGINE),
    skip("xnvme_admin", "", ENGINE),
    yes("xnvme_dev_nsid", "", "Chooses the namespace; goes before `filename`", |s, v, _| {
        let text = v.text()?;
        let nsid = engine::nsid(text);
        s.nsid = Some(nsid.ok_or_else(|| format!("{} is no namespace", quote(text)))?);
        Ok(())
    }),
    skip("xnvme_dev_subnqn", "", ENGINE),
    skip("xnvme_iovec", "", ENGINE),
    skip("libblkio_driver", "", ENGINE),
    skip("libblkio_path", "", ENGINE),
    skip("libblkio_pre_connect_props", "", ENGINE),
    skip("libblkio_num_entries", "", ENGINE),
    skip("libblkio_queue_size", "", ENGINE),
    skip("libblkio_pre_start_props", "", ENGINE),
    skip("libblkio_vectored", "", ENGINE),
    skip("libblkio_write_zeroes_on_trim", "", ENGINE),
    skip("libblkio_wait_mode", "", ENGINE),
    skip("libblkio_force_enable_completion_eventfd", "", ENGINE),
    skip("no_completion_thread", "", ENGINE),
    skip("thp", "", ENGINE),
    skip("skip_bad", "", ENGINE),
    skip("uri", "", ENGINE),
    skip("clustername", "", ENGINE),
    skip("rbdname", "", ENGINE),
    skip("pool", "", ENGINE),
    skip("clientname", "", ENGINE),
    skip("busy_poll", "", ENGINE),
    skip("rbd_encryption_format", "", ENGINE),
    skip("rbd_encryption_passphrase", "", ENGINE),
    skip("conf", "", ENGINE),
    skip("touch_objects", "", ENGINE),
    skip("gpu_dev_ids", "", ENGINE),
    skip("cuda_io", "", ENGINE),
    skip("rocm_io", "", ENGINE),
    skip("initiator", "", ENGINE),
    // Options of the profiles `act` and `tiobench`.
    skip("device-names", "", PROFILE),
    skip("load", "", PROFILE),
    skip("test-duration", "", PROFILE),
    skip("threads-per-queue", "", PROFILE),
    skip("read-req-num-512-blocks", "", PROFILE),
    skip("large-block-op-kbytes", "", PROFILE),
    skip("prep", "", PROFILE),
    skip("block", "", PROFILE),
    skip("numruns", "", PROFILE),
    skip("dir", "", PROFILE),
    skip("threads", "", PROFILE),
];

/// Returns the option of a name or alias.
pub(super) fn find(name: &str) -> Option<&'static FioOption> {
    OPTIONS.iter().find(|o| o.name == name || (!o.alias.is_empty() && o.alias == name))
}

/// Returns the message for a name that no option has.
pub(super) fn unknown(name: &str) -> String {
    let own = OPTIONS.iter().filter(|o| o.meaning != PROFILE);
    let names = own.flat_map(|o| [o.name, o.alias]).filter(|n| !n.is_empty());
    match nearest(name, names) {
        Some(near) => format!("fio has no such option; did you mean {}?", quote(near)),
        None => "fio has no such option".into(),
    }
}

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
        None if random => 1,
        None => 0,
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

/// Replaces the values of the directions that a list mentions.
fn merge<T: Copy>(
    values: &mut [T; DIRECTIONS],
    text: &str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<(), String> {
    let new = value::per_direction(text, value::NUMBERS, parse)?;
    for (old, new) in values.iter_mut().zip(new) {
        *old = new.unwrap_or(*old);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
