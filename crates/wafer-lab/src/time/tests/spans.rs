//! When runs and jobs begin and end.

use super::*;

#[test]
fn a_volume_ends_a_run_exactly() {
    for depth in [1, 8] {
        let jobs = format!("{JOBS}\n[last]\nrw=randwrite\nbs=12k\niodepth={depth}\n");
        for jobs in
            [jobs.as_str(), &format!("[w]\nrw=randwrite\nbs=12k\nsize=100%\niodepth={depth}\n")]
        {
            let volume = Some("10MiB".parse().unwrap());
            let record = run(jobs, &Options { volume, ..Options::default() });
            assert_eq!(record.summary.host_bytes, 10 << 20);
            let written: u64 = record
                .time
                .unwrap()
                .jobs
                .values()
                .filter_map(|job| Some(job.write.as_ref()?.bytes))
                .sum();
            assert_eq!(written, 10 << 20);
        }
    }
}

/// Commands beyond the volume take no time, however late they would arrive.
#[test]
fn time_ends_with_the_volume() {
    let rated = "[a]\nrw=randwrite\nbs=4k\nsize=100%\nrate_iops=10\niodepth=32\n";
    let late = "[b]\nrw=randwrite\nbs=4k\nsize=100%\nstartdelay=1000\n";
    for jobs in [rated.to_owned(), format!("{rated}{late}")] {
        let volume = Some("40KiB".parse().unwrap());
        let record = time(&jobs, &Options { volume, ..Options::default() });
        assert!((record.seconds - 0.9).abs() < 0.001, "{}", record.seconds);
        assert!((record.write.unwrap().iops / 11.1 - 1.0).abs() < 0.01);
    }
}

/// As in fio, a job waits for its next command until its run time is up.
#[test]
fn a_job_lasts_for_its_runtime_although_its_last_command_completes_before() {
    let rated = "rw=randwrite\nbs=4k\nsize=100%\nrate_iops=10\niodepth=32\nruntime=1s\n";
    let one = time(&format!("[a]\n{rated}"), &Options::default());
    let writes = one.write.unwrap();
    assert_eq!((one.seconds, one.jobs["a"].seconds), (1.0, 1.0));
    assert_eq!((writes.count, writes.iops), (10, 10.0));
    // The next phase begins then.
    let next = "[b]\nstonewall\nrw=randwrite\nbs=4k\nsize=100%\nrate_iops=10\nnumber_ios=6\n";
    let two = time(&format!("[a]\n{rated}{next}"), &Options::default());
    assert!((two.seconds - 1.5).abs() < 0.001, "{}", two.seconds);
    assert_eq!(two.jobs["a"].seconds, 1.0);
    // A run that ends earlier ends its jobs.
    let volume = Some("20KiB".parse().unwrap());
    let cut = time(&format!("[a]\n{rated}{next}"), &Options { volume, ..Options::default() });
    assert!((cut.jobs["a"].seconds - 0.4).abs() < 0.001, "{}", cut.jobs["a"].seconds);
    // The same holds for jobs of tenants, the second as well as the first.
    let tenant = |name: &str, rate: u32, runtime: &str| {
        format!(
            "[[tenants]]\nname = {name:?}\n[tenants.workload]\nfio_text = \"\"\"\n[a]\nrw=randwrite\nbs=4k\n\
             size=100%\nrate_iops={rate}\nruntime={runtime}\n\"\"\"\n"
        )
    };
    let text = format!("{}{}", tenant("one", 10, "1s"), tenant("two", 4, "1200ms"));
    let tenants = time_of_file(&text, &Options::default());
    let lasted = ["one/a", "two/a"].map(|job| tenants.jobs[job].seconds);
    assert_eq!((tenants.seconds, lasted), (1.2, [1.0, 1.2]));
}

/// At a low rate, the first command arrives long after the job has begun.
#[test]
fn a_job_begins_before_its_first_command() {
    let rare = |more: &str| {
        format!(
            "[a]\nrw=randwrite\nbs=4k\nsize=100%\nrate_iops=1\nrate_process=poisson\nruntime=3s\n{more}"
        )
    };
    for seed in 0..4 {
        let options = Options { seed: Some(seed), ..Options::default() };
        let record = time(&rare(""), &options);
        assert_eq!((record.seconds, record.jobs["a"].seconds), (3.0, 3.0), "seed {seed}");
        let count = record.write.map_or(0, |writes| writes.count);
        assert!(count < 10, "{count}");
        // The delay is not part of the job's time, but of the run's.
        let late = time(&rare("startdelay=2s\n"), &options);
        assert_eq!(late.jobs["a"].seconds, 3.0, "seed {seed}");
        let text = format!(
            "[[tenants]]\nname = \"t\"\n[tenants.workload]\nfio_text = \"\"\"\n{}\"\"\"\n",
            rare("")
        );
        let tenant = time_of_file(&text, &options);
        assert_eq!((tenant.seconds, tenant.jobs["t/a"].seconds), (3.0, 3.0), "seed {seed}");
    }
}

#[test]
fn a_ramp_does_not_count() {
    let jobs = |ramp: &str| {
        format!(
            "[w]\nrw=randwrite\nbs=4k\nsize=100%\nrate_iops=10000\ntime_based=1\nruntime=200ms\n{ramp}"
        )
    };
    let record = time(&jobs("ramp_time=100ms\n"), &Options::default());
    let writes = record.write.unwrap();
    assert!((writes.count as i64 - 2000).abs() <= 1, "{}", writes.count);
    assert!((record.seconds - 0.2).abs() < 0.001, "{}", record.seconds);
    assert!((record.jobs["w"].seconds - 0.2).abs() < 0.001);
    assert!((writes.iops / 10_000.0 - 1.0).abs() < 0.01, "{}", writes.iops);
    let shares: f64 = record.dies.values().sum();
    assert!((shares - 1.0).abs() < 1e-9, "{shares}");
    assert_eq!(time(&jobs(""), &Options::default()).write.unwrap().count, 2000);
    // The ramp ends between two commands.
    let few =
        "[w]\nrw=randwrite\nbs=4k\nrate_iops=2\ntime_based=1\nruntime=1900ms\nramp_time=250ms\n";
    let record = time(few, &Options::default());
    assert_eq!((record.seconds, record.jobs["w"].seconds), (1.9, 1.9));
}
