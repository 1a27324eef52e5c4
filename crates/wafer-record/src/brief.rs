//! Brief records, for thousands of runs: totals, provenance and a thinned timeline.

use crate::{Record, Series, Timeline};

/// Minimum number of samples of a brief record.
const LEAST: usize = 4;

impl Record {
    /// Returns the record with about `numbers` values in its timeline, without what readers can compute, without the
    /// table of reclaim units, and without time series and histograms.
    ///
    /// Totals, provenance and the digest remain those of the full record.
    pub fn brief(mut self, numbers: usize) -> Record {
        let points = numbers / self.timeline.series();
        self.timeline = self.timeline.thinned(points.max(LEAST));
        self.metrics = None;
        self.findings = None;
        self.reclaim_units = None;
        if let Some(time) = &mut self.time {
            time.series = Default::default();
            let all = [&mut time.read, &mut time.write, &mut time.trim, &mut time.flush];
            for requests in all.into_iter().flatten() {
                requests.histogram.clear();
            }
        }
        self
    }
}

impl Timeline {
    /// Returns the number of series of the device and all handles.
    fn series(&self) -> usize {
        let optional = [self.seconds.is_empty(), self.erased_bytes.is_empty()];
        2 + 2 * self.handles.len() + optional.into_iter().filter(|empty| !empty).count()
    }

    /// Returns at most `points` samples (at least 2), evenly spaced by number and including the last one.
    pub fn thinned(self, points: usize) -> Timeline {
        let (count, points) = (self.host_bytes.len(), points.max(2));
        if count <= points {
            return self;
        }
        let kept: Vec<usize> = (1..=points).map(|n| (n * count).div_ceil(points) - 1).collect();
        Timeline {
            host_bytes: at(&self.host_bytes, &kept),
            media_bytes: at(&self.media_bytes, &kept),
            seconds: at(&self.seconds, &kept),
            erased_bytes: at(&self.erased_bytes, &kept),
            handles: self
                .handles
                .into_iter()
                .map(|(key, series)| {
                    let host_bytes = at(&series.host_bytes, &kept);
                    (key, Series { host_bytes, media_bytes: at(&series.media_bytes, &kept) })
                })
                .collect(),
        }
    }
}

/// Returns the values at the indices; empty for a series that was not recorded.
fn at<T: Copy>(values: &[T], indexes: &[usize]) -> Vec<T> {
    indexes.iter().filter_map(|index| values.get(*index).copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline(count: u64) -> Timeline {
        let host_bytes: Vec<u64> = (1..=count).map(|n| 10 * n).collect();
        let media_bytes: Vec<u64> = host_bytes.iter().map(|host| 2 * host).collect();
        let series = Series { host_bytes: host_bytes.clone(), media_bytes: media_bytes.clone() };
        let handles = [(crate::HandleKey::Handle(3), series)].into();
        Timeline { host_bytes, media_bytes, handles, ..Timeline::default() }
    }

    #[test]
    fn thinned_keeps_the_end_and_even_steps() {
        let thin = timeline(100).thinned(4);
        assert_eq!(thin.host_bytes, [250, 500, 750, 1000]);
        assert_eq!(thin.handles[&crate::HandleKey::Handle(3)].media_bytes, [500, 1000, 1500, 2000]);
        assert!(thin.seconds.is_empty());
        for count in 1..40 {
            for points in 0..45 {
                let thin = timeline(count).thinned(points);
                assert_eq!(thin.host_bytes.last(), Some(&(10 * count)));
                assert_eq!(thin.host_bytes.len() as u64, count.min(points.max(2) as u64));
                assert!(thin.host_bytes.is_sorted_by(|a, b| a < b));
            }
        }
    }
}
