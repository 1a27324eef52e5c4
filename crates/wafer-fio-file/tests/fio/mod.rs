//! Runs the installed fio and compares samples.

use std::collections::BTreeMap;
use std::process::Command as Process;

use wafer_fio::JobStream;
use wafer_fio::job::JobSpec;
use wafer_interface::{LBA_BYTES, Op};

/// An operation, its first byte and its length in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Io {
    pub(crate) op: Op,
    pub(crate) at: u64,
    pub(crate) bytes: u64,
}

/// Returns the commands that fio issues with these options. fio's seeds are fixed by default, so it always issues the
/// same ones.
pub(crate) fn fio(options: &str) -> Vec<Io> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let log = dir.path().join("log");
    let output = Process::new("fio")
        .args(["--name=job", "--ioengine=null"])
        .args(options.split_whitespace())
        .arg(format!("--write_iolog={}", log.display()))
        .current_dir(dir.path())
        .output()
        .unwrap_or_else(|e| {
            panic!("these tests compare with fio: install fio 3.33 or later ({e})")
        });
    assert!(output.status.success(), "fio {options}: {}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(&log).expect("fio's log");
    // Version 3: time, file, action, offset, length; version 2 has no time.
    let mut ios = Vec::new();
    for line in text.lines().skip(1) {
        let words: Vec<&str> = line.split(' ').collect();
        let [.., action, at, bytes] = words[..] else { continue };
        let op = match action {
            "read" => Op::Read,
            "write" => Op::Write,
            "trim" => Op::Deallocate,
            _ => continue,
        };
        ios.push(Io { op, at: at.parse().expect("offset"), bytes: bytes.parse().expect("length") });
    }
    assert!(!ios.is_empty(), "fio {options}: nothing done");
    ios
}

/// Returns the number of commands that fio reports for each job of a file.
pub(crate) fn commands_of_jobs(text: &str) -> Vec<u64> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    std::fs::write(dir.path().join("jobs.fio"), text).expect("a job file");
    let output = Process::new("fio")
        .args(["jobs.fio", "--output-format=json", "--output=report.json"])
        .current_dir(dir.path())
        .output()
        .unwrap_or_else(|e| panic!("install fio 3.33 or later ({e})"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report = std::fs::read(dir.path().join("report.json")).expect("fio's report");
    let report: serde_json::Value = serde_json::from_slice(&report).expect("JSON");
    let jobs = report["jobs"].as_array().expect("jobs").iter();
    let of = |job: &serde_json::Value, way| job[way]["total_ios"].as_u64().unwrap_or(0);
    jobs.map(|job| of(job, "read") + of(job, "write") + of(job, "trim")).collect()
}

/// Returns at most `max` commands of our job.
pub(crate) fn ours(spec: &JobSpec, max: usize) -> Vec<Io> {
    let mut out = Vec::new();
    JobStream::new(spec, 20_240_101, 0).expect("a good job").fill(&mut out, max);
    let io = |c: wafer_interface::Command| Io { op: c.op, at: c.lba * LBA_BYTES, bytes: c.bytes() };
    out.into_iter().map(io).collect()
}

/// Kolmogorov-Smirnov test: asserts that two samples come from one distribution, at a level of 0.1 %.
pub(crate) fn same_distribution<T: PartialOrd + Copy>(what: &str, a: &[T], b: &[T]) {
    assert!(a.len() > 100 && b.len() > 100, "{what}: samples of {} and {}", a.len(), b.len());
    let sorted = |s: &[T]| {
        let mut s = s.to_vec();
        s.sort_by(|x, y| x.partial_cmp(y).expect("ordered"));
        s
    };
    let (x, y) = (sorted(a), sorted(b));
    let (n, m) = (x.len() as f64, y.len() as f64);
    let (mut i, mut j, mut distance) = (0, 0, 0.0f64);
    while i < x.len() && j < y.len() {
        let value = if x[i] < y[j] { x[i] } else { y[j] };
        while i < x.len() && x[i] <= value {
            i += 1;
        }
        while j < y.len() && y[j] <= value {
            j += 1;
        }
        distance = distance.max((i as f64 / n - j as f64 / m).abs());
    }
    let limit = 1.95 * ((n + m) / (n * m)).sqrt();
    assert!(distance < limit, "{what}: distributions are {distance:.4} apart, limit {limit:.4}");
}

pub(crate) fn counts<K: Ord>(keys: impl Iterator<Item = K>) -> BTreeMap<K, u64> {
    let mut counts = BTreeMap::new();
    for key in keys {
        *counts.entry(key).or_insert(0) += 1;
    }
    counts
}

/// Chi-square test: asserts that each key is equally frequent in both, except for chance. Keys seen fewer than 20 times
/// are pooled.
pub(crate) fn same_counts<K: Ord + Copy + std::fmt::Debug>(
    what: &str,
    a: &BTreeMap<K, u64>,
    b: &BTreeMap<K, u64>,
) {
    let (n, m) = (a.values().sum::<u64>() as f64, b.values().sum::<u64>() as f64);
    let of = |c: &BTreeMap<K, u64>, key: &K| c.get(key).copied().unwrap_or(0);
    let mut keys: Vec<&K> = a.keys().chain(b.keys()).collect();
    keys.sort();
    keys.dedup();
    let (mut sum, mut kinds, mut rare) = (0.0, 0.0, (0, 0));
    let mut add = |x: u64, y: u64| {
        let part = ((m / n).sqrt() * x as f64 - (n / m).sqrt() * y as f64).powi(2) / (x + y) as f64;
        sum += part;
        kinds += 1.0;
    };
    for key in keys {
        let (x, y) = (of(a, key), of(b, key));
        if x + y < 20 {
            rare = (rare.0 + x, rare.1 + y);
        } else {
            add(x, y);
        }
    }
    if rare.0 + rare.1 >= 20 {
        add(rare.0, rare.1);
    }
    let freedom: f64 = kinds - 1.0;
    // Mean `freedom`, variance twice that; the upper tail of chi-square is longer, hence the 2.
    let limit = freedom + 4.0 * (2.0 * freedom).sqrt() + 2.0;
    assert!(sum < limit.max(11.0), "{what}: chi-square {sum:.1} of {freedom} degrees of freedom");
}

/// Asserts that a share of a sample is within 4 standard deviations of the expected one.
pub(crate) fn share(what: &str, hits: usize, of: usize, expected: f64) {
    let found = hits as f64 / of as f64;
    let limit = 4.0 * (expected * (1.0 - expected) / of as f64).sqrt();
    assert!((found - expected).abs() < limit, "{what}: {found:.4}, not {expected:.4}");
}
