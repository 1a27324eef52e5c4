//! Each direction has its own results.

use super::*;

#[test]
fn trims_have_their_own_latency() {
    let record =
        run("[w]\nrw=randtrimwrite\nbs=4k\nsize=4m\n[r]\nrw=randread\nsize=1m\n", &filled());
    let time = record.time.as_ref().unwrap();
    let count = |all: &Option<Requests>| all.as_ref().map(|all| (all.count, all.bytes));
    let job = &time.jobs["w"];
    assert_eq!(count(&job.write), Some((1024, 4 << 20)));
    assert_eq!(count(&job.trim), Some((1024, 4 << 20)));
    assert_eq!((&job.read, &time.jobs["r"].trim), (&None, &None));
    assert_eq!(count(&time.trim), count(&job.trim));
    assert!(time.trim.as_ref().unwrap().mean_us > 0.0);
    let fio = wafer_fio_json::fio_json(&record).unwrap();
    let trims = fio["jobs"].as_array().unwrap().iter().map(|job| &job["trim"]["total_ios"]);
    assert_eq!(trims.cloned().collect::<Vec<_>>(), [1024, 0]);
}

#[test]
fn a_synchronous_write_completes_when_it_is_durable() {
    let run = |option: &str, set: &[&str]| {
        let set = set.iter().map(|set| set.parse().unwrap()).collect();
        let jobs = format!("[w]\nrw=randwrite\nbs=4k\nsize=1m\n{option}\n");
        run(&jobs, &Options { set, ..Options::default() })
    };
    let mean = |option: &str, set: &[&str]| run(option, set).time.unwrap().write.unwrap().mean_us;
    // With power-loss protection, it is durable in the buffer.
    assert_eq!(mean("sync=1", &[]), mean("sync=0", &[]));
    let bare = &["timing.buffer_protected=false"][..];
    let (plain, sync) = (mean("", bare), mean("sync=dsync", bare));
    assert!(plain < 50.0 && sync > 700.0, "{plain} {sync}");
    assert_eq!(mean("writefua=1", bare), sync);
    // A Flush after each write waits just as long, and is an additional command.
    let time = run("fsync=1", bare).time.unwrap();
    let flushed = time.write.unwrap().mean_us + time.flush.unwrap().mean_us;
    assert!(sync < flushed && flushed < sync + 30.0, "{sync} {flushed}");
    let end = run("end_fsync=1", bare).time.unwrap();
    assert_eq!((end.write.unwrap().count, end.flush.unwrap().count), (256, 1));
}

/// A write larger than the buffer goes through it in pieces, and the dies never wait for the next piece.
#[test]
fn large_writes_keep_the_dies_busy() {
    let time = |bytes: &str| {
        let jobs = format!("[w]\nrw=write\nbs={bytes}\niodepth=4\ntime_based=1\nruntime=400ms\n");
        run(&jobs, &filled()).time.unwrap()
    };
    let rate = |time: &TimeRecord| time.write.as_ref().unwrap().bytes_per_second;
    let small = rate(&time("128k"));
    // The buffer is 2 MiB.
    for bytes in ["1536k", "2m", "3m", "8m"] {
        let large = time(bytes);
        let idle = large.dies.get("idle").copied().unwrap_or(0.0);
        assert!(rate(&large) > 0.95 * small && idle < 0.05, "{bytes}: {} {idle}", rate(&large));
    }
}

#[test]
fn flushes_have_their_own_latency() {
    let jobs = "[w]\nrw=randwrite\nbs=4k\nsize=4m\nfsync=16\n[r]\nrw=randread\nsize=1m\n";
    let flush = |set: &[&str]| {
        let set = set.iter().map(|set| set.parse().unwrap()).collect();
        let record = run(jobs, &Options { set, ..Options::default() });
        let time = record.time.as_ref().unwrap();
        let flush = time.flush.clone().unwrap();
        // 1,024 writes; nothing follows the last of them, not even a Flush.
        assert_eq!((flush.count, flush.bytes), (63, 0));
        assert_eq!(
            (time.jobs["w"].flush.as_ref().unwrap().count, &time.jobs["r"].flush),
            (63, &None)
        );
        let handles: u64 = time.handles.values().map(|writes| writes.count).sum();
        assert_eq!(handles, 1024);
        let fio = wafer_fio_json::fio_json(&record).unwrap();
        let [w, r] = [0, 1].map(|job| &fio["jobs"][job]["sync"]);
        assert_eq!(
            (&w["total_ios"], &w["lat_ns"]["N"], &r["total_ios"]),
            (&63.into(), &63.into(), &0.into())
        );
        // As in fio, the shares of latency classes are those of reads, writes and trims.
        let classes = ["latency_ns", "latency_us", "latency_ms"];
        let shares =
            classes.iter().flat_map(|unit| fio["jobs"][0][unit].as_object().unwrap().values());
        let all: f64 = shares.map(|share| share.as_f64().unwrap()).sum();
        assert!((all - 100.0).abs() < 1e-9, "{all}");
        flush.mean_us
    };
    // With power-loss protection, a Flush takes only the controller's time; without, it waits for a program, which the
    // drive pads.
    let (protected, programmed) = (flush(&[]), flush(&["timing.buffer_protected=false"]));
    assert!(protected < 10.0 && programmed > 700.0, "{protected} {programmed}");
}
