//! Broken job files: each gives one line that names file, line and option. No text causes a panic.

use std::fmt::Write as _;

use proptest::prelude::*;
use wafer_fio_file::{FioError, JobFile, Jobs, Target};

fn target() -> Target {
    Target {
        namespace_bytes: vec![1 << 40, 1 << 30],
        namespace_handles: vec![8, 1],
        page_bytes: 4096,
    }
}

fn resolve(text: &str) -> Result<Jobs, FioError> {
    let variables = |name: &str| (name == "BS").then(|| "64k".to_owned());
    JobFile::parse(text, "job.fio")?.resolve_with(&target(), &variables)
}

/// Title and text of job files that cannot be used.
const BROKEN: &[(&str, &str)] = &[
    ("empty file", ""),
    ("only comments", "; nothing\n# here\n"),
    ("no jobs", "[global]\nrw=write\n"),
    ("option before any section", "rw=write\n[a]\n"),
    ("header without its end", "[a\nrw=write\n"),
    ("unknown option", "[a]\nblocksise=4k\n"),
    ("unknown option, nothing near", "[a]\nqwertyuiopasdf=1\n"),
    ("no name", "[a]\n=4k\n"),
    ("size with text behind", "[a]\nrw=write\nbs=4q\n"),
    ("blank after =", "[a]\nbs = 4k\n"),
    ("blank before a word", "[a]\nrw = write\n"),
    ("fraction", "[a]\nsize=1.5g\n"),
    ("empty value", "[a]\nbs=\n"),
    ("variable that is not set", "[a]\nbs=${NO_SUCH_VARIABLE}\n"),
    ("no value", "[a]\niodepth\n"),
    ("zero block", "[a]\nbs=0\n"),
    ("negative size", "[a]\nsize=-4k\n"),
    ("2^64", "[a]\nsize=18446744073709551616\n"),
    ("overflow by the unit", "[a]\nsize=99999999p\n"),
    ("overflow of an expression", "[a]\nsize=(9^99999999)\n"),
    ("division by zero", "[a]\nsize=(1/0)\n"),
    ("size in percent above 100", "[a]\nsize=150%\n"),
    ("io_size in percent above 100", "[a]\nio_size=200%\n"),
    ("block in percent", "[a]\nbs=10%\n"),
    ("size in zones", "[a]\nsize=3z\n"),
    ("block that is no sector", "[a]\nbs=1000\n"),
    ("four block sizes", "[a]\nbs=4k,4k,4k,4k\n"),
    ("range of one", "[a]\nbsrange=4k\n"),
    ("shares above 100", "[a]\nbssplit=4k/60:8k/60\n"),
    ("range after a split", "[a]\nrw=write\nbssplit=4k/50:8k\nbsrange=4k-16k\n"),
    ("share that is none", "[a]\nbssplit=4k/lots\n"),
    ("size beyond the namespace", "[a]\nsize=2t\n"),
    ("filesize beyond the namespace", "[a]\nfilesize=2t\n"),
    ("offset beyond the namespace", "[a]\nrw=write\n\noffset=1t\n"),
    ("random job beyond the namespace", "[a]\nrw=randwrite\noffset=900g\nsize=200g\n"),
    ("clone beyond the namespace", "[a]\nrw=write\nsize=1g\nnumjobs=4\noffset_increment=400g\n"),
    ("region without a block", "[a]\nbs=1m\nsize=64k\n"),
    ("offset that is no sector", "[a]\noffset=100\n"),
    ("no such namespace", "[global]\nfilename=/dev/ng0n3\n[a]\nrw=write\n"),
    ("two files", "[a]\nfilename=/dev/nvme0n1:/dev/nvme1n1\n"),
    ("partition", "[a]\nfilename=/dev/nvme0n1p2\n"),
    ("unknown direction", "[a]\nreadwrite=overwrite\n"),
    ("direction with a wrong count", "[a]\nrw=randwrite:0\n"),
    ("mix above 100", "[a]\nrwmixread=101\n"),
    ("zero depth", "[a]\niodepth=0\n"),
    ("huge numjobs", "[a]\nnumjobs=4294967295\n"),
    ("no clones", "[a]\nnumjobs=0\n"),
    ("too many jobs", "[global]\nnumjobs=3000\n[a]\n[b]\n"),
    ("boolean that is none", "[a]\nfdp=yes\n"),
    ("flag with a word", "[a]\nnorandommap=yes\n"),
    ("time with a wrong unit", "[a]\nruntime=60sec\n"),
    ("zipf of 1", "[a]\nrandom_distribution=zipf:1.0\n"),
    ("zones below 100", "[a]\nrandom_distribution=zoned:50/5:30/15\n"),
    (
        "zones larger than the region",
        "[a]\nrw=randwrite\nsize=1g\nrandom_distribution=zoned_abs:90/1g:10/1g\n",
    ),
    (
        "lfsr and zones",
        "[a]\nrw=randwrite\nrandom_generator=lfsr\nrandom_distribution=zoned:100/\n",
    ),
    ("unknown distribution", "[a]\nrandom_distribution=gauss:3\n"),
    ("placement index too large", "[a]\nfdp=1\nfdp_pli=0,8\n"),
    ("placement index of a namespace with one", "[a]\nfilename=/dev/ng0n2\nfdp=1\nplids=1\n"),
    ("placement index that is none", "[a]\nfdp=1\nplids=a\n"),
    ("fdp and streams", "[a]\nfdp=1\ndataplacement=streams\n"),
    ("streams", "[a]\ndataplacement=streams\nplids=1\n"),
    ("scheme without its file", "[a]\nfdp=1\nplid_select=scheme\n"),
    ("scheme file missing", "[a]\nfdp=1\nplid_select=scheme\ndp_scheme=no-such-file\n"),
    ("two rates", "[a]\nrate=1m\nrate_iops=100\n"),
    ("include missing", "[a]\ninclude no-such-file.inc\n"),
    ("zoned device", "[a]\nzonemode=zbd\n"),
    ("trace", "[a]\nread_iolog=trace.log\n"),
    ("a weight above the limit", "[a]\nflow=2\n[b]\nflow=1001\n"),
    ("latency percentile", "[a]\nlatency_target=50us\nlatency_percentile=101\n"),
    ("steady state without a limit", "[a]\nsteadystate=iops\n"),
    ("steady state of nothing known", "[a]\nsteadystate=iosp:1%\n"),
    ("steady state in part of an interval", "[a]\nss_dur=5\nss_interval=2\n"),
    ("steady state by intervals too short", "[a]\nss_dur=5\nss_interval=100ms\n"),
    (
        "steady states of a group",
        "[a]\ngroup_reporting=1\nss_dur=5\n[b]\ngroup_reporting=1\nss_dur=6\n",
    ),
    ("several files", "[a]\nnrfiles=4\n"),
    ("sizes by order", "[a]\nbs_is_seq_rand=1\n"),
    ("write hint", "[a]\nwrite_hint=shrot\n"),
    ("engine without a device", "[a]\nioengine=cpuio\n"),
    ("engine misspelt", "[a]\nioengine=io_urnig\n"),
    ("removed option", "[a]\nrwmixcycle=100\n"),
    ("memory of the machine", "[a]\nsize=2*$mb_memory\n"),
    ("keyword in a wrong expression", "[a]\nbs=$pagesize*\n"),
    ("waits for itself", "[a]\nwait_for=a\n"),
    ("waits for nobody", "[a]\nrw=write\nwait_for=b\n[b]\n"),
    ("waits for one of several", "[a]\n[b]\n[c]\nwait_for=a\n"),
    ("fills at random", "[a]\nrw=randwrite\nfill_device=1\n"),
    ("control characters", "[a]\nbs=\u{1}\u{7}x\r4\n"),
];

#[test]
fn messages_of_broken_files() {
    let mut all = String::new();
    for (title, text) in BROKEN {
        match resolve(text) {
            Err(error) => {
                let message = error.to_string();
                assert_eq!(message.lines().count(), 1, "{title}: {message}");
                assert!(message.starts_with("job.fio:"), "{title}: {message}");
                writeln!(all, "{title}\n    {message}").unwrap();
            }
            Ok(jobs) => panic!("{title}: is accepted: {jobs:?}"),
        }
    }
    insta::assert_snapshot!(all);
}

#[test]
fn messages_of_files_that_cannot_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    std::fs::write(path("latin.fio"), b"[a]\nrw=write\n; caf\xe9\n").unwrap();
    std::fs::write(path("large.fio"), vec![b'\n'; (1 << 20) + 1]).unwrap();
    std::fs::write(path("loop.fio"), "[a]\ninclude loop.fio\n").unwrap();
    std::fs::write(path("sections.fio"), "[a]\ninclude sections.inc\n").unwrap();
    std::fs::write(path("sections.inc"), "bs=4k\n[b]\n").unwrap();
    std::fs::write(path("value.fio"), "[a]\nrw=write\ninclude value.inc\n").unwrap();
    std::fs::write(path("value.inc"), "; comment\nbs=4q\n").unwrap();
    std::fs::write(path("scheme.fio"), "[a]\nfdp=1\nplid_select=scheme\ndp_scheme=s\n").unwrap();
    std::fs::write(path("s"), "0,1,2\n0;1;2\n").unwrap();
    std::fs::write(path("long.fio"), format!("[a]\n;{}\n", "x".repeat(9000))).unwrap();
    let mut all = String::new();
    let names = [
        "missing.fio",
        "",
        "latin.fio",
        "large.fio",
        "loop.fio",
        "sections.fio",
        "value.fio",
        "scheme.fio",
        "long.fio",
    ];
    for name in names {
        let error = JobFile::read(path(name)).and_then(|f| f.resolve(&target())).unwrap_err();
        let message = error.to_string();
        assert_eq!(message.lines().count(), 1, "{message}");
        let directory = dir.path().display().to_string();
        writeln!(all, "{}", message.replace(&directory, "DIR")).unwrap();
    }
    insta::assert_snapshot!(all);
}

/// Checks that reading `text` gives jobs or a one-line error.
fn one_line_or_jobs(text: &str) {
    match resolve(text) {
        Ok(jobs) => {
            for job in jobs.jobs {
                let end = job.offset.checked_add(job.size);
                assert!(end.is_some_and(|end| end <= 1 << 40), "{text:?}: {job:?}");
                assert!(job.size > 0 && job.iodepth > 0, "{text:?}: {job:?}");
            }
        }
        Err(error) => assert_eq!(error.to_string().lines().count(), 1, "{text:?}"),
    }
}

/// All options in fio's help, and newer ones.
const NAMES: &[&str] = &[
    "name",
    "wait_for",
    "filename",
    "rw",
    "readwrite",
    "rw_sequencer",
    "ioengine",
    "iodepth",
    "size",
    "io_size",
    "fill_device",
    "filesize",
    "offset",
    "offset_align",
    "offset_increment",
    "number_ios",
    "bs",
    "ba",
    "bsrange",
    "bssplit",
    "bs_unaligned",
    "randseed",
    "norandommap",
    "random_generator",
    "random_distribution",
    "percentage_random",
    "nrfiles",
    "loops",
    "numjobs",
    "startdelay",
    "runtime",
    "time_based",
    "ramp_time",
    "fdp",
    "dataplacement",
    "plid_select",
    "plids",
    "dp_scheme",
    "rwmixread",
    "thinktime",
    "thinktime_blocks",
    "rate",
    "rate_iops",
    "exitall",
    "stonewall",
    "kb_base",
    "direct",
    "zonemode",
    "include",
    "xnvme_dev_nsid",
];

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        "[0-9]{0,22}[kmgtpKMGTP%z]?[iI]?[bB]?",
        "-?[0-9]{1,4}[kms]?([,:/-][0-9]{0,4}[kmg%]?){0,5}",
        "\\([0-9kmgt+*/%^() .e-]{0,24}\\)?",
        "(zipf|pareto|normal|zoned|zoned_abs|random):[0-9./:,kg-]{0,24}",
        "(rand)?(read|write|rw|trim|trimwrite)(:-?[0-9]{1,12}[kmgt]?)?",
        "(libaio|sync|1|0|fdp|none|scheme|/dev/ng0n[0-9]{1,4}|\\$\\{BS\\}|\\$pagesize[*/+-][0-9]?)",
        "\\PC{0,20}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn arbitrary_text_never_panics(text in "(\\[?[a-z\\]]{0,6}=?\\PC{0,12}[\\n\\r]?){0,12}") {
        one_line_or_jobs(&text);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        one_line_or_jobs(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn arbitrary_values_never_panic(
        options in proptest::collection::vec((proptest::sample::select(NAMES), value()), 1..6),
    ) {
        let mut text = String::from("[a]\n");
        for (name, value) in options {
            text += &format!("{name}={value}\n");
        }
        one_line_or_jobs(&text);
    }
}
