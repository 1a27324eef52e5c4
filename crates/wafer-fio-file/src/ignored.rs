//! Options of fio that do not change what is written: accepted, and reported with the reason.

/// The reason for the options of fio's profiles, which fio accepts everywhere.
pub(super) const PROFILE: &str = "belongs to a profile of fio";

/// The beginning of the reason for options that change how long a job takes with fio, but not here.
pub const NOT_SIMULATED: &str = "not simulated";

/// Each reason with its options. An option with a second name is spelled `name|alias`.
#[rustfmt::skip] // names fill the lines
pub(super) const IGNORED: &[(&str, &[&str])] = &[
    ("concerns reports and logs", &[
        "description", "ramp_size", "write_iolog", "per_job_logs", "write_bw_log",
        "write_lat_log", "write_iops_log", "log_entries", "log_avg_msec", "log_hist_msec",
        "log_hist_coarseness", "write_hist_log", "log_window_value|log_max_value", "log_offset",
        "log_prio", "log_issue_time", "log_compression", "log_compression_cpus",
        "log_store_compressed", "log_alternate_epoch|log_unix_epoch",
        "log_alternate_epoch_clock_id", "block_error_percentiles", "bwavgtime", "iopsavgtime",
        "stats", "clat_percentiles", "lat_percentiles", "slat_percentiles",
        "percentile_list", "significant_figures", "disk_util", "gtod_reduce", "disable_lat",
        "disable_clat", "disable_slat", "disable_bw_measurement|disable_bw", "gtod_cpu",
        "unified_rw_reporting", "unit_base",
    ]),
    ("concerns files of a file system; the job writes to a namespace", &[
        "filetype", "filename_format", "unique_filename", "lockfile", "file_append",
        "openfiles", "file_service_type", "fallocate", "fadvise_hint", "overwrite",
        "create_serialize", "create_fsync", "create_on_open", "allow_file_create", "unlink",
        "unlink_each_loop",
    ]),
    ("submitting and reaping commands takes no time", &[
        "iodepth_batch|iodepth_batch_submit", "iodepth_batch_complete_max",
    ]),
    ("concerns the host that runs fio", &[
        "serialize_overlap", "softrandommap", "direct", "atomic", "buffered", "clocksource",
        "mem|iomem", "iomem_align|mem_align", "exec_prerun", "exec_postrun", "ioscheduler",
        "lockmem", "comm", "nice", "prio", "prioclass", "priohint", "invalidate",
        "allow_mounted_write", "pre_read", "cpumask", "cpus_allowed", "cpus_allowed_policy",
        "numa_cpu_nodes", "numa_mem_policy", "gpu_dev_id", "thread", "job_start_clock_id", "cgroup",
        "cgroup_nodelete", "cgroup_weight", "uid", "gid", "hugepage-size",
    ]),
    ("without effect unless sprandom is set", &[
        "spr_num_regions", "spr_op", "spr_cs",
    ]),
    ("not simulated: waiting for the media after writes", &[
        "write_barrier", "sync_file_range", "end_syncfs",
    ]),
    ("not simulated: reading back what was written", &[
        "verify", "do_verify", "verify_policy", "verifysort", "verifysort_nr", "verify_interval",
        "verify_offset", "verify_pattern", "verify_pattern_interval", "verify_fatal", "verify_dump",
        "verify_async", "verify_backlog", "verify_backlog_batch", "verify_async_cpus",
        "experimental_verify", "verify_state_load", "verify_state_save", "verify_write_sequence",
        "verify_header_seed", "trim_verify_zero", "trim_backlog_batch",
    ]),
    ("without effect unless zonemode is set", &[
        "zonecapacity", "zonerange", "zoneskip", "read_beyond_wp", "max_open_zones",
        "job_max_open_zones", "ignore_zone_limits", "zone_reset_threshold", "zone_reset_frequency",
        "recover_zbd_write_error", "write_zone_remainder",
    ]),
    ("pauses are idle time after thinktime_blocks commands", &["thinktime_spin"]),
    ("rates are kept exactly", &["rate_ignore_thinktime"]),
    ("not simulated: ending a job that is too slow", &[
        "max_latency", "rate_min|ratemin", "rate_iops_min", "rate_cycle|ratecycle",
    ]),
    ("concerns errors and the end after them", &[
        "exitall_on_error", "continue_on_error", "ignore_error", "error_dump",
    ]),
    ("contents of the data do not matter", &[
        "zero_buffers", "refill_buffers", "scramble_buffers", "buffer_pattern",
        "buffer_compress_percentage", "buffer_compress_chunk", "dedupe_percentage", "dedupe_global",
        "dedupe_mode", "dedupe_working_set_percentage",
    ]),
    ("a job held back by its flow continues as soon as it may", &[
        "flow_watermark", "flow_sleep",
    ]),
    ("concerns the I/O engine of the host", &[
        "hipri", "readfua", "verify_mode", "fixedbufs", "registerfiles",
        "sqthread_poll", "sqthread_poll_cpu", "nonvectored", "uncached", "nowait", "force_async",
        "cmd_type", "cdb_len", "verify_bytchk", "read_mode", "md_per_io_size", "pi_act", "pi_chk",
        "apptag", "apptag_mask", "deac", "userspace_reap", "libaio_vectored", "hipri_percentage",
        "stream_id", "cmdprio_percentage", "cmdprio_class", "cmdprio_hint", "cmdprio",
        "cmdprio_bssplit", "xnvme_be", "xnvme_mem", "xnvme_async", "xnvme_sync", "xnvme_admin",
        "xnvme_dev_subnqn", "xnvme_iovec", "libblkio_driver", "libblkio_path",
        "libblkio_pre_connect_props", "libblkio_num_entries", "libblkio_queue_size",
        "libblkio_pre_start_props", "libblkio_vectored", "libblkio_write_zeroes_on_trim",
        "libblkio_wait_mode", "libblkio_force_enable_completion_eventfd", "no_completion_thread",
        "thp", "skip_bad", "uri", "clustername", "rbdname", "pool", "clientname", "busy_poll",
        "rbd_encryption_format", "rbd_encryption_passphrase", "conf", "touch_objects",
        "gpu_dev_ids", "cuda_io", "rocm_io", "initiator",
    ]),
    (PROFILE, &[
        "device-names", "load", "test-duration", "threads-per-queue", "read-req-num-512-blocks",
        "large-block-op-kbytes", "prep", "block", "numruns", "dir", "threads",
    ]),
];
