//! Reads and writes over time, in at most a thousand intervals; if more are needed, pairs are merged.

use std::iter;

use wafer_media::Time;
use wafer_record::time::{IntervalSeries, TimeSeries};

use crate::latencies;

/// Maximum number of intervals.
const MOST: usize = 1000;
/// Initial length of an interval, nanoseconds.
const FIRST: Time = 1_000_000;
/// Number of latency classes, eight for each power of two: enough for 36 minutes.
const CLASSES: usize = 8 * 38;

#[derive(Clone)]
struct Interval {
    bytes: u64,
    count: u64,
    sum: u64,
    classes: [u32; CLASSES],
}

impl Interval {
    const EMPTY: Interval = Interval { bytes: 0, count: 0, sum: 0, classes: [0; CLASSES] };

    fn merge(&mut self, other: &Interval) {
        self.bytes += other.bytes;
        self.count += other.count;
        self.sum += other.sum;
        for (own, other) in self.classes.iter_mut().zip(other.classes) {
            *own = own.saturating_add(other);
        }
    }

    /// Returns the latency that 99 % of the requests do not exceed, nanoseconds.
    fn p99(&self) -> f64 {
        let mut left = (self.count as f64 * 0.99).ceil() as u64;
        for (class, count) in self.classes.iter().enumerate() {
            left = left.saturating_sub(u64::from(*count));
            if left == 0 {
                return upper(class);
            }
        }
        upper(CLASSES)
    }
}

/// Returns the class of a latency, from 8 ns on.
fn class(time: Time) -> usize {
    (latencies::class(time.max(8)) - 8).min(CLASSES - 1)
}

/// Returns the upper end of a class.
fn upper(class: usize) -> f64 {
    let power = (class >> 3) as i32;
    (9.0 + (class & 7) as f64) * 2f64.powi(power)
}

pub(crate) struct Series {
    length: Time,
    intervals: Vec<[Interval; 2]>,
    /// The interval of the last request, and its start: nearly always the next request is in the same interval.
    last: (usize, Time),
}

impl Default for Series {
    fn default() -> Self {
        Series { length: FIRST, intervals: Vec::new(), last: (0, 0) }
    }
}

impl Series {
    pub(crate) fn add(&mut self, time: Time, is_read: bool, latency: Time, bytes: u64) {
        if time.wrapping_sub(self.last.1) >= self.length {
            let mut at = (time / self.length) as usize;
            while at >= MOST {
                self.double();
                at = (time / self.length) as usize;
            }
            self.last = (at, at as u64 * self.length);
        }
        let at = self.last.0;
        if at >= self.intervals.len() {
            self.intervals.resize(at + 1, [Interval::EMPTY; 2]);
        }
        let interval = &mut self.intervals[at][usize::from(!is_read)];
        interval.bytes += bytes;
        interval.count += 1;
        interval.sum += latency;
        interval.classes[class(latency)] += 1;
    }

    fn double(&mut self) {
        self.length *= 2;
        let mut merged = Vec::with_capacity(MOST);
        for pair in self.intervals.chunks(2) {
            let mut first = pair[0].clone();
            if let Some(second) = pair.get(1) {
                first[0].merge(&second[0]);
                first[1].merge(&second[1]);
            }
            merged.push(first);
        }
        self.intervals = merged;
    }

    /// Returns the series up to `end`. A few requests in the last interval would say little about it: unless it lasts
    /// at least half as long as the others, it is merged into the previous one.
    pub(crate) fn record(&self, end: Time) -> TimeSeries {
        let end = end.max(1);
        let mut intervals = self.intervals.clone();
        let mut ends: Vec<Time> =
            (1..=intervals.len() as u64).map(|n| (n * self.length).min(end)).collect();
        if let [.., before, last] = ends[..]
            && 2 * (last - before) < self.length
        {
            let rest = intervals.pop().expect("as many as ends");
            let kept = intervals.last_mut().expect("two intervals");
            kept.iter_mut().zip(&rest).for_each(|(own, other)| own.merge(other));
            ends.remove(ends.len() - 2);
        }
        let direction = |of: usize| {
            let mut series = IntervalSeries::default();
            let starts = iter::once(0).chain(ends.iter().copied());
            for ((start, end), interval) in starts.zip(&ends).zip(intervals.iter().map(|i| &i[of]))
            {
                let some = |value: f64| (interval.count > 0).then_some(value);
                let seconds = (end - start).max(1) as f64 / 1e9;
                series.bytes_per_second.push(interval.bytes as f64 / seconds);
                series.mean_us.push(some(interval.sum as f64 / interval.count.max(1) as f64 / 1e3));
                series.p99_us.push(some(interval.p99() / 1e3));
            }
            series
        };
        TimeSeries {
            read: direction(0),
            write: direction(1),
            seconds: ends.iter().map(|ns| *ns as f64 / 1e9).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_hold_their_latencies() {
        for time in [8, 9, 100, 1234, 1 << 20, 987_654_321] {
            let end = upper(class(time));
            assert!(end > time as f64 && end <= time as f64 * 1.13, "{time}: {end}");
        }
    }

    #[test]
    fn nothing_is_lost_when_intervals_merge() {
        let mut series = Series::default();
        for i in 0..5000u64 {
            series.add(i * FIRST, i % 2 == 0, 1000, 4096);
        }
        let record = series.record(5000 * FIRST);
        assert!(record.seconds.len() <= MOST);
        let seconds = record.seconds[1] - record.seconds[0];
        let bytes: f64 = record.read.bytes_per_second.iter().map(|rate| rate * seconds).sum();
        assert!((bytes / (2500.0 * 4096.0) - 1.0).abs() < 1e-3, "{bytes}");
    }

    #[test]
    fn a_short_rest_is_part_of_the_interval_before() {
        let mut series = Series::default();
        for at in [0, FIRST / 2, FIRST, 2 * FIRST - 1, 2 * FIRST + 5] {
            series.add(at, true, 1000, 4096);
        }
        let short = series.record(2 * FIRST + FIRST / 10);
        assert_eq!(short.seconds, [0.001, 0.0021]);
        assert_eq!(short.read.bytes_per_second, [2.0 * 4096.0 / 0.001, 3.0 * 4096.0 / 0.0011]);
        let long = series.record(2 * FIRST + FIRST / 2);
        assert_eq!(long.seconds, [0.001, 0.002, 0.0025]);
        assert_eq!(long.read.bytes_per_second[2], 4096.0 / 0.0005);
    }
}
