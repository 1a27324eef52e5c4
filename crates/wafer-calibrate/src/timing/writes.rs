//! Determines the write times in closed form from rows: the highest rate, the time of a single write, and the rate
//! at which writes begin to wait.
//!
//! If a drive cannot keep up with a rate, writes wait for milliseconds. Writers without a rate never wait longer than
//! their queue depth allows: they are at the highest rate if a write takes several times as long as a single one.

use wafer_interface::TimingConfig;
use wafer_record::Summary;

use super::measured::{Pace, Row};

/// Median latency, or mean write latency, above which a drive is saturated, in microseconds.
const SATURATED_US: f64 = 500.0;
/// A write waits if its tail exceeds a single write by this, in microseconds.
const WAITS_US: f64 = 30.0;

/// Multiples of a single write's latency above which writers without a rate are at the highest one: if rows give that
/// latency, and if only the device does.
const QUEUES: (f64, f64) = (1.5, 4.0);

/// Decides which rows are at the highest rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Saturation<'a> {
    timing: &'a TimingConfig,
    /// Latency of a single write without the transfer of its bytes, and the multiple of it that writers without a rate
    /// exceed at the highest rate.
    alone: (f64, f64),
}

impl<'a> Saturation<'a> {
    /// Compares with the single writes of paced rows, or else of the device.
    pub(crate) fn of<'b>(
        rows: impl IntoIterator<Item = &'b Row>,
        timing: &'a TimingConfig,
    ) -> Self {
        let paced: Vec<&Row> = rows.into_iter().filter(|row| row.pace != Pace::Queue).collect();
        let told = alone(paced.iter().copied(), timing).filter(|us| *us <= SATURATED_US);
        let of_device = (timing.write_overhead_us, QUEUES.1);
        Saturation { timing, alone: told.map_or(of_device, |us| (us, QUEUES.0)) }
    }

    /// Returns whether the drive could not keep up with a row.
    pub(crate) fn has_reached(self, row: &Row) -> bool {
        let middle = [row.write.percentiles[0], row.write.mean, row.read.percentiles[0]];
        let queued_us = self.alone.1 * (self.alone.0 + passage_us(self.timing, row));
        middle.into_iter().flatten().any(|us| us > SATURATED_US)
            || (row.pace == Pace::Queue && row.write.mean.is_some_and(|us| us > queued_us))
    }
}

/// Returns the time of a row's write on the link and in the controller, in microseconds.
fn passage_us(timing: &TimingConfig, row: &Row) -> f64 {
    row.write_bytes / timing.link_write.0 as f64 * 1e6
        + timing.write_iops.map_or(0.0, |iops| 1e6 / iops)
}

/// Media work per byte that hosts write, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Amplification {
    /// Programmed, without metadata: the WAF.
    pub(crate) programmed: f64,
    /// Pages that hosts write; a partly written page counts as a whole one.
    pub(crate) pages: f64,
    /// Relocated pages.
    pub(crate) relocated: f64,
    /// Pages read because hosts write only a part of them.
    pub(crate) in_part: f64,
}

impl Amplification {
    /// Returns the amplification of a run, with pages of `page` bytes.
    pub(crate) fn of(run: &Summary, page: u64) -> Self {
        let share = |bytes: u64| bytes as f64 / run.host_bytes.max(1) as f64;
        let pages = |count: Option<u64>| share(count.unwrap_or(0) * page);
        Amplification {
            programmed: share(run.media_bytes),
            pages: pages(run.host_pages),
            relocated: pages(run.relocated_pages),
            in_part: pages(run.rmw_pages),
        }
    }

    /// Returns the means of several amplifications.
    pub(crate) fn mean_of(all: impl Iterator<Item = Self> + Clone) -> Self {
        let count = all.clone().count().max(1) as f64;
        let mean = |of: fn(&Self) -> f64| all.clone().map(|one| of(&one)).sum::<f64>() / count;
        Amplification {
            programmed: mean(|one| one.programmed),
            pages: mean(|one| one.pages),
            relocated: mean(|one| one.relocated),
            in_part: mean(|one| one.in_part),
        }
    }
}

/// Bytes per write, the unit of rates.
const WRITE: f64 = 4096.0;

/// Times of all dies together per 4 KiB written by a host, in seconds. The pages of the device may be larger.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// Programs.
    pub(crate) program: f64,
    /// Reads of relocated data and of partly written pages, and erases.
    pub(crate) rest: f64,
}

impl Cost {
    /// Returns the cost of this media work, with pages of `page` bytes.
    pub(crate) fn of(timing: &TimingConfig, work: Amplification, page: u64) -> Self {
        let reads = timing.read_us.as_slice();
        let read_us = reads.iter().sum::<f64>() / reads.len().max(1) as f64;
        let dies = f64::from(timing.dies) * 1e6;
        let media = work.programmed + work.pages * timing.metadata;
        // Relocation reads all planes of a die at once.
        let unit = (u64::from(timing.planes) * timing.plane_page.0) as f64;
        let read = (work.relocated / unit + work.in_part / page as f64) * read_us;
        let erased = media / timing.block.0 as f64 * timing.erase_us;
        Cost {
            program: WRITE * media / timing.program_rate(),
            rest: WRITE * (read + erased) / dies,
        }
    }

    /// Returns the highest rate of 4 KiB writes, per second.
    pub(crate) fn highest(self) -> f64 {
        1.0 / (self.program + self.rest)
    }

    /// Returns the factor of the program time with which this is the highest rate of writes per second; none if reads
    /// and erases alone take longer.
    pub(crate) fn factor(self, rate: f64) -> Option<f64> {
        let left = 1.0 / rate - self.rest;
        (left > 0.0).then(|| left / self.program)
    }
}

/// The rate at which writes begin to wait, bounded by rows without and with waits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Knee {
    /// Highest rate without waits.
    pub(crate) quiet: Option<f64>,
    /// Lowest rate with waits, and the tail there in microseconds.
    pub(crate) waiting: Option<(f64, f64)>,
}

impl Knee {
    /// Finds the knee between rows in ascending order of rate. Only writes at a fixed rate wait for garbage collection
    /// alone.
    pub(crate) fn of<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Self {
        let mut knee = Knee { quiet: None, waiting: None };
        for row in rows.into_iter().filter(|row| row.pace == Pace::Rate) {
            let Some(tail) = row.write.tail(3) else { continue };
            let alone = row.write.percentiles[0].or(row.write.mean).unwrap_or(15.0);
            if tail > alone + WAITS_US {
                knee.waiting = knee.waiting.or(Some((row.writes_per_s, tail)));
            } else if knee.waiting.is_none() {
                knee.quiet = Some(row.writes_per_s);
            }
        }
        knee
    }
}

/// Returns the latency of a single write without its transfer, µs: the lowest median, else mean.
pub(crate) fn alone<'a>(
    rows: impl IntoIterator<Item = &'a Row> + Clone,
    timing: &TimingConfig,
) -> Option<f64> {
    let least = |of: fn(&Row) -> Option<f64>| {
        let all = rows.clone().into_iter();
        all.filter_map(|row| Some(of(row)? - passage_us(timing, row))).reduce(f64::min)
    };
    least(|row| row.write.percentiles[0]).or_else(|| least(|row| row.write.mean))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timing::measured::Latency;

    fn row(pace: Pace, writes_per_s: f64, write_bytes: f64, us: f64, tail: f64) -> Row {
        let percentiles = [Some(us), None, None, Some(tail), None];
        let write = Latency { mean: None, percentiles };
        Row { asked: None, pace, write_bytes, write, ..Row::at(writes_per_s) }
    }

    #[test]
    fn a_write_alone_is_without_the_time_of_its_bytes() {
        let timing = wafer_config::load_device("pm9a3", &[]).unwrap().config.timing.unwrap();
        let large = row(Pace::Rate, 16_000.0, 65_536.0, 24.08, 24.08);
        let small = row(Pace::Single, 70_000.0, 4096.0, 14.63, 14.63);
        for rows in [vec![&large], vec![&small], vec![&large, &small]] {
            let alone = alone(rows.iter().copied(), &timing).unwrap();
            assert!((alone - 10.0).abs() < 0.01, "{alone}");
        }
    }

    #[test]
    fn a_write_that_comes_after_the_one_before_tells_no_knee() {
        let [quiet, single] = [
            row(Pace::Rate, 30e3, 4096.0, 12.0, 20.0),
            row(Pace::Single, 68e3, 4096.0, 12.0, 20.0),
        ];
        assert_eq!(Knee::of([&quiet, &single]), Knee { quiet: Some(30e3), waiting: None });
    }
}
