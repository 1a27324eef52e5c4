//! The statistics as a record.

use std::collections::BTreeMap;

use wafer_interface::{NsId, Placement, RuhId, TimingConfig};
use wafer_media::{MediaCounts, PARTS, Time, WORKS, Work};
use wafer_record::time::{Band, Direction, Directions, Requests};
use wafer_record::{HandleKey, TimeRecord};

use crate::latencies::Latencies;
use crate::statistics::{Group, Span, Statistics};

const COUNT: usize = Direction::ALL.len();
type ByDirection = [Latencies; COUNT];

/// Pairs of percentiles between which the parts of latencies are recorded.
const BANDS: [(f64, f64); 6] =
    [(0.0, 50.0), (50.0, 90.0), (90.0, 99.0), (99.0, 99.9), (99.9, 99.99), (99.99, 100.0)];

impl Statistics {
    /// Returns the results from model time `from` to `now`, during which the media did `done` on `dies` dies.
    pub fn record(
        &self,
        (from, now): (Time, Time),
        (done, dies): (MediaCounts, usize),
        timing: &TimingConfig,
        handle_of: impl Fn(NsId, Placement) -> Option<RuhId>,
    ) -> TimeRecord {
        let seconds = (now - from) as f64 / 1e9;
        let mut all = ByDirection::default();
        let mut jobs: BTreeMap<&str, (ByDirection, Span)> = BTreeMap::new();
        let (mut rates, mut is_result) = ([0.0; COUNT], vec![false; self.jobs.len()]);
        for (number, job) in self.results() {
            is_result[number] = true;
            let of_job = self.sum(|group| group.job == Some(number));
            merge(&mut all, &of_job);
            let measured = job.measured(now);
            for (rate, latencies) in rates.iter_mut().zip(&of_job) {
                *rate += latencies.count() as f64 / measured.seconds().max(1e-9);
            }
            let (sum, span) =
                (jobs.entry(&job.name)).or_insert_with(|| (ByDirection::default(), measured));
            merge(sum, &of_job);
            span.join(measured);
        }
        if self.jobs.is_empty() {
            all = self.sum(|_| true);
        }
        let mut handles: BTreeMap<u16, Latencies> = BTreeMap::new();
        let counts = |group: &Group| group.job.is_none_or(|job| is_result[job]);
        for (group, latencies) in self.groups.iter().filter(|(group, _)| counts(group)) {
            if group.direction == Direction::Write
                && let Some(handle) = handle_of(group.namespace, group.placement)
            {
                handles.entry(handle.0).or_default().merge(latencies);
            }
        }
        // After a search for a queue depth, the results of a job cover less than the run: total rates are the sums of
        // the jobs' rates.
        let measured: [f64; COUNT] = std::array::from_fn(|of| match self.searches() {
            true => all[of].count() as f64 / f64::max(rates[of], 1e-9),
            false => seconds,
        });
        let whole = (dies as f64 * (now - from) as f64).max(1.0);
        let mut shares: BTreeMap<String, f64> = (WORKS.iter())
            .map(|work| (name(*work).to_owned(), done.dies.of(*work) as f64 / whole))
            .collect();
        let busy = done.dies.busy() as f64;
        shares.insert("idle".to_owned(), (1.0 - busy / whole).max(0.0));
        let power = &timing.power;
        let energy_joules = power.idle_w * seconds
            + power.die_w * busy / 1e9
            + power.channel_pj * done.channel_bytes as f64 / 1e12
            + power.link_pj * done.link_bytes as f64 / 1e12;
        let Directions { read, write, trim, flush, .. } = directions(&all, measured, Detail::Bands);
        TimeRecord {
            seconds,
            read,
            write,
            trim,
            flush,
            jobs: (jobs.iter())
                .map(|(name, (all, span))| {
                    let start = if span.to > 0 { span.from as f64 / 1e9 } else { 0.0 };
                    let all = directions(all, [span.seconds(); COUNT], Detail::Histogram);
                    ((*name).to_owned(), Directions { start, ..all })
                })
                .collect(),
            handles: (handles.iter())
                .filter_map(|(handle, all)| {
                    Some((
                        HandleKey::Handle(*handle),
                        requests(all, measured[Direction::Write as usize], Detail::Percentiles)?,
                    ))
                })
                .collect(),
            namespaces: (1..)
                .zip(
                    (0..self.namespaces)
                        .map(|at| self.sum(|group| group.namespace.index() == at && counts(group))),
                )
                .map(|(nsid, all)| (nsid, directions(&all, measured, Detail::Percentiles)))
                .collect(),
            dies: shares,
            energy_joules,
            mean_watts: if seconds > 0.0 { energy_joules / seconds } else { 0.0 },
            life: None,
            late_us: BTreeMap::new(),
            metadata_bytes: done.metadata_bytes,
            series: self.series.record(now),
        }
    }

    /// Returns the latencies of the chosen groups.
    fn sum(&self, is_chosen: impl Fn(&Group) -> bool) -> ByDirection {
        let mut sum = ByDirection::default();
        for (group, latencies) in self.groups.iter().filter(|(group, _)| is_chosen(group)) {
            sum[group.direction as usize].merge(latencies);
        }
        sum
    }
}

/// The amount of detail recorded about a set of requests.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Detail {
    Percentiles,
    Histogram,
    Bands,
}

fn merge(sum: &mut ByDirection, part: &ByDirection) {
    sum.iter_mut().zip(part).for_each(|(sum, part)| sum.merge(part));
}

fn name(work: Work) -> &'static str {
    match work {
        Work::HostProgram => "host_program",
        Work::GcProgram => "gc_program",
        Work::MetadataProgram => "metadata_program",
        Work::BackgroundRead => "gc_read",
        Work::Erase => "erase",
        Work::HostRead => "host_read",
        Work::FoldProgram => "fold_program",
    }
}

/// Returns the results of each direction, measured over a number of seconds.
fn directions(all: &ByDirection, seconds: [f64; COUNT], detail: Detail) -> Directions {
    let of = |direction: Direction| {
        requests(&all[direction as usize], seconds[direction as usize], detail)
    };
    Directions {
        start: 0.0,
        seconds: seconds.into_iter().fold(0.0, f64::max),
        read: of(Direction::Read),
        write: of(Direction::Write),
        trim: of(Direction::Trim),
        flush: of(Direction::Flush),
    }
}

fn requests(latencies: &Latencies, seconds: f64, detail: Detail) -> Option<Requests> {
    if latencies.count() == 0 {
        return None;
    }
    let us = |ns: u64| ns as f64 / 1e3;
    let seconds = seconds.max(1e-9);
    let band = |(from, to): (f64, f64)| {
        let parts = PARTS.iter().zip(latencies.parts(from, to)).filter(|(_, ns)| *ns > 0.0);
        let parts_us = parts.map(|((_, name), ns)| ((*name).to_owned(), ns / 1e3)).collect();
        Band { from, to, parts_us }
    };
    Some(Requests {
        count: latencies.count(),
        bytes: latencies.bytes,
        iops: latencies.count() as f64 / seconds,
        bytes_per_second: latencies.bytes as f64 / seconds,
        mean_us: latencies.mean() / 1e3,
        deviation_us: latencies.deviation() / 1e3,
        min_us: us(latencies.min()),
        max_us: us(latencies.max()),
        percentiles_us: latencies.percentiles_us(),
        bands: if detail == Detail::Bands {
            BANDS.into_iter().map(band).collect()
        } else {
            Vec::new()
        },
        histogram: if detail >= Detail::Histogram {
            latencies.bins().map(|(time, count)| (us(time), count)).collect()
        } else {
            Vec::new()
        },
    })
}
