//! The jobs that fio prints as one: those of a section, or those of a group with `group_reporting`.

use wafer_record::record::{JobRecord, WorkloadRecord};
use wafer_record::time::{Directions, Requests, TimeRecord};

pub(crate) struct Reported<'a> {
    /// Name of the first section.
    pub(crate) name: &'a str,
    /// The first section; `None` for a workload that is not a job file.
    pub(crate) spec: Option<&'a JobRecord>,
    /// The section whose options fio prints: the last one.
    pub(crate) options: Option<&'a JobRecord>,
    pub(crate) results: Directions,
}

/// Returns the jobs of a run in the order of their file. A workload without jobs is reported as one.
pub(crate) fn all<'a>(
    time: &'a TimeRecord,
    workload: Option<&'a WorkloadRecord>,
) -> Vec<Reported<'a>> {
    let specs = workload.map_or(&[][..], |workload| &workload.jobs);
    if specs.is_empty() && !time.jobs.is_empty() {
        let named = |(name, results): (&'a String, &Directions)| Reported {
            name,
            spec: None,
            options: None,
            results: results.clone(),
        };
        return time.jobs.iter().map(named).collect();
    }
    if specs.is_empty() {
        let TimeRecord { seconds, read, write, trim, flush, .. } = time.clone();
        let name = workload.map_or("run", |workload| &workload.kind);
        return vec![Reported {
            name,
            spec: None,
            options: None,
            results: Directions { seconds, read, write, trim, flush, ..Directions::default() },
        }];
    }
    let mut all: Vec<Reported<'a>> = Vec::new();
    for (at, spec) in specs.iter().enumerate() {
        // Sections with the same name share their results.
        let again = specs[..at].iter().any(|before| before.name == spec.name);
        let Some(results) = time.jobs.get(&spec.name).filter(|_| !again) else { continue };
        let joins = spec.options.contains_key("group_reporting");
        let last =
            all.last_mut().filter(|last| joins && last.spec.is_some_and(|l| l.group == spec.group));
        match last {
            Some(last) => {
                last.results = joined(&last.results, results);
                last.options = Some(spec);
            }
            None => all.push(Reported {
                name: &spec.name,
                spec: Some(spec),
                options: Some(spec),
                results: results.clone(),
            }),
        }
    }
    all
}

fn joined(one: &Directions, other: &Directions) -> Directions {
    let seconds = one.seconds.max(other.seconds);
    let direction = |one: &Option<Requests>, other: &Option<Requests>| match (one, other) {
        (Some(one), Some(other)) => Some(requests(one, other, seconds)),
        (Some(only), None) | (None, Some(only)) => Some(at_rate(only.clone(), seconds)),
        (None, None) => None,
    };
    Directions {
        start: one.start.min(other.start),
        seconds,
        read: direction(&one.read, &other.read),
        write: direction(&one.write, &other.write),
        trim: direction(&one.trim, &other.trim),
        flush: direction(&one.flush, &other.flush),
    }
}

/// Returns the requests with rates over this many seconds.
fn at_rate(requests: Requests, seconds: f64) -> Requests {
    let rate = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
    let (iops, bytes_per_second) = (rate(requests.count), rate(requests.bytes));
    Requests { iops, bytes_per_second, ..requests }
}

fn requests(one: &Requests, other: &Requests, seconds: f64) -> Requests {
    let count = one.count + other.count;
    let part = |of: &Requests| of.count as f64 / count.max(1) as f64;
    let mean = |value: fn(&Requests) -> f64| value(one) * part(one) + value(other) * part(other);
    let mean_us = mean(|all| all.mean_us);
    let square = mean(|all| all.deviation_us.powi(2) + all.mean_us.powi(2));
    let mut histogram = [one.histogram.as_slice(), &other.histogram].concat();
    histogram.sort_by(|a, b| a.0.total_cmp(&b.0));
    histogram.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        kept.1 += if same { next.1 } else { 0 };
        same
    });
    let joined = Requests {
        count,
        bytes: one.bytes + other.bytes,
        mean_us,
        deviation_us: (square - mean_us.powi(2)).max(0.0).sqrt(),
        min_us: one.min_us.min(other.min_us),
        max_us: one.max_us.max(other.max_us),
        histogram,
        ..Requests::default()
    };
    at_rate(joined, seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the record of requests with these latencies, in microseconds.
    fn of(latencies: &[f64], seconds: f64) -> Requests {
        let count = latencies.len() as f64;
        let mean_us = latencies.iter().sum::<f64>() / count;
        let variance = latencies.iter().map(|l| (l - mean_us).powi(2)).sum::<f64>() / count;
        let mut sorted = latencies.to_vec();
        sorted.sort_by(f64::total_cmp);
        let groups = sorted.chunk_by(|a, b| a == b);
        Requests {
            count: latencies.len() as u64,
            bytes: 4096 * latencies.len() as u64,
            iops: count / seconds,
            bytes_per_second: 4096.0 * count / seconds,
            mean_us,
            deviation_us: variance.sqrt(),
            min_us: sorted[0],
            max_us: sorted[sorted.len() - 1],
            histogram: groups.map(|all| (all[0], all.len() as u64)).collect(),
            ..Requests::default()
        }
    }

    #[test]
    fn jobs_of_a_group_are_as_one_job_with_all_requests() {
        let (one, other) = ([20.0, 30.0, 20.0, 85.5], [30.0, 1000.0, 7.0]);
        let read = |latencies: &[f64], seconds: f64| Directions {
            seconds,
            read: Some(of(latencies, seconds)),
            ..Directions::default()
        };
        let both = joined(&read(&one, 0.5), &read(&other, 2.0));
        let expected = of(&[one.as_slice(), &other].concat(), 2.0);
        let found = both.read.unwrap();
        assert!((found.mean_us - expected.mean_us).abs() < 1e-9);
        assert!((found.deviation_us - expected.deviation_us).abs() < 1e-9);
        let (mean_us, deviation_us) = (expected.mean_us, expected.deviation_us);
        assert_eq!(Requests { mean_us, deviation_us, ..found }, expected);
        let write =
            Directions { seconds: 4.0, write: Some(of(&one, 4.0)), ..Directions::default() };
        let both = joined(&write, &read(&other, 2.0));
        assert_eq!(both.read, Some(of(&other, 4.0)));
        assert_eq!((both.write, both.seconds), (write.write, 4.0));
    }
}
