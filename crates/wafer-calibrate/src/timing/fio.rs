//! Results of fio on a real drive: `--output-format=json` or `json+`.
//!
//! fio writes the options of its jobs next to their results, so that the same jobs can be run here.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use wafer_fio::file::{JobFile, Target};
use wafer_fio::job::WRITE;
use wafer_lab::LabError;
use wafer_record::files::read_text;

use super::measured::{Latency, Measured, PERCENTILES, Row};

/// Options that have the same effect here.
const KEPT: [&str; 31] = [
    "rw",
    "readwrite",
    "bs",
    "blocksize",
    "bssplit",
    "bsrange",
    "blocksize_range",
    "iodepth",
    "iodepth_low",
    "iodepth_batch_complete",
    "iodepth_batch_complete_min",
    "io_submit_mode",
    "numjobs",
    "rate",
    "rate_iops",
    "rate_process",
    "rwmixread",
    "rwmixwrite",
    "norandommap",
    "random_distribution",
    "thinktime",
    "thinktime_blocks",
    "thinktime_blocks_type",
    "percentage_random",
    "loops",
    "fsync",
    "fdatasync",
    "sync",
    "writefua",
    "flow",
    "flow_id",
];
/// Engines that keep more than one command in flight.
const ASYNCHRONOUS: [&str; 6] = ["libaio", "io_uring", "io_uring_cmd", "posixaio", "xnvme", "sg"];

/// Share of its rate that a job reaches on a drive that keeps up.
const REACHED: f64 = 0.95;

type Options = BTreeMap<String, serde_json::Value>;

/// What fio writes, as far as it is used.
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
    /// When it began, milliseconds since 1970 (fio 3.36 and later), and how long it ran.
    #[serde(default)]
    job_start: u64,
    #[serde(default)]
    job_runtime: u64,
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
    /// Reads results of fio; each file is a row. What cannot be used is in the notices.
    ///
    /// # Errors
    /// A file is not JSON of fio, or none has a row that can be used.
    pub fn fio(paths: &[std::path::PathBuf]) -> Result<Self, LabError> {
        let mut measured = Measured { files: paths.to_vec(), ..Measured::default() };
        for (at, path) in paths.iter().enumerate() {
            let label = path.display().to_string();
            if paths[..at].contains(path) {
                return Err(LabError::argument("fio_json", format!("{label} is given twice")));
            }
            match row(path, parse(&label, &read_text(path)?)?) {
                Ok(row) => measured.rows.push(row),
                Err(reason) => measured.notices.push(format!("{label}: not used: {reason}")),
            }
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

/// Returns two jobs that did not run at the same time, if fio says so.
fn one_after_the_other(jobs: &[Job]) -> Option<(&str, &str)> {
    let began = jobs.iter().filter(|job| job.job_start > 0 && job.job_runtime > 0);
    let first = began.clone().min_by_key(|job| job.job_start + job.job_runtime)?;
    let later = began.max_by_key(|job| job.job_start)?;
    let apart = later.job_start >= first.job_start + first.job_runtime;
    apart.then_some((&first.jobname, &later.jobname))
}

/// What a second of writes comes to.
#[derive(Clone, Copy, Default)]
struct Written {
    commands: f64,
    bytes: f64,
}

/// Returns whether several writes of these jobs, which came to so much, were always in flight.
fn is_unpaced(jobs: &str, written: Written) -> bool {
    let target =
        Target { namespace_bytes: vec![1 << 40], namespace_handles: Vec::new(), page_bytes: 4096 };
    let Ok(jobs) = JobFile::parse(jobs, "").and_then(|file| file.resolve(&target)) else {
        // The first run says what is wrong with them.
        return false;
    };
    let writers = || jobs.jobs.iter().filter(|job| job.direction.used().contains(&WRITE));
    let depth: u64 = writers().map(|job| u64::from(job.iodepth)).sum();
    if depth < 2 || writers().any(|job| job.thinktime_us > 0) {
        return false;
    }
    let asked = |rates: [Option<u64>; 3]| rates[WRITE].unwrap_or(0) as f64;
    let behind = |done: f64, asked: f64| done < REACHED * asked;
    writers().any(|job| (job.rate_iops[WRITE], job.rate[WRITE]) == (None, None))
        || behind(written.commands, writers().map(|job| asked(job.rate_iops)).sum())
        || behind(written.bytes, writers().map(|job| asked(job.rate)).sum())
}

/// Returns the row of a result, or why it cannot be used.
fn row(path: &Path, output: Output) -> Result<Row, String> {
    if let Some((first, later)) = one_after_the_other(&output.jobs) {
        return Err(format!(
            "job {later} began when {first} had ended; give each a result of its own"
        ));
    }
    let mut text = "[global]\nsize=100%\n".to_owned();
    let mut sections: Vec<(String, Options)> = Vec::new();
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
        if !["read", "write", "rw", "readwrite", "randread", "randwrite", "randrw"]
            .contains(&kind.as_str())
        {
            return Err(format!("job {name}: rw={kind}"));
        }
        let other = match kind.trim_start_matches("rand") {
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
        // Runs of wafer have no page cache, and keep any number of commands in flight.
        let own = output.version.contains("wafer");
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
        if !asynchronous {
            options.remove("iodepth");
        }
        // Clones of a job are entries of their own without group_reporting.
        let known = sections.iter().position(|(of, known)| of == name && *known == options);
        let section = known.unwrap_or(sections.len());
        if known.is_none() {
            text += &format!("[job{section}]\n");
            for (key, value) in options.iter().filter(|(key, _)| KEPT.contains(&key.as_str())) {
                let value = value.as_str().map_or(value.to_string(), str::to_owned);
                if value.contains(['\n', '\r', '[']) {
                    return Err(format!("job {name}: {key} is not one value"));
                }
                text += &format!("{key}={value}\n");
            }
            sections.push((name.clone(), options));
        }
        for (probe, direction) in probes.iter_mut().zip([&job.read, &job.write]) {
            let lower = probe.as_ref().is_none_or(|(other, ..)| depth < *other);
            if direction.iops > 0.0 && lower {
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
        unpaced: is_unpaced(&text, written),
        jobs: text,
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

    #[test]
    fn jobs_and_latency_are_taken() {
        let row = row(Path::new("/x/a.json"), parse("a", RESULT).unwrap()).unwrap();
        assert_eq!((row.name.as_str(), row.writes_per_s), ("a.json", 9000.0));
        assert_eq!(row.read.mean, Some(80.0005));
        assert_eq!(row.read.percentiles, [Some(70.0), Some(250.0), None, None, None]);
        assert_eq!(row.probes, ("job1".to_owned(), "job0".to_owned()));
        let jobs = "[global]\nsize=100%\n[job0]\nbs=4k\niodepth=16\nrate_iops=9000\nrw=randwrite\nsync=dsync\n\
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
            row(Path::new("a.json"), parse("a", &text).unwrap()).unwrap().unpaced
        };
        let rate = "\"rate_iops\": \"9000\"";
        assert!(!unpaced(&[]));
        assert!(unpaced(&[(rate, "\"loops\": \"2\"")]));
        assert!(unpaced(&[(rate, "\"rate_iops\": \"10k\"")]));
        assert!(unpaced(&[(rate, "\"rate\": \"64m\"")]));
        assert!(!unpaced(&[(rate, "\"rate\": \"36m\"")]));
        // Six writers at 1,500 each; five did not reach theirs.
        let six = (rate, "\"rate_iops\": \"1500\", \"numjobs\": \"6\"");
        assert!(!unpaced(&[six, ("\"iodepth\": \"16\"", "\"iodepth\": \"1\"")]));
        assert!(unpaced(&[six, ("\"iops\": 9000", "\"iops\": 7500")]));
        // One at a time waits for no other, and a pause is a rate.
        assert!(!unpaced(&[(rate, "\"loops\": \"2\""), ("\"16\"", "\"1\"")]));
        assert!(!unpaced(&[(rate, "\"thinktime\": \"50\"")]));
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
