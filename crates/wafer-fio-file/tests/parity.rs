//! Compares the reader with fio itself: which options exist, which files are accepted, and which bytes a job accesses.
//! Needs fio on the `PATH`.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

use wafer_fio::JobStream;
use wafer_fio::job::{BlockSize, JobSpec};
use wafer_fio_file::{JobFile, Jobs, Target};
use wafer_interface::LBA_BYTES;

const MIB: u64 = 1 << 20;

fn fio(arguments: &[&str], directory: &Path) -> Output {
    let output = Command::new("fio").args(arguments).current_dir(directory).output();
    output.unwrap_or_else(|error| {
        let install = "these tests compare with it; install it (apt-get install fio)";
        panic!("cannot run fio ({error}): {install}")
    })
}

fn help(argument: &str) -> String {
    let output = fio(&[argument], Path::new("."));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn resolve(text: &str, namespace_bytes: u64) -> Result<Jobs, String> {
    let target = Target {
        namespace_bytes: vec![namespace_bytes],
        namespace_handles: vec![8],
        page_bytes: 4096,
    };
    JobFile::parse(text, "job.fio").and_then(|f| f.resolve(&target)).map_err(|e| e.to_string())
}

fn is_known(name: &str) -> bool {
    match resolve(&format!("[a]\n{name}=?\n"), 1 << 40) {
        Ok(_) => true,
        Err(message) => !message.contains("no such option"),
    }
}

/// Returns the names at the start of lines `name : text`.
fn names(help: &str) -> Vec<&str> {
    help.lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, _)| name.trim())
        .filter(|name| !name.is_empty() && !name.contains(' '))
        .collect()
}

#[test]
fn every_option_of_fio_is_known() {
    let all = help("--cmdhelp=all");
    let names = names(&all);
    assert!(names.len() > 150, "{all}");
    let unknown: Vec<_> = names.into_iter().filter(|n| !is_known(n)).collect();
    assert!(unknown.is_empty(), "not in the table: {unknown:?}");
}

#[test]
fn every_option_of_the_supported_engines_is_known() {
    let mut unknown = BTreeSet::new();
    let mut seen = 0;
    for engine in help("--enghelp").lines().map(str::trim).filter(|l| !l.contains(' ')) {
        if resolve(&format!("[a]\nioengine={engine}\n"), 1 << 40).is_err() {
            continue;
        }
        seen += 1;
        let options = help(&format!("--enghelp={engine}"));
        unknown.extend(names(&options).into_iter().filter(|n| !is_known(n)).map(str::to_owned));
    }
    assert!(seen > 5, "fio lists {seen} engines");
    assert!(unknown.is_empty(), "not in the table: {unknown:?}");
}

fn fio_accepts(text: &str) -> bool {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("job.fio"), text).unwrap();
    fio(&["--parse-only", "job.fio"], directory.path()).status.success()
}

/// Lines of a section that both accept.
const GOOD: &[&str] = &[
    "rw=write",
    "readwrite=randrw:8",
    "rw=read:-8k",
    "rw=trim",
    "rw=trimwrite",
    "rw=randtrimwrite",
    "rw=write ; comment",
    "rw=write # comment",
    "\trw=write\t",
    "rw_sequencer=identical",
    "bs=4k",
    "blocksize=4K,8KB",
    "bs=4k,8k,16k",
    "bs=,8k",
    "bs=8k,",
    "bs=4k:8k",
    "bs=4096B",
    "bs=0x1000",
    "bs=4ki",
    "bs=512000\nkb_base=1000",
    "bsrange=4k-64k",
    "blocksize_range=4k:8k,1k-2k",
    "bssplit=4k/60:64k/40",
    "bssplit=4k/50:8k:16k/",
    "bssplit=4k/50:8k/50,16k",
    "bs_unaligned",
    "bs_unaligned=1",
    "blockalign=8k",
    "ba=4k,8k",
    "size=1g",
    "size=50%",
    "size=100%",
    "io_size=3g",
    "io_limit=1g",
    "io_size=50%",
    "filesize=1g",
    "fill_device=1\nrw=write",
    "offset=10%",
    "offset=1m\noffset_increment=1g\nnumjobs=4",
    "offset=5%\noffset_align=1m",
    "number_ios=100",
    "loops=3",
    "numjobs=4",
    "iodepth=32",
    "rwmixread=30",
    "rwmixwrite=30",
    "percentage_random=50",
    "percentage_random=50,20",
    "norandommap",
    "norandommap=0",
    "random_generator=lfsr",
    "random_generator=tausworthe64",
    "randseed=1234",
    "randrepeat=0",
    "allrandrepeat=1",
    "random_distribution=random",
    "random_distribution=zipf",
    "random_distribution=zipf:1.2",
    "random_distribution=zipf:1.2:0.25",
    "random_distribution=pareto:0.5",
    "random_distribution=normal:10",
    "random_distribution=zoned:60/10:30/20:8/30:2/40",
    "random_distribution=zoned:50/5:30/15:20/",
    "random_distribution=zoned_abs:60/20G:30/100G:10/500g",
    "runtime=60",
    "timeout=10m\ntime_based",
    "runtime=250ms\ntime_based=1",
    "ramp_time=5s",
    "startdelay=10",
    "startdelay=5-10",
    "rate=1m,500k",
    "rate=,1m",
    "rate_iops=100",
    "rate_process=poisson",
    "thinktime=10ms\nthinktime_blocks=4",
    "flow=3\nflow_id=2\nflow_sleep=100",
    "stonewall",
    "wait_for_previous",
    "filename=/dev/nvme0n1",
    "ioengine=libaio",
    "ioengine=psync",
    "direct=1\ngroup_reporting\nthread\nverify=crc32c\ndo_verify=0\nrefill_buffers",
    "zonemode=none",
    "size=${NO_SUCH_VARIABLE}1g",
    "bs=$pagesize",
];

/// Lines of a section that both refuse.
const BAD: &[&str] = &[
    "blocksise=4k",
    "=4k",
    "bs=",
    "bs=q",
    "bs=0",
    "bs=18446744073709551616",
    "bs=(4k",
    "bsrange=4k",
    "bssplit=4k/90:8k/20:1k:2k",
    "rw",
    "rw=overwrite",
    "rw_sequencer=other",
    "flow=1001",
    "iodepth=0",
    "iodepth",
    "size=x",
    "size=${NO_SUCH_VARIABLE}",
    "io_size=200%",
    "bs=4z",
    "rwmixread=101",
    "percentage_random=101",
    "norandommap=",
    "norandommap=x",
    "fill_device=yes",
    "fill_device=2",
    "random_generator=mersenne",
    "random_distribution=gauss",
    "random_distribution=zipf:1.0",
    "random_distribution=zipf:1.2:3",
    "random_distribution=zipf:x",
    "random_distribution=pareto:1",
    "random_distribution=normal:100",
    "random_distribution=zoned:50/5:30/15",
    "random_distribution=zoned:50/60:50/60",
    "runtime=soon",
    "kb_base=512",
    "rwmixcycle=10",
    "percentage_sequential=10",
];

/// Lines that fio misreads, and that are refused here.
const STRICTER: &[&str] = &[
    "bs=4q",
    "bs = 4k",
    "bs=50%",
    "size=1.5g",
    "size=-4k",
    "size=150%",
    "bssplit=4k/60:8k/60",
    "runtime=60sec",
    "runtime=1h30m",
    "numjobs=0",
    "rw=write,read",
    "random_distribution=random,zipf",
    "include no-such-file.inc",
];

/// Returns the lines that fio refuses. One run of fio takes a fifth of a second.
fn refused_by_fio(lists: &[&[&'static str]]) -> Vec<&'static str> {
    let section = |options: &&str| format!("[a]\n{options}\n");
    let all: Vec<_> = lists.concat();
    if fio_accepts(&all.iter().map(section).collect::<String>()) {
        return Vec::new();
    }
    all.into_iter().filter(|options| !fio_accepts(&section(options))).collect()
}

#[test]
fn both_accept_the_same_lines() {
    let ours = |options: &str| resolve(&format!("[a]\n{options}\n"), 1 << 40);
    assert_eq!(refused_by_fio(&[GOOD, STRICTER]), [""; 0], "fio refuses");
    for options in GOOD {
        ours(options).unwrap_or_else(|e| panic!("{options:?}: {e}"));
    }
    for options in STRICTER.iter().chain(BAD) {
        assert!(ours(options).is_err(), "{options:?} is accepted");
    }
    for options in BAD {
        assert!(!fio_accepts(&format!("[a]\n{options}\n")), "fio accepts {options:?}");
    }
}

#[test]
fn both_accept_the_same_placement_options() {
    if names(&help("--cmdhelp=all")).iter().all(|n| *n != "dataplacement") {
        // Older than 3.38: there is nothing to compare with.
        return;
    }
    for options in
        ["fdp=1", "fdp=1\nfdp_pli=0,1", "dataplacement=fdp\nplids=1,3-4", "plid_select=random"]
    {
        let text = format!("[a]\n{options}\n");
        assert!(resolve(&text, 1 << 40).is_ok() && fio_accepts(&text), "{options}");
    }
    for options in ["fdp=yes", "dataplacement=other", "plid_select=first", "plids=3-1"] {
        let text = format!("[a]\n{options}\n");
        assert!(resolve(&text, 1 << 40).is_err() && !fio_accepts(&text), "{options}");
    }
}

#[test]
fn both_accept_the_same_files() {
    for (text, wanted) in [
        ("rw=write\n[a]\n", false),
        ("[global]\nbs=4k\n[a]\nrw=write\n[global]\nbs=8k\n[b]\n", true),
        ("\n; c\n  # c\n[global]\n\n[a]\n", true),
        ("[globals]\nbs=4k\n[a]\n", true),
        ("[a]\n[a]\n", true),
        ("[a]\r\nrw=write\r\n", true),
    ] {
        let found = (resolve(text, 1 << 40).is_ok(), fio_accepts(text));
        assert_eq!(found, (wanted, wanted), "{text:?}");
    }
}

/// Returns offset and length of each command that fio issues for each job on a file of 64 MiB.
fn commands(jobs: &[&str]) -> Vec<Vec<(u64, u64)>> {
    let directory = tempfile::tempdir().unwrap();
    let file = std::fs::File::create(directory.path().join("disk")).unwrap();
    file.set_len(64 * MIB).unwrap();
    let mut text = String::from("[global]\nfilename=disk\nioengine=psync\ninvalidate=0\nthread\n");
    for (i, job) in jobs.iter().enumerate() {
        text += &format!("[job{i}]\nwrite_iolog=log{i}\n{job}\n");
    }
    std::fs::write(directory.path().join("job.fio"), &text).unwrap();
    let output = fio(&["job.fio"], directory.path());
    assert!(output.status.success(), "{text}: {output:?}");
    let command = |line: &str| {
        let mut words = line.split(' ').skip_while(|w| !["read", "write"].contains(w)).skip(1);
        Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
    };
    let log = |i| std::fs::read_to_string(directory.path().join(format!("log{i}"))).unwrap();
    (0..jobs.len()).map(|i| log(i).lines().filter_map(command).collect()).collect()
}

/// Returns whether this build of fio supports expressions; packages of distributions do not.
fn has_expressions() -> bool {
    fio_accepts("[a]\nbs=(2*4k)\n")
}

fn one(options: &str) -> JobSpec {
    let text = format!("[a]\n{options}\n");
    let jobs = resolve(&text, 64 * MIB).unwrap_or_else(|e| panic!("{text}: {e}"));
    assert_eq!(jobs.jobs.len(), 1);
    jobs.jobs[0].clone()
}

/// Jobs whose commands are compared.
const TOUCH: &[&str] = &[
    "rw=read\nbs=1m",
    "rw=read\nbs=64k\nsize=10m",
    "rw=read\nbs=4k\nsize=13%",
    "rw=read\nbs=64k\noffset=33%",
    "rw=read\nbs=64k\noffset=33%\nsize=21%",
    "rw=read\nbs=64k\noffset=33%\nsize=100%",
    "rw=read\nbs=64k\noffset=90%\nsize=50%",
    "rw=read\nbs=64k\noffset=33%\noffset_align=1m\nsize=1m",
    "rw=read\nbs=4k,4k,64k\noffset=33%\nsize=1m",
    "rw=read\nkb_base=1000\nbs=4kib\nsize=1mib\noffset=8192",
    "rw=read\nbs=4ki\nsize=1mb",
    "rw=read\nbs=4096b\nsize=2000kib",
    "rw=read\nbs=64k\nsize=1000000",
    "rw=read\nbs=64k\noffset=63m\nsize=1048575",
    "rw=read\nbs=128k\noffset=64k",
    "rw=randread\nbs=64k\nsize=1000000",
    "rw=read\nbs=64k\nsize=4m\nio_size=1m",
    "rw=read\nbs=64k\nio_size=25%",
    "rw=read\nbs=64k\nfilesize=8m\noffset=1m",
    "rw=read\nbs=64k\nfilesize=8m\nsize=2m",
    "rw=read\nbs=64k\nsize=0\noffset=60m",
    "rw=read\nbs=64k\nsize=4m\nloops=3",
    "rw=read\nbs=4k\nbsrange=64k-64k\nsize=1m",
    "rw=read\nbssplit=64k/\nbsrange=4k-4k\nsize=1m",
    "rw=read\nbsrange=4k-4k\nbssplit=64k/\nbs=8k\nsize=1m",
    "rw=read\nbs=64k,4k\nsize=1m",
    "rw=read\nbs=,8k\nsize=1m",
    "rw=randread\nbs=64k\noffset=25%\nsize=25%",
    "rw=randread\nbs=64k\nsize=4m\nnorandommap\nrandom_generator=lfsr",
];

#[test]
fn both_touch_the_same_bytes() {
    let mut jobs = TOUCH.to_vec();
    if has_expressions() {
        jobs.push("rw=read\nbs=(2*8k)\nsize=(2*1m)");
        jobs.push("rw=read\nbs=(1+2*4k-1)\nsize=(0.5*2m)");
    }
    for (options, theirs) in jobs.iter().zip(commands(&jobs)) {
        let ours = one(options);
        let BlockSize::Fixed(block) = ours.block_size[0] else { panic!("{options}: {ours:?}") };
        assert!(theirs.iter().all(|c| c.1 == block), "{options}: {block}");
        let start = theirs.iter().map(|c| c.0).min().unwrap();
        let end = theirs.iter().map(|c| c.0 + c.1).max().unwrap();
        assert_eq!(start, ours.offset, "{options}: start");
        let whole = ours.io_size.min(ours.size);
        assert_eq!(whole % block, 0, "{options}: {ours:?}");
        assert_eq!(end, ours.offset + whole, "{options}: end");
        let bytes: u64 = theirs.iter().map(|c| c.1).sum();
        assert_eq!(bytes, whole * ours.loops, "{options}: bytes of {ours:?}");
        if ours.random_map {
            let distinct: BTreeSet<_> = theirs.iter().collect();
            assert_eq!(distinct.len() as u64 * ours.loops, theirs.len() as u64, "{options}");
        }
    }
}

#[test]
fn both_end_after_the_same_number_of_commands() {
    let base = "rw=read\nbs=64k\nsize=8m\n";
    let jobs = [format!("{base}number_ios=7"), format!("{base}rw=read:64k\nnumber_ios=7")];
    let jobs: Vec<_> = jobs.iter().map(String::as_str).collect();
    for ((options, theirs), gap) in jobs.iter().zip(commands(&jobs)).zip([0, 64 << 10]) {
        let ours = one(options);
        assert_eq!(ours.number_ios, Some(theirs.len() as u64), "{options}");
        assert_eq!(ours.order_modifier, gap);
        assert_eq!(theirs[2].0 - theirs[1].0, (64 << 10) + gap as u64, "{options}: {theirs:?}");
    }
}

/// Jobs of several passes, of 256 commands if a pass transfers as much as the region holds.
const PASSES: &[&str] = &[
    "rw=randwrite\nnorandommap\nloops=3",
    "rw=randwrite\nnorandommap\nio_size=3m",
    "rw=randread\nnorandommap\nio_size=3m",
    "rw=randread\nrandom_distribution=zoned:50/10:50/90\nio_size=3m",
    "rw=randwrite\nrandom_distribution=zoned:50/10:50/90\nloops=3",
    "rw=randwrite\nrandom_distribution=zoned:50/10:50/90\nio_size=3m",
    "rw=randwrite\nblockalign=8k\nio_size=3m",
    "rw=randwrite\nio_size=3m",
    "rw=write\nio_size=3m",
    "rw=randrw\nloops=3",
    "rw=rw\nloops=3",
];

/// An engine that queues its commands ends a pass after `size` bytes; others go on until no address is left.
#[test]
fn both_repeat_their_passes() {
    let mut repeated = 0;
    for engine in ["psync", "libaio"] {
        let jobs: Vec<String> = PASSES
            .iter()
            .map(|options| format!("ioengine={engine}\nbs=4k\nsize=1m\n{options}"))
            .collect();
        let jobs: Vec<_> = jobs.iter().map(String::as_str).collect();
        for (options, theirs) in jobs.iter().zip(commands(&jobs)) {
            let mut ours = Vec::new();
            JobStream::new(&one(options), 1, 0).unwrap().fill(&mut ours, 10_000);
            let ours: Vec<(u64, u64)> =
                ours.iter().map(|c| (c.lba * LBA_BYTES, c.bytes())).collect();
            assert_eq!(ours.len(), theirs.len(), "{options}");
            let repeats = |all: &[(u64, u64)]| {
                let passes: Vec<_> = all.chunks(256).collect();
                // fio may begin another pass of reads and writes with the other direction.
                let alike = |two: &[&[(u64, u64)]]| match options.contains("rw=rw") {
                    true => two[0][0] == two[1][0],
                    false => two[0] == two[1],
                };
                passes.windows(2).map(alike).collect::<Vec<bool>>()
            };
            assert_eq!(repeats(&ours), repeats(&theirs), "{options}");
            repeated += usize::from(repeats(&ours).contains(&true));
        }
    }
    assert!(repeated > PASSES.len() / 2, "{repeated}");
}

/// Jobs whose size is not a multiple of their block: without a map, the last command goes beyond it.
const UNEVEN: &[&str] = &[
    "norandommap",
    "norandommap\nloops=2",
    "norandommap\nio_size=1500k",
    "norandommap\npercentage_random=70",
    "norandommap\npercentage_random=50\nbsrange=8k-16k",
    "norandommap\nbsrange=4k-12k",
    "random_distribution=zipf:1.2",
    "random_distribution=pareto:0.3\nloops=3",
    "blockalign=4k",
    "loops=2",
    "io_size=2m",
    "",
];

#[test]
fn both_issue_as_many_bytes_of_uneven_sizes() {
    let jobs = UNEVEN.iter().map(|options| format!("rw=randread\nbs=12k\nsize=1m\n{options}"));
    let jobs: Vec<String> = jobs.collect();
    let jobs: Vec<_> = jobs.iter().map(String::as_str).collect();
    for (options, theirs) in jobs.iter().zip(commands(&jobs)) {
        let mut ours = Vec::new();
        JobStream::new(&one(options), 1, 0).unwrap().fill(&mut ours, 10_000);
        if options.contains("bsrange") {
            let bytes = [ours.iter().map(|c| c.bytes()).sum(), theirs.iter().map(|c| c.1).sum()];
            assert!(bytes.iter().all(|b| (MIB..MIB + (16 << 10)).contains(b)), "{bytes:?}");
            continue;
        }
        assert_eq!(ours.len(), theirs.len(), "{options}");
    }
}
