//! Traces with a clock.

use super::*;

/// By its timestamps, a trace determines its own speed; with a depth, the drive does.
#[test]
fn a_trace_goes_by_time_or_by_depth() {
    let folder = tempfile::tempdir().unwrap();
    // 400 reads over all dies, one second apart.
    let rows: String = (0..400)
        .map(|i| format!("1,R,{},4096,{}\n", (i * 37 % 400) * 65536, i * 1_000_000))
        .collect();
    std::fs::write(folder.path().join("reads.csv"), rows).unwrap();
    let run = |traces: &str| {
        let device = device_from_text("small.toml", DEVICE, &[]).unwrap();
        let workload =
            Workload::from_text("t.toml", &format!("[workload]\n{traces}"), folder.path())?;
        let options = Options { timed: Some(true), ..filled() };
        crate::run(&Experiment::of(device, workload, &options), Control::unattended())
    };
    let one = |options: &str| {
        let time = run(&format!("trace = \"reads.csv\"\nformat = \"alibaba\"\n{options}"));
        let time = time.unwrap().time.unwrap();
        let read = time.read.unwrap();
        assert_eq!(read.count, 400);
        (time.seconds, read.mean_us)
    };
    let (by_time, alone) = one("");
    assert!((by_time - 399.0).abs() < 0.1 && alone < 90.0, "{by_time} {alone}");
    let fast = one("speed = 10.0\n").0;
    assert!((fast - 39.9).abs() < 0.1, "{fast}");
    // One after the other, and four dies in parallel.
    let (one_by_one, latency) = one("queue_depth = 1\n");
    assert!((one_by_one * 1e6 / (400.0 * latency) - 1.0).abs() < 0.01, "{one_by_one} {latency}");
    let (eight, latency) = one("queue_depth = 8\n");
    assert!(eight < 0.45 * one_by_one && latency > alone, "{eight} {latency}");
    // The commands in flight of several traces add up; these traces meet on the same dies.
    let each = |options: &str| format!("{{ file = \"reads.csv\", format = \"alibaba\"{options} }}");
    let both = format!("traces = [{0}, {0}]\n", each(", queue_depth = 4"));
    let both = run(&both).unwrap().time.unwrap();
    assert!((both.seconds / (2.0 * eight) - 1.0).abs() < 0.25, "{} {eight}", both.seconds);
    let mixed = format!("traces = [{}, {}]\n", each(", queue_depth = 4"), each(""));
    let said = run(&mixed).map(|_| ()).unwrap_err().to_string();
    assert!(said.contains("traces[1]") && said.contains("to all traces or to none"), "{said}");
    let said = run("trace = \"reads.csv\"\nqueue_depth = 0\n").map(|_| ()).unwrap_err().to_string();
    assert!(said.contains("queue_depth") && said.contains("65536"), "{said}");
}

#[test]
fn nothing_comes_after_the_end_of_time() {
    let folder = tempfile::tempdir().unwrap();
    let rows = "1,W,0,4096,9900\n1,W,4096,4096,18446744073709551\n";
    std::fs::write(folder.path().join("late.csv"), rows).unwrap();
    let table = "[workload]\ntrace = \"late.csv\"\nformat = \"alibaba\"\n";
    let workload = Workload::from_text("t.toml", table, folder.path()).unwrap();
    let device = device_from_text("small.toml", DEVICE, &[]).unwrap();
    let volume = Some("64KiB".parse().unwrap());
    let options = Options { timed: Some(true), volume, ..Options::default() };
    let outcome = crate::run(&Experiment::of(device, workload, &options), Control::unattended());
    let said = outcome.map(|_| ()).unwrap_err().to_string();
    assert!(said.contains("584 years"), "{said}");
}
