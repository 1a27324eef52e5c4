//! Groups points with similar lifetimes: by k-means over mean lifetime and spread, or dynamic programming
//! over mean lifetime alone. Groups are numbered from the shortest mean lifetime.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore as _, SeedableRng as _};
use wafer_device::Geometry;

use super::lives::Life;
use super::model::Model;

/// A region or stream to group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    /// Natural logarithm of the mean lifetime in pages.
    pub(super) life: f64,
    /// Spread of lifetimes.
    pub(super) spread: f64,
    /// Geometric mean of writes and space: the cost of a misplaced point grows with both.
    pub(super) weight: f64,
}

/// Cells of the grid into which points are gathered before grouping.
const CELLS: (usize, usize) = (240, 24);

/// Gathers points into cells. Returns the cells with weight, and the cell of each point.
fn gather(points: &[Point], flat: bool) -> (Vec<Point>, Vec<usize>) {
    let (low, high) = (points.iter())
        .filter(|p| p.weight > 0.0)
        .fold((f64::MAX, f64::MIN), |(l, h), p| (l.min(p.life), h.max(p.life)));
    let width = ((high - low) / CELLS.0 as f64).max(1e-9);
    let cell = |p: &Point| {
        let x = (((p.life - low) / width).max(0.0) as usize).min(CELLS.0 - 1);
        let y = ((p.spread / 3.0 * CELLS.1 as f64) as usize).min(CELLS.1 - 1);
        if flat { x } else { x * CELLS.1 + y }
    };
    let mut sums: Vec<(f64, f64, f64)> = vec![(0.0, 0.0, 0.0); CELLS.0 * CELLS.1];
    for p in points {
        let sum = &mut sums[cell(p)];
        sum.0 += p.weight;
        sum.1 += p.weight * p.life;
        sum.2 += p.weight * p.spread;
    }
    let mut number = vec![usize::MAX; sums.len()];
    let mut cells = Vec::new();
    for (at, (weight, life, spread)) in sums.iter().enumerate().filter(|(_, s)| s.0 > 0.0) {
        number[at] = cells.len();
        cells.push(Point { life: life / weight, spread: spread / weight, weight: *weight });
    }
    (cells, points.iter().map(|p| number[cell(p)]).collect())
}

fn distance(a: &Point, b: &Point) -> f64 {
    (a.life - b.life).powi(2) + (a.spread - b.spread).powi(2)
}

/// Turns groups of cells into groups of points, numbered by mean lifetime. Points without weight join the
/// nearest group.
fn finish(points: &[Point], cells: &[Point], of: &[usize], groups: &[usize], k: usize) -> Vec<u16> {
    let mut means = vec![(0.0, 0.0); k];
    for (cell, group) in cells.iter().zip(groups) {
        means[*group].0 += cell.weight;
        means[*group].1 += cell.weight * cell.life;
    }
    let mut order: Vec<usize> = (0..k).filter(|g| means[*g].0 > 0.0).collect();
    order.sort_by(|a, b| (means[*a].1 / means[*a].0).total_cmp(&(means[*b].1 / means[*b].0)));
    let mut rank = vec![0u16; k];
    for (number, group) in order.iter().enumerate() {
        rank[*group] = number as u16;
    }
    (points.iter().zip(of))
        .map(|(point, cell)| {
            let nearest = || nearest(point, cells);
            let cell = if *cell == usize::MAX { nearest() } else { *cell };
            groups.get(cell).map_or(0, |g| rank[*g])
        })
        .collect()
}

/// Groups points by weighted k-means over mean lifetime and spread, the best of several starts.
pub(super) fn k_means(points: &[Point], k: usize, seed: u64) -> Vec<u16> {
    let (cells, of) = gather(points, false);
    let k = k.min(cells.len()).max(1);
    if cells.is_empty() {
        return vec![0; points.len()];
    }
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut best: Option<(f64, Vec<usize>)> = None;
    for _ in 0..24 {
        let mut centers = spread_out(&cells, k, &mut rng);
        let mut groups = vec![0; cells.len()];
        for _ in 0..60 {
            let mut moved = false;
            for (cell, group) in cells.iter().zip(&mut groups) {
                let nearest = nearest(cell, &centers);
                moved |= nearest != *group;
                *group = nearest;
            }
            for (number, center) in centers.iter_mut().enumerate() {
                let mine =
                    || cells.iter().zip(&groups).filter(|(_, g)| **g == number).map(|(c, _)| c);
                let weight: f64 = mine().map(|c| c.weight).sum();
                if weight > 0.0 {
                    center.life = mine().map(|c| c.weight * c.life).sum::<f64>() / weight;
                    center.spread = mine().map(|c| c.weight * c.spread).sum::<f64>() / weight;
                }
            }
            if !moved {
                break;
            }
        }
        let cost: f64 =
            cells.iter().zip(&groups).map(|(c, g)| c.weight * distance(c, &centers[*g])).sum();
        if best.as_ref().is_none_or(|(least, _)| cost < *least) {
            best = Some((cost, groups));
        }
    }
    let groups = best.map_or_else(|| vec![0; cells.len()], |(_, groups)| groups);
    finish(points, &cells, &of, &groups, k)
}

fn nearest(cell: &Point, centers: &[Point]) -> usize {
    let by = |a: &(usize, &Point), b: &(usize, &Point)| {
        distance(cell, a.1).total_cmp(&distance(cell, b.1))
    };
    centers.iter().enumerate().min_by(by).map_or(0, |(i, _)| i)
}

/// Returns starting centers far apart (k-means++, Arthur and Vassilvitskii 2007).
fn spread_out(cells: &[Point], k: usize, rng: &mut Xoshiro256PlusPlus) -> Vec<Point> {
    let mut draw = |weights: &[f64]| {
        let all: f64 = weights.iter().sum();
        let mut left = all * (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        weights.iter().position(|w| {
            left -= w;
            left < 0.0
        })
    };
    let first = draw(&cells.iter().map(|c| c.weight).collect::<Vec<_>>()).unwrap_or(0);
    let mut centers = vec![cells[first]];
    while centers.len() < k {
        let far: Vec<f64> = cells
            .iter()
            .map(|c| c.weight * centers.iter().map(|x| distance(c, x)).fold(f64::MAX, f64::min))
            .collect();
        match draw(&far) {
            Some(next) => centers.push(cells[next]),
            None => break,
        }
    }
    centers
}

/// Groups points by mean lifetime into the `k` intervals with the least internal variance, by
/// dynamic programming.
pub(super) fn by_life(points: &[Point], k: usize) -> Vec<u16> {
    let (cells, of) = gather(points, true);
    let n = cells.len();
    let k = k.min(n).max(1);
    if n == 0 {
        return vec![0; points.len()];
    }
    // Prefix sums of weight, weighted life and its square: the cost of any interval in constant time.
    let mut sums = vec![(0.0, 0.0, 0.0); n + 1];
    for (i, c) in cells.iter().enumerate() {
        let (w, x, xx) = sums[i];
        sums[i + 1] = (w + c.weight, x + c.weight * c.life, xx + c.weight * c.life * c.life);
    }
    let cost = |from: usize, to: usize| {
        let (w, x, xx) =
            (sums[to].0 - sums[from].0, sums[to].1 - sums[from].1, sums[to].2 - sums[from].2);
        if w > 0.0 { (xx - x * x / w).max(0.0) } else { 0.0 }
    };
    let mut best: Vec<f64> = (0..=n).map(|to| cost(0, to)).collect();
    let mut cuts: Vec<Vec<usize>> = vec![vec![0; n + 1]];
    for _ in 1..k {
        let mut next = vec![f64::MAX; n + 1];
        let mut cut = vec![0; n + 1];
        for to in 0..=n {
            for (from, before) in best.iter().enumerate().take(to + 1) {
                let sum = before + cost(from, to);
                if sum < next[to] {
                    (next[to], cut[to]) = (sum, from);
                }
            }
        }
        best = next;
        cuts.push(cut);
    }
    let mut groups = vec![0; n];
    let mut end = n;
    for (piece, cut) in cuts.iter().enumerate().rev() {
        let from = cut[end];
        groups[from..end].fill(piece);
        end = from;
    }
    finish(points, &cells, &of, &groups, k)
}

/// Number of clusters from which the model starts.
const CLUSTERS: usize = 32;

/// Numbers groups from the shortest mean lifetime.
fn by_rank(groups: &mut [u16], points: &[Point]) {
    let mut means = vec![(0.0, 0.0); used(groups)];
    for (point, group) in points.iter().zip(groups.iter()) {
        let mean = &mut means[usize::from(*group)];
        mean.0 += point.weight;
        mean.1 += point.weight * point.life;
    }
    let life = |g: &usize| means[*g].1 / f64::max(means[*g].0, 1e-300);
    let mut order: Vec<usize> = (0..means.len()).collect();
    order.sort_by(|a, b| life(a).total_cmp(&life(b)));
    let mut rank = vec![0u16; means.len()];
    for (number, group) in order.iter().enumerate() {
        rank[*group] = number as u16;
    }
    for group in groups {
        *group = rank[usize::from(*group)];
    }
}

/// Spread of lifetimes below which a point counts as written in order; an exponential has 1.28.
const IN_ORDER: f64 = 0.4;

/// Puts points written in order into one group and the rest into `k - 1` groups by k-means; none unless
/// there are both. Pages written in order are invalidated together. In their own reclaim units they
/// leave nothing to relocate; other pages among them would have to be relocated.
pub(super) fn in_order_apart(points: &[Point], k: usize, seed: u64) -> Option<Vec<u16>> {
    let in_order = |p: &Point| p.spread < IN_ORDER;
    let rest: Vec<Point> = points.iter().filter(|p| !in_order(p)).copied().collect();
    let all: f64 = points.iter().map(|p| p.weight).sum();
    let others: f64 = rest.iter().map(|p| p.weight).sum();
    if k < 2 || !(0.02..0.98).contains(&(others / all)) {
        return None;
    }
    let mut of_rest = k_means(&rest, k - 1, seed).into_iter();
    let alone = k as u16 - 1;
    let mut groups: Vec<u16> = (points.iter())
        .map(|p| if in_order(p) { alone } else { of_rest.next().unwrap_or(0) })
        .collect();
    // Fewer clusters than requested leave a gap below.
    let count = groups.iter().filter(|g| **g != alone).max().map_or(0, |g| g + 1);
    groups.iter_mut().filter(|g| **g == alone).for_each(|g| *g = count);
    by_rank(&mut groups, points);
    Some(groups)
}

/// Returns groups by every method for each of `counts`, with the method's name. `lives` are those of the
/// points, learned over `clock` host pages.
pub(super) fn all(
    points: &[Point],
    lives: &[Life],
    counts: &[usize],
    clock: f64,
    geometry: &Geometry,
    seed: u64,
) -> Vec<(&'static str, Vec<u16>)> {
    let fine = k_means(points, CLUSTERS, seed);
    let mut clusters = vec![Life::default(); used(&fine)];
    for (life, cluster) in lives.iter().zip(&fine) {
        clusters[usize::from(*cluster)].add(life);
    }
    let mut all = Vec::new();
    for joined in Model::new(&clusters, clock, geometry).groups(counts) {
        let mut of: Vec<u16> = fine.iter().map(|cluster| joined[usize::from(*cluster)]).collect();
        by_rank(&mut of, points);
        all.push(("by model", of));
    }
    for k in counts {
        all.push(("k-means", k_means(points, *k, seed)));
        all.extend(in_order_apart(points, *k, seed).map(|groups| ("sequential apart", groups)));
        all.push(("by mean life", by_life(points, *k)));
    }
    all
}

pub(super) fn used(groups: &[u16]) -> usize {
    groups.iter().max().map_or(0, |g| usize::from(*g) + 1)
}
