//! Percentiles of latencies, and the components of latencies by percentile band.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use wafer_media::{PARTS, Parts, Time};
use wafer_record::time::PERCENTILES;

/// Latencies of one kind of request.
#[derive(Clone, Debug)]
pub struct Latencies {
    /// Exact within 1 %.
    histogram: Histogram<u64>,
    /// Number of requests and sums of their parts, by `class` of the latency.
    parts: Vec<(u64, Parts)>,
    sum: u128,
    sum_of_squares: u128,
    least: Time,
    most: Time,
    /// Bytes of all requests.
    pub bytes: u64,
}

impl Default for Latencies {
    fn default() -> Self {
        // Two digits are always valid.
        let histogram = Histogram::new(2).unwrap_or_else(|_| unreachable!("two digits"));
        let (least, most) = (Time::MAX, 0);
        Latencies { histogram, parts: Vec::new(), sum: 0, sum_of_squares: 0, least, most, bytes: 0 }
    }
}

/// Returns the class of a latency: eight for each power of two.
pub(crate) fn class(time: Time) -> usize {
    if time < 8 {
        return time as usize;
    }
    let power = 63 - time.leading_zeros();
    ((power as usize - 2) << 3) + (time >> (power - 3) & 7) as usize
}

impl Latencies {
    /// Adds a request.
    pub fn add(&mut self, time: Time, bytes: u64, parts: &Parts) {
        // The histogram resizes itself.
        let _ = self.histogram.record(time);
        self.sum += u128::from(time);
        self.sum_of_squares += u128::from(time) * u128::from(time);
        (self.least, self.most) = (self.least.min(time), self.most.max(time));
        self.bytes += bytes;
        let class = class(time);
        if class >= self.parts.len() {
            self.parts.resize(class + 1, Default::default());
        }
        let (count, sums) = &mut self.parts[class];
        *count += 1;
        for (sum, part) in sums.0.iter_mut().zip(parts.0) {
            *sum = sum.saturating_add(part);
        }
    }

    /// Adds all latencies of `other`.
    pub fn merge(&mut self, other: &Latencies) {
        // The histogram resizes itself.
        let _ = self.histogram.add(&other.histogram);
        self.sum += other.sum;
        self.sum_of_squares += other.sum_of_squares;
        (self.least, self.most) = (self.least.min(other.least), self.most.max(other.most));
        self.bytes += other.bytes;
        if self.parts.len() < other.parts.len() {
            self.parts.resize(other.parts.len(), Default::default());
        }
        for ((count, sums), (more, other)) in self.parts.iter_mut().zip(&other.parts) {
            *count += more;
            for (sum, part) in sums.0.iter_mut().zip(other.0) {
                *sum = sum.saturating_add(part);
            }
        }
    }

    /// Returns the number of requests.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Returns the mean, nanoseconds; 0 without requests.
    pub fn mean(&self) -> f64 {
        if self.count() == 0 { 0.0 } else { self.sum as f64 / self.count() as f64 }
    }

    /// Returns the standard deviation, nanoseconds.
    pub fn deviation(&self) -> f64 {
        if self.count() == 0 {
            return 0.0;
        }
        (self.sum_of_squares as f64 / self.count() as f64 - self.mean().powi(2)).max(0.0).sqrt()
    }

    /// Returns the minimum latency.
    pub fn min(&self) -> Time {
        if self.count() == 0 { 0 } else { self.least }
    }

    /// Returns the maximum latency.
    pub fn max(&self) -> Time {
        self.most
    }

    /// Returns the latency that `percent` percent of the requests do not exceed, within 1 %.
    pub fn percentile(&self, percent: f64) -> Time {
        self.histogram.value_at_percentile(percent)
    }

    /// Returns the latencies at the percentiles of a record, microseconds; empty without requests.
    pub fn percentiles_us(&self) -> BTreeMap<String, f64> {
        let all = PERCENTILES.iter().filter(|_| self.count() > 0);
        all.map(|percent| (percent.to_string(), self.percentile(*percent) as f64 / 1e3)).collect()
    }

    /// Returns the latency and number of requests of each nonempty class of the histogram.
    pub fn bins(&self) -> impl Iterator<Item = (Time, u64)> + '_ {
        self.histogram.iter_recorded().map(|bin| (bin.value_iterated_to(), bin.count_at_value()))
    }

    /// Returns the mean parts, nanoseconds, of the requests between two percentiles.
    pub fn parts(&self, from: f64, to: f64) -> [f64; PARTS.len()] {
        let all = self.count() as f64;
        let (low, high) = (from / 100.0 * all, to / 100.0 * all);
        let (mut seen, mut weight, mut sums) = (0.0, 0.0, [0.0; PARTS.len()]);
        for (count, parts) in self.parts.iter().filter(|(count, _)| *count > 0) {
            let count = *count as f64;
            let inside = ((seen + count).min(high) - seen.max(low)).max(0.0);
            seen += count;
            weight += inside;
            for (sum, part) in sums.iter_mut().zip(parts.0) {
                *sum += part as f64 * inside / count;
            }
        }
        sums.map(|sum| if weight > 0.0 { sum / weight } else { 0.0 })
    }
}

#[cfg(test)]
mod tests {
    use wafer_media::Part;

    use super::*;

    #[test]
    fn the_least_and_the_greatest_are_exact() {
        let mut all = Latencies::default();
        assert_eq!((all.min(), all.max()), (0, 0));
        for time in [1_234_567, 7_654_321, 5_000_001] {
            let mut one = Latencies::default();
            one.add(time, 4096, &Parts::default());
            assert_eq!((one.min(), one.max()), (time, time));
            all.merge(&one);
        }
        assert_eq!((all.min(), all.max()), (1_234_567, 7_654_321));
    }

    #[test]
    fn classes_are_in_order_and_eight_for_a_power_of_two() {
        let mut before = 0;
        for time in 0..100_000 {
            let class = class(time);
            assert!(class == before || class == before + 1, "{time}");
            before = class;
        }
        assert_eq!(class(1 << 20) - class(1 << 19), 8);
    }

    #[test]
    fn a_band_consists_of_the_requests_in_it() {
        let mut all = Latencies::default();
        for i in 0..1000u64 {
            let slow = i % 10 == 9;
            let mut parts = Parts::default();
            parts
                .add(if slow { Part::Erase } else { Part::Cells }, if slow { 10_000 } else { 100 });
            all.add(parts.total(), 4096, &parts);
        }
        assert_eq!(all.parts(0.0, 90.0)[Part::Cells as usize], 100.0);
        assert_eq!(all.parts(90.0, 100.0)[Part::Erase as usize], 10_000.0);
        assert_eq!(all.mean(), 1090.0);
        let p50 = all.percentile(50.0);
        assert!((99..=101).contains(&p50), "{p50}");
    }
}
