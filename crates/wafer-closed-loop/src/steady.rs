//! The end of jobs that run steadily: fio's `steadystate`.
//!
//! Each interval yields one value. The window slides by one value per interval and, once full, ends the jobs as soon as
//! its values stay within the limit.

use std::collections::{HashMap, VecDeque};

use wafer_interface::Figure;

use wafer_fio::job::{Measure, SteadyState};

/// The measurements of one job, or of jobs watched together.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    criterion: SteadyState,
    /// Numbers of the jobs.
    jobs: Vec<usize>,
    /// End of the current interval; `None` before the first command.
    end: Option<u64>,
    /// When the first interval that counts begins.
    counts_from: u64,
    interval: Interval,
    window: VecDeque<Interval>,
    /// Commands in flight: submission time and bytes.
    in_flight: HashMap<u64, (u64, u64)>,
    /// Slope or greatest deviation from the mean, and the same in the unit of the limit.
    change: f64,
    compared: f64,
    attained: bool,
}

/// The completions of an interval.
#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    commands: u64,
    bytes: u64,
    nanoseconds: u64,
}

/// The outcome of a watch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) attained: bool,
    /// Means of the last intervals.
    pub(crate) iops: f64,
    pub(crate) bytes_per_second: f64,
    /// Slope or greatest deviation from the mean, and the same in the unit of the limit.
    pub(crate) change: f64,
    pub(crate) compared: f64,
}

impl Outcome {
    /// Returns the outcome as figures of a record.
    pub(crate) fn figures(self) -> impl Iterator<Item = Figure> {
        let attained = f64::from(u8::from(self.attained));
        let mean = "mean of the last intervals of steadystate_duration";
        [
            ("steady_state", attained, "", "1: the job ended in steady state"),
            ("steady_state_iops", self.iops, "/s", mean),
            ("steady_state_bandwidth", self.bytes_per_second, "B/s", mean),
            (
                "steady_state_change",
                self.change,
                "",
                "slope or deviation, in the unit of the values",
            ),
            (
                "steady_state_criterion",
                self.compared,
                "",
                "slope or deviation, in the unit of the limit of steadystate",
            ),
        ]
        .into_iter()
        .map(|(name, value, unit, meaning)| Figure::new(name, value, unit, meaning))
    }
}

impl Watch {
    pub(crate) fn new(criterion: SteadyState, job: usize) -> Self {
        Watch {
            criterion,
            jobs: vec![job],
            end: None,
            counts_from: 0,
            interval: Interval::default(),
            window: VecDeque::new(),
            in_flight: HashMap::new(),
            change: 0.0,
            compared: 0.0,
            attained: false,
        }
    }

    /// Watches another job too.
    pub(crate) fn join(&mut self, job: usize) {
        self.jobs.push(job);
    }

    pub(crate) fn jobs(&self) -> &[usize] {
        &self.jobs
    }

    pub(crate) fn submitted(&mut self, ticket: u64, time: u64, bytes: u64) {
        if self.end.is_none() {
            self.end = Some(time.saturating_add(self.criterion.interval));
            self.counts_from = time.saturating_add(self.criterion.ramp);
        }
        self.in_flight.insert(ticket, (time, bytes));
    }

    /// Records a completion. Returns whether the jobs end.
    pub(crate) fn completed(&mut self, ticket: u64, time: u64) -> bool {
        while !self.attained
            && let Some(end) = self.end.filter(|end| *end <= time)
        {
            let interval = std::mem::take(&mut self.interval);
            if end - self.criterion.interval >= self.counts_from {
                self.attained = self.next(interval);
            }
            self.end = Some(end.saturating_add(self.criterion.interval));
        }
        if let Some((submitted, bytes)) = self.in_flight.remove(&ticket) {
            self.interval.commands += 1;
            self.interval.bytes += bytes;
            self.interval.nanoseconds += time - submitted;
        }
        self.attained
    }

    /// Takes the next interval. Returns whether the values in the window stay within the limit.
    fn next(&mut self, interval: Interval) -> bool {
        self.window.push_back(interval);
        if self.window.len() > self.criterion.intervals {
            self.window.pop_front();
        }
        if self.window.len() < self.criterion.intervals {
            return false;
        }
        let values: Vec<f64> = self.window.iter().map(|one| self.value(one)).collect();
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        self.change = if self.criterion.slope {
            let middle = (count - 1.0) / 2.0;
            let from_middle = || (0..values.len()).map(|at| at as f64 - middle);
            let sum: f64 = from_middle().zip(&values).map(|(x, y)| x * y).sum();
            sum / from_middle().map(|x| x * x).sum::<f64>()
        } else {
            values.iter().map(|value| (value - mean).abs()).fold(0.0, f64::max)
        };
        self.compared = self.change * if self.criterion.percent { 100.0 / mean } else { 1.0 };
        self.compared.abs() < self.criterion.limit
    }

    fn value(&self, interval: &Interval) -> f64 {
        let per_second = |count: u64| count as f64 * 1e9 / self.criterion.interval as f64;
        match self.criterion.measure {
            Measure::Iops => per_second(interval.commands),
            Measure::Bandwidth => per_second(interval.bytes),
            Measure::Latency => interval.nanoseconds as f64 / interval.commands.max(1) as f64,
        }
    }

    pub(crate) fn outcome(&self) -> Outcome {
        let seconds = self.window.len().max(1) as f64 * self.criterion.interval as f64 / 1e9;
        let sum = |of: fn(&Interval) -> u64| self.window.iter().map(of).sum::<u64>() as f64;
        Outcome {
            attained: self.attained,
            iops: sum(|one| one.commands) / seconds,
            bytes_per_second: sum(|one| one.bytes) / seconds,
            change: self.change,
            compared: self.compared,
        }
    }
}
