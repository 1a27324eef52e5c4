//! Results of fio on a real drive: `--output-format=json` or `json+`.
//!
//! fio writes the options of its jobs next to their results, so wafer can run the same jobs.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use wafer_fio::job::{Distribution, JobSpec, Order, WRITE};
use wafer_lab::LabError;
use wafer_record::files::read_text;

use super::jobs::{Section, section};
use super::measured::{Latency, Measured, PERCENTILES, Pace, RANDOM, Row, STEADY};

/// Engines that can keep more than one command in flight.
const ASYNCHRONOUS: [&str; 6] = ["libaio", "io_uring", "io_uring_cmd", "posixaio", "xnvme", "sg"];

/// Share of its rate that a job reaches if the drive keeps up.
const REACHED: f64 = 0.95;

type Options = BTreeMap<String, serde_json::Value>;

/// The parts of fio's output that are used.
#[derive(Debug, Deserialize)]
struct Output {
    #[serde(rename = "fio version", default)]
    version: String,
    #[serde(rename = "global options", default)]
    global: Options,
    jobs: Vec<Job>,
}

#[derive(Debug, Deserialize)]
struct Job {
    jobname: String,
    #[serde(rename = "job options", default)]
    options: Options,
    /// Number of its group: `stonewall` and `new_group` begin a new one.
    #[serde(default)]
    groupid: u32,
    /// Its start in milliseconds (fio 3.36 and later), and its duration.
    job_start: Option<u64>,
    #[serde(default)]
    job_runtime: u64,
    /// Bytes of its drive (only in wafer's output).
    namespace_bytes: Option<u64>,
    #[serde(default)]
    read: Direction,
    #[serde(default)]
    write: Direction,
}

#[derive(Debug, Default, Deserialize)]
struct Direction {
    #[serde(default)]
    iops: f64,
    #[serde(default)]
    bw_bytes: f64,
    #[serde(default)]
    clat_ns: Times,
}

#[derive(Debug, Default, Deserialize)]
struct Times {
    #[serde(default)]
    mean: f64,
    #[serde(default)]
    percentile: BTreeMap<String, f64>,
}

impl Direction {
    fn latency(&self) -> Latency {
        let us = |ns: f64| Some(ns / 1e3).filter(|us| *us > 0.0 && us.is_finite());
        let percentile = |(_, percent): (&str, &str)| {
            let percent: f64 = percent.parse().ok()?;
            us(*self.clat_ns.percentile.get(&format!("{percent:.6}"))?)
        };
        Latency { mean: us(self.clat_ns.mean), percentiles: PERCENTILES.map(percentile) }
    }
}

impl Measured {
    /// Reads results of fio, one row per file. Notices name what cannot be used.
    ///
    /// # Errors
    /// If a file is not fio's JSON, or none has a usable row.
    pub fn fio(paths: &[std::path::PathBuf]) -> Result<Self, LabError> {
        let mut measured = Measured { files: paths.to_vec(), ..Measured::default() };
        for (at, path) in paths.iter().enumerate() {
            let label = path.display().to_string();
            if paths[..at].contains(path) {
                return Err(LabError::argument("fio_json", format!("{label} is given twice")));
            }
            let mut notices = Vec::new();
            match row(path, parse(&label, &read_text(path)?)?, &mut notices) {
                Ok(row) => measured.rows.push(row),
                Err(reason) => measured.notices.push(format!("{label}: not used: {reason}")),
            }
            measured.notices.extend(notices.iter().map(|notice| format!("{label}: {notice}")));
        }
        if measured.rows.is_empty() {
            let reasons = measured.notices.first().cloned().unwrap_or_default();
            return Err(LabError::argument(
                "fio_json",
                format!("no result can be used; {reasons}"),
            ));
        }
        measured.rows.sort_by(|a, b| a.writes_per_s.total_cmp(&b.writes_per_s));
        Ok(measured)
    }
}

fn parse(label: &str, text: &str) -> Result<Output, LabError> {
    // Warnings may come before the JSON.
    let Some(begin) = text.find('{') else {
        return Err(LabError::config(label, "no result of fio --output-format=json in it"));
    };
    let line = text[..begin].matches('\n').count();
    serde_json::from_str(&text[begin..]).map_err(|e| {
        let reason =
            format!("column {}: not a result of fio --output-format=json: {e}", e.column());
        let reason = reason.split(" at line ").next().unwrap_or_default().to_owned();
        LabError::config(format!("{label}:{}", line + e.line().max(1)), reason)
    })
}

/// Returns why jobs that did not run at the same time cannot be used, if the output shows it.
fn one_after_the_other(jobs: &[Job]) -> Option<String> {
    let other = jobs.iter().find(|job| job.groupid != jobs[0].groupid);
    if let Some(other) = other.filter(|_| jobs.iter().all(|job| job.job_start.is_none())) {
        return Some(format!(
            "jobs {} and {} are of different groups, and this fio does not say when they began: behind `stonewall` they \
             did not run together; give each a result of its own",
            jobs[0].jobname, other.jobname
        ));
    }
    let ran = jobs.iter().filter(|job| job.job_runtime > 0);
    let ran = ran.filter_map(|job| Some((job, job.job_start?)));
    let (first, start) = ran.clone().min_by_key(|(job, start)| start + job.job_runtime)?;
    let (later, begun) = ran.max_by_key(|(_, start)| *start)?;
    (begun >= start + first.job_runtime).then(|| {
        let (first, later) = (&first.jobname, &later.jobname);
        format!("job {later} began when {first} had ended; give each a result of its own")
    })
}

/// Writes per second.
#[derive(Clone, Copy, Default)]
struct Written {
    commands: f64,
    bytes: f64,
}

/// Returns when the writes of these jobs were issued, given the rate they reached.
fn pace(jobs: &[JobSpec], written: Written) -> Pace {
    let writers = || jobs.iter().filter(|job| job.direction.used().contains(&WRITE));
    let depth: u64 = writers().map(|job| u64::from(job.iodepth)).sum();
    if writers().any(|job| job.thinktime_us > 0) {
        return Pace::Rate;
    }
    let asked = |rates: [Option<u64>; 3]| rates[WRITE].unwrap_or(0) as f64;
    let behind = |done: f64, asked: f64| done < REACHED * asked;
    let is_full = writers().any(|job| (job.rate_iops[WRITE], job.rate[WRITE]) == (None, None))
        || behind(written.commands, writers().map(|job| asked(job.rate_iops)).sum())
        || behind(written.bytes, writers().map(|job| asked(job.rate)).sum());
    match is_full {
        false => Pace::Rate,
        true if depth < 2 => Pace::Single,
        true => Pace::Queue,
    }
}

/// Returns whether a job's writes, if any, leave the drive as uniform random writes over all of it would.
fn is_uniform(job: &JobSpec) -> bool {
    let is_whole = job.offset == 0 && job.size + (1 << 20) > job.namespace_bytes;
    let is_random = job.order == Order::Random && job.percent_random[WRITE] == 100;
    let is_flat = job.distribution[WRITE] == Distribution::Uniform;
    !job.direction.used().contains(&WRITE) || (is_whole && is_random && is_flat)
}

/// Returns the row of a result, or why it cannot be used. Adds notices about options that are not simulated.
fn row(path: &Path, output: Output, notices: &mut Vec<String>) -> Result<Row, String> {
    if let Some(reason) = one_after_the_other(&output.jobs) {
        return Err(reason);
    }
    let mut text = "[global]\n".to_owned();
    let mut sections: Vec<(String, Options)> = Vec::new();
    let (mut jobs, mut file) = (Vec::new(), None);
    let bytes = output.jobs.iter().find_map(|job| job.namespace_bytes);
    let mut write_bytes = 4096.0;
    let mut probes: [Option<(f64, String, Latency)>; 2] = [None, None];
    let mut written = Written::default();
    for job in &output.jobs {
        let name = &job.jobname;
        let mut options = output.global.clone();
        options.extend(job.options.clone());
        let text_of = |key: &str| {
            options.get(key).map(|value| value.as_str().map_or(value.to_string(), str::to_owned))
        };
        let Some(kind) = text_of("rw").or(text_of("readwrite")) else {
            return Err(format!(
                "job {name} has no option rw; fio writes it with --output-format=json"
            ));
        };
        let plain = kind.split(':').next().unwrap_or_default();
        if !["read", "write", "rw", "readwrite", "randread", "randwrite", "randrw"].contains(&plain)
        {
            return Err(format!("job {name}: rw={kind}"));
        }
        let other = match plain.trim_start_matches("rand") {
            "read" if job.write.iops > 0.0 => "writes",
            "write" if job.read.iops > 0.0 => "reads",
            _ => "",
        };
        if !other.is_empty() {
            return Err(format!(
                "job {name} has {other} with rw={kind}: group_reporting made one result of several jobs, whose options it \
                 does not tell; run them without it"
            ));
        }
        // Runs of wafer have no page cache, and can keep any number of commands in flight.
        let own = output.version.contains("wafer");
        if own && job.namespace_bytes.is_none() {
            return Err(format!(
                "job {name} has no namespace_bytes: an older wafer wrote it; run it again"
            ));
        }
        if !own && text_of("direct").as_deref() != Some("1") {
            return Err(format!(
                "job {name} is not direct=1: its latency is that of the page cache"
            ));
        }
        if job.write.iops > 0.0 {
            written.commands += job.write.iops;
            written.bytes += job.write.bw_bytes;
        }
        let asynchronous = own
            || text_of("ioengine").is_some_and(|engine| ASYNCHRONOUS.contains(&engine.as_str()));
        let depth: f64 = match asynchronous {
            true => text_of("iodepth").and_then(|depth| depth.parse().ok()).unwrap_or(1.0),
            false => 1.0,
        };
        let own_file = text_of("filename");
        if own_file.is_some() && *file.get_or_insert_with(|| own_file.clone()) != own_file {
            notices.push(format!("job {name}: filename: all jobs run on one drive here"));
        }
        // Without group_reporting, each clone of a job has its own entry.
        let known = sections.iter().position(|(of, known)| of == name && *known == options);
        let section = known.unwrap_or(sections.len());
        if known.is_none() {
            let mut used = Vec::new();
            for (key, value) in output.global.iter().chain(&job.options) {
                let begins = ["stonewall", "wait_for_previous"].contains(&key.as_str());
                let is_without_effect =
                    (begins && section == 0) || (key == "iodepth" && !asynchronous);
                if !is_without_effect {
                    used.push((
                        key.as_str(),
                        value.as_str().map_or(value.to_string(), str::to_owned),
                    ));
                }
            }
            let found = self::section(used.into_iter(), bytes);
            let found = found.map_err(|reason| format!("job {name}: {reason}"))?;
            let Section { lines, jobs: clones, notices: unlike } = found;
            text += &format!("[job{section}]\n{lines}");
            jobs.extend(clones);
            notices.extend(unlike.iter().map(|unlike| format!("job {name}: {unlike}")));
            sections.push((name.clone(), options));
        }
        for (probe, direction) in probes.iter_mut().zip([&job.read, &job.write]) {
            let lower = probe.as_ref().is_none_or(|(other, ..)| depth < *other);
            if direction.iops > 0.0 && lower {
                if std::ptr::eq(direction, &job.write) {
                    write_bytes = direction.bw_bytes / direction.iops;
                }
                *probe = Some((depth, format!("job{section}"), direction.latency()));
            }
        }
    }
    let [read, write] = probes;
    let parts = |probe: Option<(f64, String, Latency)>| {
        probe.map_or((String::new(), Latency::default()), |(_, name, latency)| (name, latency))
    };
    let ((reader, read), (writer, write)) = (parts(read), parts(write));
    if read.figures().chain(write.figures()).all(|(_, us)| us.is_none()) {
        return Err("no completed requests".to_owned());
    }
    Ok(Row {
        name: path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
        writes_per_s: written.bytes / 4096.0,
        asked: None,
        pace: pace(&jobs, written),
        write_bytes,
        jobs: text,
        drive_bytes: bytes,
        before: if jobs.iter().all(is_uniform) { RANDOM } else { STEADY },
        probes: (reader, writer),
        read,
        write,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESULT: &str = r#"fio: a warning
{"fio version": "fio-3.36", "global options": {"bs": "4k", "direct": "1", "ioengine": "libaio"}, "jobs": [
 {"jobname": "w", "job options": {"rw": "randwrite", "iodepth": "16", "rate_iops": "9000", "filename": "/dev/nvme0n1", "sync": "dsync"},
  "read": {"iops": 0}, "write": {"iops": 9000, "bw_bytes": 36864000, "clat_ns": {"mean": 12000}}},
 {"jobname": "r", "job options": {"rw": "randread"},
  "read": {"iops": 900, "clat_ns": {"mean": 80000.5, "percentile": {"50.000000": 70000, "99.000000": 250000}}}}]}"#;

    fn row(path: &Path, output: Output) -> Result<Row, String> {
        super::row(path, output, &mut Vec::new())
    }

    #[test]
    fn jobs_and_latency_are_taken() {
        let row = row(Path::new("/x/a.json"), parse("a", RESULT).unwrap()).unwrap();
        assert_eq!((row.name.as_str(), row.writes_per_s), ("a.json", 9000.0));
        assert_eq!(row.read.mean, Some(80.0005));
        assert_eq!(row.read.percentiles, [Some(70.0), Some(250.0), None, None, None]);
        assert_eq!(row.probes, ("job1".to_owned(), "job0".to_owned()));
        let jobs = "[global]\n[job0]\nbs=4k\niodepth=16\nrate_iops=9000\nrw=randwrite\nsync=dsync\n\
                    [job1]\nbs=4k\nrw=randread\n";
        assert_eq!(row.jobs, jobs);
    }

    #[test]
    fn writers_are_unpaced_without_a_rate_or_behind_it() {
        let unpaced = |changes: &[(&str, &str)]| {
            let text = changes.iter().fold(RESULT.to_owned(), |text, (from, to)| {
                assert!(text.contains(from), "{from}");
                text.replace(from, to)
            });
            row(Path::new("a.json"), parse("a", &text).unwrap()).unwrap().pace == Pace::Queue
        };
        let rate = "\"rate_iops\": \"9000\"";
        assert!(!unpaced(&[]));
        assert!(unpaced(&[(rate, "\"loops\": \"2\"")]));
        assert!(unpaced(&[(rate, "\"rate_iops\": \"10k\"")]));
        assert!(unpaced(&[(rate, "\"rate\": \"64m\"")]));
        assert!(!unpaced(&[(rate, "\"rate\": \"36m\"")]));
        // Six writers at 1,500 each; five of them would not reach their rate.
        let six = (rate, "\"rate_iops\": \"1500\", \"numjobs\": \"6\"");
        assert!(!unpaced(&[six, ("\"iodepth\": \"16\"", "\"iodepth\": \"1\"")]));
        assert!(unpaced(&[six, ("\"iops\": 9000", "\"iops\": 7500")]));
        // With a queue depth of one, no write waits for another; a pause acts as a rate.
        assert!(!unpaced(&[(rate, "\"loops\": \"2\""), ("\"16\"", "\"1\"")]));
        assert!(!unpaced(&[(rate, "\"thinktime\": \"50\"")]));
        let single = RESULT.replace(rate, "\"loops\": \"2\"").replace("\"16\"", "\"1\"");
        let single = row(Path::new("a.json"), parse("a", &single).unwrap()).unwrap();
        assert_eq!((single.pace, single.write_bytes), (Pace::Single, 4096.0));
    }

    #[test]
    fn no_option_is_dropped_silently() {
        let with = |options: &str| {
            let text =
                RESULT.replace("\"iodepth\": \"16\"", &format!("\"iodepth\": \"16\", {options}"));
            let mut notices = Vec::new();
            let row = super::row(Path::new("a.json"), parse("a", &text).unwrap(), &mut notices);
            row.map(|row| (row.jobs, row.before, notices))
        };
        for (name, value) in [
            ("offset", "50%"),
            ("size", "10g"),
            ("io_size", "1g"),
            ("offset_increment", "1g"),
            ("startdelay", "100us"),
            ("random_distribution", "zipf:0.9"),
            ("percentage_random", "50"),
            ("bssplit", "4k/50:64k/50"),
            ("iodepth_low", "4"),
        ] {
            let (jobs, before, notices) = with(&format!("\"{name}\": \"{value}\"")).unwrap();
            assert!(jobs.contains(&format!("{name}={value}\n")), "{jobs}");
            assert!(notices.is_empty(), "{notices:?}");
            let is_alike = ["io_size", "startdelay", "bssplit", "iodepth_low"].contains(&name);
            assert!((before == RANDOM) == (is_alike || name == "offset_increment"), "{name}");
        }
        assert!(with("\"norandommap\": \"\"").unwrap().0.contains("\nnorandommap\n"));
        let notices = |options: &str| with(options).unwrap().2.join("\n");
        assert!(notices("\"verify\": \"crc32c\"").starts_with("job w: verify: not simulated"));
        assert!(notices("\"startdelay\": \"10\"").starts_with("job w: startdelay=10: more than"));
        let refused = |options: &str| with(options).unwrap_err();
        assert!(refused("\"latency_target\": \"1ms\"").starts_with("job w: latency_target: chose"));
        assert!(refused("\"zonemode\": \"zbd\"").starts_with("job w: zonemode: zones"));
        assert!(refused("\"no_such\": \"1\"").starts_with("job w: no_such: fio has no such"));
        let after =
            RESULT.replace("\"rw\": \"randread\"", "\"rw\": \"randread\", \"stonewall\": \"\"");
        let reason = row(Path::new("a.json"), parse("a", &after).unwrap()).unwrap_err();
        assert!(reason.starts_with("job r: stonewall: began when"), "{reason}");
        let elsewhere = RESULT.replace(
            "\"rw\": \"randread\"",
            "\"rw\": \"randread\", \"filename\": \"/dev/nvme1n1\"",
        );
        let mut notices = Vec::new();
        super::row(Path::new("a.json"), parse("a", &elsewhere).unwrap(), &mut notices).unwrap();
        assert_eq!(notices, ["job r: filename: all jobs run on one drive here"]);
    }

    #[test]
    fn what_cannot_be_used_is_said() {
        let refused = |from: &str, to: &str| {
            row(Path::new("a.json"), parse("a", &RESULT.replace(from, to)).unwrap()).unwrap_err()
        };
        assert!(refused("randread", "trim").contains("rw=trim"));
        let at = |name: &str, start: u64| {
            format!("\"jobname\": \"{name}\", \"job_start\": {start}, \"job_runtime\": 2000")
        };
        let both = |second: u64| {
            RESULT
                .replace("\"jobname\": \"w\"", &at("w", 5000))
                .replace("\"jobname\": \"r\"", &at("r", second))
        };
        assert!(row(Path::new("a.json"), parse("a", &both(6999)).unwrap()).is_ok());
        let reason = row(Path::new("a.json"), parse("a", &both(7000)).unwrap()).unwrap_err();
        assert!(reason.contains("job r began when w had ended"), "{reason}");
        // In model time the first begins at 0. Older fio versions report only the groups.
        let serial = both(7000).replace("5000", "0").replace("7000", "2000");
        assert!(row(Path::new("a.json"), parse("a", &serial).unwrap()).is_err());
        let grouped = RESULT.replace("\"jobname\": \"r\"", "\"jobname\": \"r\", \"groupid\": 1");
        let reason = row(Path::new("a.json"), parse("a", &grouped).unwrap()).unwrap_err();
        assert!(reason.contains("jobs w and r are of different groups"), "{reason}");
        assert!(refused("\"rw\": \"randread\"", "").contains("no option rw"));
        let reason = refused("\"read\": {\"iops\": 0}", "\"read\": {\"iops\": 900}");
        assert!(reason.contains("job w has reads with rw=randwrite: group_reporting"), "{reason}");
        assert!(refused("\"direct\": \"1\"", "\"direct\": \"0\"").contains("page cache"));
        let message = parse("a.json", "fio: x\n{\"jobs\": 5}").unwrap_err().to_string();
        assert!(message.starts_with("a.json:2: column ") && !message.contains('\n'), "{message}");
        for text in ["", "[]", "null"] {
            let message = parse("a.json", text).unwrap_err().to_string();
            assert!(message.starts_with("a.json: no result of fio"), "{message}");
        }
    }
}
