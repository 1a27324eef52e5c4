//! The results of a run with a clock in fio's JSON output format, which fio's plotters and scripts read.
//!
//! # What it is
//! [`fio_json()`]: the format of `fio --output-format=json+` (fio 3.x, `show_thread_status_json` in stat.c). Jobs are
//! in the order of their file; those of a group with `group_reporting` are reported as one, and so are clones even
//! without it. Percentiles and bins are of the latency from submission to completion, which is both `clat_ns` and
//! `lat_ns`, because submission takes no time.
//!
//! # Invariants
//! The keys are those of fio, except for the shares of queue depths (`iodepth_level`, `iodepth_submit`,
//! `iodepth_complete`) and `disk_util`, which a run does not record, and for an additional `namespace_bytes`, the size
//! of the namespace that `offset` and `size` refer to. `job_start` is in model time, milliseconds from the start of the
//! run.
//!
//! # Error model
//! A run without a clock has no such results; nothing else fails.

mod reported;

use reported::Reported;
use serde_json::{Map, Value, json};
use wafer_record::Record;
use wafer_record::record::{FigureRecord, JobRecord};
use wafer_record::time::{Direction, Directions, Requests};

/// fio's default percentiles.
const PERCENTILES: [f64; 17] = [
    1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95,
    99.99,
];

/// Returns the record as fio prints results; `None` for a run without a clock.
pub fn fio_json(record: &Record) -> Option<Value> {
    let time = record.time.as_ref()?;
    let started = record.provenance.started.clone().unwrap_or_default();
    let jobs = reported::all(time, record.provenance.workload.as_ref());
    let jobs = jobs.iter().map(|Reported { name, spec, options: given, results }| {
        let spec = *spec;
        let group = spec.map_or(0, |spec| spec.group);
        let mut value = self::job(name, group, results, given.map(options));
        for (key, found) in latency_target(spec, &record.application) {
            value[key] = found;
        }
        if let Some(bytes) = spec.map(|spec| spec.namespace_bytes).filter(|bytes| *bytes > 0) {
            value["namespace_bytes"] = bytes.into();
        }
        if let Some(steady) = spec.and_then(|spec| steady_state(spec, &record.application)) {
            value["steadystate"] = steady;
        }
        value
    });
    Some(json!({
        "fio version": concat!("fio-3.42 (wafer ", env!("CARGO_PKG_VERSION"), ")"),
        "timestamp": 0,
        "timestamp_ms": 0,
        "time": started,
        "global options": {},
        "jobs": jobs.collect::<Vec<Value>>(),
    }))
}

/// Returns the options of a job under fio's names, as text.
fn options(spec: &JobRecord) -> Value {
    let mut options = json!({
        "name": spec.name,
        "rw": spec.rw,
        "iodepth": spec.iodepth.to_string(),
        "numjobs": spec.count.to_string(),
        "offset": spec.offset.to_string(),
        "size": spec.size.to_string(),
    });
    for (name, value) in &spec.options {
        options[name] = value.as_str().into();
    }
    let sizes = match &spec.bs {
        split if split.contains('/') => "bssplit",
        range if range.contains('-') => "bsrange",
        _ => "bs",
    };
    // Sizes that differ by direction are already among the options.
    if ["bs", "bsrange", "bssplit"].iter().all(|name| options.get(name).is_none()) {
        options[sizes] = spec.bs.replace("KiB", "k").replace("MiB", "m").into();
    }
    options
}

/// Returns the criterion of a job with `latency_target`, and the depth that it found; fio's defaults for another job.
fn latency_target(
    spec: Option<&JobRecord>,
    figures: &[FigureRecord],
) -> [(&'static str, Value); 4] {
    let option = |name: &str| spec.and_then(|spec| spec.options.get(name));
    let us = |name: &str| option(name).and_then(|us| us.strip_suffix("us")?.parse::<u64>().ok());
    let percentile = option("latency_percentile").and_then(|percent| percent.parse::<f64>().ok());
    let depth = figures
        .iter()
        .find(|f| f.name == "latency_depth" && spec.is_some_and(|spec| spec.name == f.tenant));
    [
        ("latency_depth", depth.map_or(0, |depth| depth.value as u64).into()),
        ("latency_target", us("latency_target").unwrap_or(0).into()),
        ("latency_percentile", percentile.unwrap_or(100.0).into()),
        ("latency_window", us("latency_window").unwrap_or(0).into()),
    ]
}

/// Returns the result of `steadystate` for a job; for clones that were watched individually, rates are their sums. The
/// values of individual intervals are omitted, since a run does not record them.
fn steady_state(spec: &JobRecord, figures: &[FigureRecord]) -> Option<Value> {
    let criterion = spec.steady_state.as_deref()?;
    let of = |name: &str| -> Vec<f64> {
        let own = figures.iter().filter(|f| f.tenant == spec.name && f.name == name);
        own.map(|figure| figure.value).collect()
    };
    let sum = |name| of(name).iter().sum::<f64>() as u64;
    let attained = of("steady_state");
    let greatest =
        |name| of(name).into_iter().max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(0.0);
    let (change, compared) = (greatest("steady_state_change"), greatest("steady_state_criterion"));
    let (measure, limit) = criterion.split_once(':')?;
    let (limit, percent) = limit.strip_suffix('%').map_or((limit, ""), |limit| (limit, "%"));
    let (slope, deviation) =
        if measure.ends_with("_slope") { (change, 0.0) } else { (0.0, change) };
    Some(json!({
        "ss": format!("{measure}:{:.6}{percent}", limit.parse::<f64>().ok()?),
        "duration": spec.steady_state_seconds.unwrap_or(0),
        "attained": u8::from(!attained.is_empty() && attained.iter().all(|one| *one > 0.0)),
        "criterion": format!("{compared:.6}{percent}"),
        "max_deviation": deviation,
        "slope": slope,
        "data": { "bw_mean": sum("steady_state_bandwidth"), "iops_mean": sum("steady_state_iops") },
    }))
}

/// Upper ends of fio's latency classes in each unit; larger latencies belong to the next unit.
const NANOSECONDS: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
const MILLISECONDS: [u64; 11] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000];

/// Returns the percentage of requests in fio's classes of nanoseconds, microseconds and milliseconds.
fn classes(job: &Directions) -> [Map<String, Value>; 3] {
    // Reads, writes and trims only, as in fio.
    let requests = || {
        let all = job.each().filter(|(direction, _)| *direction != Direction::Flush);
        all.map(|(_, requests)| requests)
    };
    let all: u64 = requests().map(|requests| requests.count).sum();
    // fio counts a latency in the first class whose upper end it does not exceed.
    let up_to = |us: f64| -> u64 {
        let bins = requests().flat_map(|requests| &requests.histogram);
        bins.filter(|(latency, _)| *latency <= us).map(|(_, count)| count).sum()
    };
    let percent = |count: u64| count as f64 * 100.0 / all.max(1) as f64;
    let mut before = 0;
    let mut unit = |ends: &[u64], us: f64| {
        let class = |end: &u64| {
            let seen = up_to(*end as f64 * us);
            let count = seen - std::mem::replace(&mut before, seen);
            (end.to_string(), percent(count).into())
        };
        ends.iter().map(class).collect::<Map<String, Value>>()
    };
    let (ns, us) = (unit(&NANOSECONDS, 1e-3), unit(&NANOSECONDS, 1.0));
    let mut ms = unit(&MILLISECONDS, 1e3);
    ms.insert(">=2000".to_owned(), percent(all - before).into());
    [ns, us, ms]
}

fn job(name: &str, group: u32, job: &Directions, options: Option<Value>) -> Value {
    let seconds = job.seconds;
    let milliseconds = (seconds * 1e3).round() as u64;
    let [latency_ns, latency_us, latency_ms] = classes(job);
    json!({
        "jobname": name,
        "groupid": group,
        "job_start": (job.start * 1e3).round() as u64,
        "error": 0,
        "eta": 0,
        "elapsed": seconds.ceil() as u64,
        "job options": options.unwrap_or_else(|| json!({})),
        "read": direction(job.read.as_ref(), milliseconds),
        "write": direction(job.write.as_ref(), milliseconds),
        "trim": direction(job.trim.as_ref(), milliseconds),
        "sync": {
            "total_ios": job.flush.as_ref().map_or(0, |all| all.count),
            "lat_ns": latency(job.flush.as_ref()),
        },
        "job_runtime": milliseconds,
        "usr_cpu": 0.0,
        "sys_cpu": 0.0,
        "ctx": 0,
        "majf": 0,
        "minf": 0,
        "latency_ns": latency_ns,
        "latency_us": latency_us,
        "latency_ms": latency_ms,
    })
}

fn direction(requests: Option<&Requests>, milliseconds: u64) -> Value {
    let none = Requests::default();
    let all = requests.unwrap_or(&none);
    let runtime = if requests.is_some() { milliseconds } else { 0 };
    let (kib, samples) = (all.bytes_per_second / 1024.0, u64::from(all.count > 0));
    json!({
        "io_bytes": all.bytes,
        "io_kbytes": all.bytes >> 10,
        "bw_bytes": all.bytes_per_second.round() as u64,
        "bw": kib.round() as u64,
        "iops": all.iops,
        "runtime": runtime,
        "total_ios": all.count,
        "short_ios": 0,
        "drop_ios": 0,
        "slat_ns": { "min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0 },
        "clat_ns": latency(requests),
        "lat_ns": latency(requests),
        // The whole run is the only sample.
        "bw_min": kib.round() as u64,
        "bw_max": kib.round() as u64,
        "bw_agg": if samples > 0 { 100.0 } else { 0.0 },
        "bw_mean": kib,
        "bw_dev": 0.0,
        "bw_samples": samples,
        "iops_min": all.iops.round() as u64,
        "iops_max": all.iops.round() as u64,
        "iops_mean": all.iops,
        "iops_stddev": 0.0,
        "iops_samples": samples,
    })
}

fn latency(requests: Option<&Requests>) -> Value {
    let none = Requests::default();
    let all = requests.unwrap_or(&none);
    let ns = |us: f64| (us * 1e3).round() as u64;
    let mut value = json!({
        "min": ns(all.min_us),
        "max": ns(all.max_us),
        "mean": all.mean_us * 1e3,
        "stddev": all.deviation_us * 1e3,
        "N": all.count,
    });
    if all.count > 0 {
        let percentile = PERCENTILES
            .iter()
            .map(|percent| (format!("{percent:.6}"), ns(at(all, *percent)).into()));
        value["percentile"] = Value::Object(percentile.collect());
        let bins = all.histogram.iter().map(|(us, count)| (ns(*us).to_string(), (*count).into()));
        value["bins"] = Value::Object(bins.collect());
    }
    value
}

/// Returns the latency that this many percent of the requests do not exceed, microseconds.
fn at(requests: &Requests, percent: f64) -> f64 {
    let wanted = (percent / 100.0 * requests.count as f64).ceil() as u64;
    let mut seen = 0;
    for (us, count) in &requests.histogram {
        seen += count;
        if seen >= wanted {
            return *us;
        }
    }
    requests.max_us
}
