use wafer_config::device_from_text;
use wafer_lab::{Control, Experiment, FioSource, Options, Workload, run};
use wafer_record::TimeRecord;

use super::*;

const SHEETS: &str = include_str!("../../../../configs/reference/timing/data-sheets.csv");

/// The data sheets of the project.
fn sheets() -> Vec<(String, Datasheet)> {
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(SHEETS.as_bytes());
    let sheet = |row: csv::StringRecord| {
        let bytes = |i: usize| row[i].parse::<Bytes>().unwrap();
        let iops = |i: usize| row[i].parse::<f64>().unwrap();
        let sheet = Datasheet {
            capacity: bytes(1),
            seq_read: bytes(2),
            seq_write: bytes(3),
            rand_read: iops(4),
            rand_write: iops(5),
            read_latency: None,
            write_latency: None,
            dwpd: Some(1.0),
            power: Some(12.0),
        };
        (row[0].to_owned(), sheet)
    };
    let sheets: Vec<_> = reader.records().map(|row| sheet(row.unwrap())).collect();
    assert_eq!(sheets.len(), 8);
    sheets
}

/// Returns the measurements of a job on a data sheet's device with reclaim units of 4 MiB.
fn measure(profile: &Profile, job: &str, precondition: &str) -> TimeRecord {
    let whole = profile.device().unwrap();
    let unit = whole.config.reclaim_unit.size.0;
    let capacity = whole.config.capacity.0 / (unit >> 22) / 4096 * 4096;
    let scale = [format!("capacity={capacity}"), "reclaim_unit.size=4MiB".to_owned()];
    let device = device_from_text("data sheet", &profile.toml(), &scale).unwrap();
    let source = FioSource { path: "job.fio".into(), text: job.to_owned() };
    let options = Options {
        timed: Some(true),
        precondition: Some(precondition.parse().unwrap()),
        ..Options::default()
    };
    let experiment = Experiment::of(device, Workload::new(source), &options);
    let record = run(&experiment, Control::unattended()).unwrap();
    record.time.unwrap()
}

/// Returns the write rate of a job in bytes per second.
fn write_rate(profile: &Profile, job: &str, precondition: &str) -> f64 {
    measure(profile, job, precondition).write.unwrap().bytes_per_second
}

#[test]
fn devices_read_and_write_as_their_data_sheets_say() {
    for (name, sheet) in sheets() {
        let profile = sheet.profile().unwrap();
        let sequential = "[w]\nrw=write\nbs=128k\niodepth=32\nsize=60%\n";
        let random = "[w]\nrw=randwrite\nbs=4k\niodepth=256\nnorandommap\nsize=100%\ntime_based\n\
                      runtime=1\nramp_time=200ms\n";
        let given = sheet.seq_write.0 as f64;
        let error = write_rate(&profile, sequential, "fresh") / given - 1.0;
        assert!(error.abs() < 0.1, "{name}: sequential {error:+.3}");
        let given = sheet.rand_write * PAGE;
        let error = write_rate(&profile, random, "sequential+random:3") / given - 1.0;
        assert!(error.abs() < 0.1, "{name}: random {error:+.3}");
        let reads = "[r]\nrw=randread\nbs=4k\niodepth=512\nnorandommap\ntime_based\nruntime=100ms\n\
                     ramp_time=50ms\n";
        let iops = measure(&profile, reads, "sequential").read.unwrap().iops;
        let error = iops / sheet.rand_read - 1.0;
        // The PE8110's two planes are too few.
        let least = if name == "PE8110" { -0.2 } else { -0.05 };
        assert!((least..0.01).contains(&error), "{name}: random reads {error:+.3}");
    }
}

#[test]
fn every_line_has_its_reason_and_follows_from_the_rates() {
    for (name, sheet) in sheets() {
        let profile = sheet.profile().unwrap();
        let text = profile.toml();
        for line in text.lines().filter(|line| line.contains(" = ")) {
            let bases = ["# given: ", "# inferred: ", "# assumed: "];
            assert!(bases.iter().any(|basis| line.contains(basis)), "{name}: {line}");
        }
        let (low, high) = profile.effective_overprovisioning_range;
        let op = profile.effective_overprovisioning;
        assert!(low < op && op < high, "{name}: {low} {op} {high}");
        let timing = profile.device().unwrap().config.timing.unwrap();
        assert!((timing.program_rate() / sheet.seq_write.0 as f64 - 1.0).abs() < 0.01, "{name}");
        let die = sheet.seq_write.0 as f64 / f64::from(timing.dies);
        assert!((55e6..130e6).contains(&die), "{name}: {die}");
        // With all dies busy, power is that of the data sheet.
        let power = timing.power.idle_w + timing.power.die_w * f64::from(timing.dies);
        assert!((11.0..=12.0).contains(&power), "{name}: {power}");
    }
}

#[test]
fn given_latency_is_kept() {
    let alone = "[r]\nrw=randread\nbs=4k\nnumber_ios=1000\n";
    for (latency, rand_read) in [(20.0, 1e6), (55.0, 1e6), (80.0, 50_000.0), (200.0, 1e4)] {
        let (_, sheet) = sheets().remove(0);
        let profile =
            Datasheet { read_latency: Some(latency), rand_read, ..sheet }.profile().unwrap();
        let read = measure(&profile, alone, "sequential").read.unwrap();
        assert!((read.mean_us - latency).abs() < 0.1, "{latency}: {}", read.mean_us);
    }
    let (_, sheet) = sheets().remove(0);
    let profile = Datasheet { read_latency: Some(2.0), ..sheet }.profile().unwrap();
    assert!(
        profile.toml().contains("2 µs for a single read, which takes at least"),
        "{}",
        profile.toml()
    );
}

#[test]
fn contradictions_are_refused() {
    let (_, good) = sheets().remove(0);
    let refused = |sheet: Datasheet| sheet.profile().unwrap_err().to_string();
    let cases = [
        (Datasheet { rand_write: 400_000.0, ..good.clone() }, "rand_write: 400000 IOPS are 1638"),
        (
            Datasheet { rand_write: 366_000.0, ..good.clone() },
            "rand_write: sequential writes are 1.00",
        ),
        (
            Datasheet { rand_write: 5000.0, ..good.clone() },
            "rand_write: sequential writes are 73.24",
        ),
        (Datasheet { rand_read: 2e6, ..good.clone() }, "rand_read: 2000000 IOPS are 8192"),
        (Datasheet { seq_write: Bytes(0), ..good.clone() }, "seq_write: expected 1MB/s"),
        (Datasheet { capacity: Bytes(5), ..good.clone() }, "capacity: expected 1GB"),
        (Datasheet { dwpd: Some(1e9), ..good.clone() }, "dwpd: expected 0.001 to 100"),
        (Datasheet { rand_write: f64::NAN, ..good }, "rand_write: expected 100"),
    ];
    for (sheet, expected) in cases {
        let message = refused(sheet);
        assert!(message.starts_with(expected) && !message.contains('\n'), "{message}");
    }
}

/// Returns a plausible data sheet of 960 GB.
fn usual() -> Datasheet {
    Datasheet {
        capacity: Bytes(960_000_000_000),
        seq_read: Bytes(6_500_000_000),
        seq_write: Bytes(1_500_000_000),
        rand_read: 580_000.0,
        rand_write: 70_000.0,
        read_latency: None,
        write_latency: None,
        dwpd: None,
        power: None,
    }
}

#[test]
fn figures_that_the_device_does_not_reach_are_noted() {
    assert!(usual().profile().unwrap().notices.is_empty());
    let notices = |sheet: Datasheet| sheet.profile().unwrap().notices.join("\n");
    let few_dies =
        Datasheet { capacity: Bytes(480_000_000_000), rand_read: 1_500_000.0, ..usual() };
    assert!(notices(few_dies).starts_with("random read: 1500000 IOPS are given;"));
    let instant = notices(Datasheet { read_latency: Some(1.0), ..usual() });
    assert!(
        instant.starts_with("read latency: 1 µs are given; a single read takes at least"),
        "{instant}"
    );
    // No latency is given, and the link and the controller alone take longer than reads usually do.
    let slow = Datasheet { seq_read: Bytes(500_000_000), rand_read: 50_000.0, ..usual() };
    let slow = Datasheet { seq_write: Bytes(450_000_000), rand_write: 30_000.0, ..slow };
    let profile = slow.profile().unwrap();
    let notice = "read latency: 65 µs are usual; a single read takes at least 73.6 µs";
    assert!(profile.notices.iter().any(|n| n == notice), "{:?}", profile.notices);
    let line = "# assumed: 65 µs for a single read, which takes at least 73.6 here";
    assert!(profile.toml().contains(line), "{}", profile.toml());
    let huge = Datasheet { seq_read: Bytes(90_000_000_000), ..usual() };
    assert!(notices(huge).contains("sequential rates: channels"));
}

#[test]
fn channels_carry_sequential_reads() {
    let fast = Datasheet {
        capacity: Bytes(15_360_000_000_000),
        seq_read: Bytes(28_000_000_000),
        seq_write: Bytes(14_000_000_000),
        rand_read: 5_500_000.0,
        rand_write: 900_000.0,
        ..usual()
    };
    let profile = fast.profile().unwrap();
    let reads =
        "[r]\nrw=read\nbs=128k\niodepth=256\nsize=50%\ntime_based\nruntime=20ms\nramp_time=5ms\n";
    let rate = measure(&profile, reads, "sequential").read.unwrap().bytes_per_second;
    assert!((rate / 28e9 - 1.0).abs() < 0.1, "{rate}");
}

#[test]
fn rates_of_caches_and_exchanged_rates_are_refused() {
    let refused = |sheet: Datasheet| sheet.profile().unwrap_err().to_string();
    let consumer = Datasheet {
        capacity: Bytes(2_000_000_000_000),
        seq_read: Bytes(7_450_000_000),
        seq_write: Bytes(6_900_000_000),
        rand_read: 1_400_000.0,
        rand_write: 1_550_000.0,
        ..usual()
    };
    assert!(refused(consumer).contains("rates of a cache?"));
    let exchanged = Datasheet { seq_write: Bytes(9_000_000_000), ..usual() };
    assert!(refused(exchanged).contains("exchanged?"));
    let large_pages = Datasheet { rand_write: 10_000.0, ..usual() };
    assert!(refused(large_pages).contains("maps more than 4 KiB"));
    assert!(
        refused(Datasheet { power: Some(1e12), ..usual() }).contains("expected 0.1 to 1000 watts")
    );
}
