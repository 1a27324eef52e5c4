//! Fits what reads wait for.
//!
//! The fit has three numbers: the overhead of a single read, the slice after which a program yields, and the share of
//! such points that it misses. The mean read latency grows with the rate by half a slice, the tail by the missed
//! points (Haas et al., "SSD-iq": the mean is linear in the rate, the tail has plateaus). Each number has a prior, so
//! two rows are enough and a row without percentiles does no harm.
//!
//! A grid finds the neighbourhood and Levenberg-Marquardt steps find the point, all with the same seed. Both are done
//! twice: with figures that hardly pull once they are far off, and with figures that keep pulling ([`PULLS`]).

use wafer_interface::TimingConfig;
use wafer_lab::LabError;

use super::measured::{Latency, Row};

/// Standard deviation of the logarithm of a figure, for measurement and model together: mean, then percentiles 50,
/// 99, 99.9 and 99.99. Higher percentiles are not fitted.
const SPREADS: [f64; 5] = [0.008, 0.20, 0.12, 0.25, 0.5];
/// That of the median if there is no mean.
const SPREAD_OF_MEDIAN: f64 = 0.04;
/// That of the mean if bursts of garbage collection delay reads.
const SPREAD_BESIDE_BURSTS: f64 = 0.05;
/// Distance beyond which a figure pulls less, in standard deviations.
const MOST: f64 = 4.0;
/// Standard deviations of the priors.
const PRIOR: [f64; 3] = [15.0, 0.7, 0.07];
const STEPS: usize = 5;
/// Number of overheads tried before the best is refined.
const OVERHEADS: usize = 64;
/// Damping above which the descent stops.
const STUCK: f64 = 50.0;
/// Changes of the slice (as a logarithm) and of the share for computing derivatives.
const CHANGE: [f64; 2] = [0.2, 0.04];
const SLICES: [f64; 5] = [0.35, 0.6, 1.0, 1.7, 2.8];
const MISSED: [f64; 4] = [0.0, 0.08, 0.18, 0.32];

/// A point of the search: overhead in microseconds, logarithm of the slice in microseconds, share of missed points.
type Point = [f64; 3];

/// Turns the distance of a figure, in standard deviations, into its residual.
type Pull = fn(f64) -> f64;
/// The first ignores figures that nothing explains, but a search with it alone stays where some rows are far off. The
/// second leads away from there, but lets such figures spoil the others. Of the two points found, the better by the
/// first is taken.
const PULLS: [Pull; 2] = [
    |distance| MOST * (distance / MOST).tanh(),
    |distance| MOST * distance.signum() * (distance.abs() / MOST).ln_1p(),
];

/// The fitted waits of reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reads {
    /// Overhead in microseconds, slice in microseconds, share of missed points.
    pub(crate) values: [f64; 3],
    /// The 95 % intervals.
    pub(crate) intervals: [(f64, f64); 3],
    /// Whether the rows determine it better than the prior.
    pub(crate) identified: [bool; 3],
}

/// The precision that a run needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// For the grid.
    Coarse,
    /// For a step.
    Fine,
}

/// The end of a descent.
struct Found {
    point: Point,
    cost: f64,
    /// Products of the derivatives.
    normal: [[f64; 3]; 3],
    /// Number of residuals, including those of the priors.
    figures: usize,
}

/// Keys of the three numbers.
pub(crate) const KEYS: [&str; 3] = ["read_overhead_us", "slice_us", "missed_slices"];

/// Number of runs per row in a fit.
pub(crate) const RUNS: usize = SLICES.len() * MISSED.len() + PULLS.len() * (1 + 4 + STEPS);

/// Returns times with these values for the waits of reads.
pub(crate) fn with(timing: &TimingConfig, values: [f64; 3]) -> TimingConfig {
    let [read_overhead_us, slice_us, missed_slices] = values;
    TimingConfig { read_overhead_us, slice_us, missed_slices, ..timing.clone() }
}

/// Fits reads to rows. `run` returns the read latency of a row under these times.
///
/// # Errors
/// Those of `run`.
pub(crate) fn fit(
    timing: &TimingConfig,
    rows: &[&Row],
    mut run: impl FnMut(&TimingConfig, &Row, Effort) -> Result<Latency, LabError>,
) -> Result<Reads, LabError> {
    // Without slices, a read waits for a whole program.
    let slice = if timing.slice_us > 0.0 { timing.slice_us } else { timing.program_us };
    let start = [timing.read_overhead_us, slice.max(20.0).ln(), timing.missed_slices];
    let longest = timing.program_us.max(100.0).ln();
    let mut simulate = |point: Point, effort: Effort| -> Result<Vec<Latency>, LabError> {
        let values = [timing.read_overhead_us, point[1].exp(), point[2]];
        let timing = with(timing, values);
        rows.iter().map(|row| run(&timing, row, effort)).collect()
    };
    let bounded = |point: Point| {
        [point[0].clamp(0.5, 1e4), point[1].clamp(5f64.ln(), longest), point[2].clamp(0.0, 0.6)]
    };
    let residuals = |point: Point, ours: &[Latency], pull: Pull| -> Vec<f64> {
        let shift = point[0] - timing.read_overhead_us;
        let figures = rows
            .iter()
            .zip(ours)
            .flat_map(|(row, ours)| distances(row, ours, shift, timing))
            .map(pull);
        let priors = (0..3).map(|i| (point[i] - start[i]) / PRIOR[i]);
        figures.chain(priors).collect()
    };
    // Overhead adds to every read, so finding it needs no run. There may be several minima, since figures that are far
    // off pull less.
    let with_overhead = |mut point: Point, ours: &[Latency], pull: Pull| -> (Point, f64) {
        let cost = |overhead: f64| square(&residuals([overhead, point[1], point[2]], ours, pull));
        let apart = (start[0] + 200.0) / OVERHEADS as f64;
        let tried = (0..OVERHEADS).map(|i| 0.5 + i as f64 * apart);
        let best = tried.min_by(|a, b| cost(*a).total_cmp(&cost(*b))).unwrap_or(start[0]);
        let (mut low, mut high) = ((best - apart).max(0.5), best + apart);
        for _ in 0..40 {
            let third = (high - low) / 3.0;
            if cost(low + third) < cost(high - third) { high -= third } else { low += third }
        }
        point[0] = 0.5 * (low + high);
        (point, square(&residuals(point, ours, pull)))
    };

    let mut starts = PULLS.map(|_| (start, f64::INFINITY));
    for slice in SLICES {
        for missed in MISSED {
            let point = bounded([start[0], start[1] + slice.ln(), missed]);
            let ours = simulate(point, Effort::Coarse)?;
            for (best, pull) in starts.iter_mut().zip(PULLS) {
                let tried = with_overhead(point, &ours, pull);
                if tried.1 < best.1 {
                    *best = tried;
                }
            }
        }
    }
    let mut descend = |from: Point, pull: Pull| -> Result<Found, LabError> {
        let mut ours = simulate(from, Effort::Fine)?;
        let (mut point, mut cost) = with_overhead(from, &ours, pull);
        let mut damping = 0.01;
        // Derivatives change little along the way.
        let mut slopes = vec![between(
            &residuals(point, &ours, pull),
            &residuals([point[0] + 0.1, point[1], point[2]], &ours, pull),
            0.1,
        )];
        for (i, change) in CHANGE.into_iter().enumerate() {
            let mut ends = [point, point];
            ends[0][i + 1] -= change;
            ends[1][i + 1] += change;
            let ends = ends.map(bounded);
            let [low, high] = [simulate(ends[0], Effort::Fine)?, simulate(ends[1], Effort::Fine)?];
            let width = ends[1][i + 1] - ends[0][i + 1];
            let [low, high] = [residuals(ends[0], &low, pull), residuals(ends[1], &high, pull)];
            slopes.push(between(&low, &high, width));
        }
        let normal = [0, 1, 2].map(|i| [0, 1, 2].map(|j| product(&slopes[i], &slopes[j])));
        for _ in 0..STEPS {
            let here = residuals(point, &ours, pull);
            let gradient = [0, 1, 2].map(|i| product(&slopes[i], &here));
            let mut damped = normal;
            (0..3).for_each(|i| damped[i][i] *= 1.0 + damping);
            let Some(inverse) = inverse(damped) else { break };
            let next = bounded([0, 1, 2].map(|i| point[i] - product(&inverse[i], &gradient)));
            let theirs = simulate(next, Effort::Fine)?;
            let (next, next_cost) = with_overhead(next, &theirs, pull);
            if next_cost < cost {
                (point, cost, ours) = (next, next_cost, theirs);
                damping *= 0.3;
            } else {
                damping = (10.0 * damping).max(0.3);
            }
            if damping > STUCK {
                break;
            }
        }
        let (point, cost) = with_overhead(point, &ours, PULLS[0]);
        Ok(Found { point, cost, normal, figures: residuals(point, &ours, pull).len() })
    };
    let [first, second] = [descend(starts[0].0, PULLS[0])?, descend(starts[1].0, PULLS[1])?];
    let best = if second.cost < first.cost { second } else { first };
    let Found { point, cost, normal, figures } = best;
    let variance = inverse(normal).unwrap_or([[f64::INFINITY; 3]; 3]);
    // Figures that fit worse than their spreads determine less than the spreads promise.
    let misfit = (cost / (figures.saturating_sub(3).max(1)) as f64).max(1.0).sqrt();
    let spread = |i: usize| (misfit * variance[i][i].max(0.0).sqrt()).min(PRIOR[i]);
    let values = [point[0], point[1].exp(), point[2]];
    let end = |i: usize, sign: f64| {
        let end = bounded(
            [0, 1, 2].map(|j| point[j] + if i == j { sign * 2.0 * spread(i) } else { 0.0 }),
        );
        if i == 1 { end[1].exp() } else { end[i] }
    };
    Ok(Reads {
        values,
        intervals: [0, 1, 2].map(|i| (end(i, -1.0), end(i, 1.0))),
        identified: [0, 1, 2].map(|i| spread(i) < 0.6 * PRIOR[i]),
    })
}

/// Returns whether a row's reads wait for bursts of garbage collection: for more than a program that yields.
pub(crate) fn is_bursty(row: &Row, timing: &TimingConfig) -> bool {
    let longest = timing.read_overhead_us + timing.program_us;
    row.read.percentiles[1].is_some_and(|p99| p99 > longest)
}

/// Returns the distances of our figures, with `shift` added, from those measured, in standard deviations.
pub(crate) fn distances(row: &Row, ours: &Latency, shift: f64, timing: &TimingConfig) -> Vec<f64> {
    let bursty = is_bursty(row, timing);
    let median = if row.read.mean.is_none() || bursty { SPREAD_OF_MEDIAN } else { SPREADS[1] };
    let mean = if bursty { SPREAD_BESIDE_BURSTS } else { SPREADS[0] };
    // The tail comes from bursts, which this model does not explain.
    let used = if bursty { 2 } else { SPREADS.len() };
    let spreads = [mean, median].into_iter().chain(SPREADS.into_iter().skip(2)).take(used);
    let figures = row.read.figures().zip(ours.figures()).zip(spreads);
    figures
        .filter_map(|(((_, measured), (_, ours)), spread)| {
            let (measured, ours) = (measured?, (ours? + shift).max(1.0));
            Some((ours / measured).ln() / spread)
        })
        .collect()
}

/// Returns the derivative from residuals at two points that are `width` apart.
fn between(low: &[f64], high: &[f64], width: f64) -> Vec<f64> {
    low.iter().zip(high).map(|(low, high)| (high - low) / width).collect()
}

fn product(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn square(residuals: &[f64]) -> f64 {
    residuals.iter().map(|r| r * r).sum()
}

/// Returns the inverse of a symmetric matrix; none if it is singular.
fn inverse(m: [[f64; 3]; 3]) -> Option<[[f64; 3]; 3]> {
    let minor = |i: usize, j: usize| {
        let (a, b, c, d) = ((i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3);
        m[a][c] * m[b][d] - m[a][d] * m[b][c]
    };
    let determinant = (0..3).map(|j| m[0][j] * minor(0, j)).sum::<f64>();
    let found = determinant.is_finite() && determinant.abs() > 1e-12;
    found.then(|| [0, 1, 2].map(|i| [0, 1, 2].map(|j| minor(j, i) / determinant)))
}

#[cfg(test)]
mod tests {
    use wafer_config::load_device;

    use super::*;

    /// Reads of a die that programs for a share of the time: they wait for the rest of a slice, and for another slice
    /// at each missed point.
    fn reads(timing: &TimingConfig, writes_per_s: f64) -> Latency {
        let (busy, slice, missed) =
            (writes_per_s / 90_000.0, timing.slice_us, timing.missed_slices);
        let alone = timing.read_overhead_us + 42.0;
        let longer = |share: f64| {
            let mut begun = busy;
            let mut waited = 0.0;
            while begun * missed > share {
                begun *= missed;
                waited += slice;
            }
            alone + waited + slice * (1.0 - share / begun).clamp(0.0, 1.0)
        };
        Latency {
            mean: Some(alone + busy * slice * (0.5 + missed / (1.0 - missed))),
            percentiles: [0.5, 0.01, 0.001, 1e-4, 1e-5].map(|share| Some(longer(share))),
        }
    }

    /// A row of a drive with these waits.
    fn row(timing: &TimingConfig, truth: [f64; 3], writes_per_s: f64) -> Row {
        Row { read: reads(&with(timing, truth), writes_per_s), ..Row::at(writes_per_s) }
    }

    #[test]
    fn known_waits_are_within_their_intervals() {
        let mut timing = load_device("pm9a3", &[]).unwrap().config.timing.unwrap();
        (timing.read_overhead_us, timing.slice_us, timing.missed_slices) = (18.77, 150.0, 0.1);
        for truth in
            [[27.0, 230.0, 0.05], [41.0, 95.0, 0.12], [12.0, 300.0, 0.17], [60.0, 200.0, 0.02]]
        {
            let rows = [8e3, 20e3, 30e3, 40e3, 50e3, 60e3].map(|rate| row(&timing, truth, rate));
            let all: Vec<&Row> = rows.iter().collect();
            let fit =
                fit(&timing, &all, |timing, row, _| Ok(reads(timing, row.writes_per_s))).unwrap();
            for (truth, (low, high)) in truth.into_iter().zip(fit.intervals) {
                assert!((low..=high).contains(&truth), "{truth} of {fit:?}");
            }
            assert!((fit.values[0] - truth[0]).abs() < 1.5, "{truth:?}: {fit:?}");
        }
    }

    #[test]
    fn a_slice_is_found_for_a_device_that_never_yields() {
        let mut timing = load_device("pm9a3", &[]).unwrap().config.timing.unwrap();
        (timing.read_overhead_us, timing.slice_us, timing.missed_slices) = (18.77, 0.0, 0.1);
        let rows =
            [8e3, 20e3, 30e3, 40e3, 50e3, 60e3].map(|rate| row(&timing, [20.0, 250.0, 0.1], rate));
        let all: Vec<&Row> = rows.iter().collect();
        let fit = fit(&timing, &all, |timing, row, _| Ok(reads(timing, row.writes_per_s))).unwrap();
        assert!((fit.values[1] / 250.0 - 1.0).abs() < 0.15 && fit.identified[1], "{fit:?}");
    }

    #[test]
    fn matrices_are_inverted() {
        let m = [[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]];
        let inverse = inverse(m).unwrap();
        for (i, row) in m.iter().enumerate() {
            for (j, expected) in
                [0, 1, 2].map(|j| f64::from(u8::from(i == j))).into_iter().enumerate()
            {
                let sum: f64 = row.iter().zip(&inverse).map(|(a, b)| a * b[j]).sum();
                assert!((sum - expected).abs() < 1e-12);
            }
        }
        assert_eq!(super::inverse([[1.0; 3]; 3]), None);
    }
}
