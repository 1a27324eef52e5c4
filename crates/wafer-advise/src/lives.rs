//! How long pages live, by address, in pages that the host writes meanwhile.

use serde::Serialize;
use wafer_device::Geometry;
use wafer_interface::Op;

use super::log::{Log, pages, whole_pages};

/// Lives of a range of addresses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Life {
    /// Pages that were overwritten or deallocated.
    pub(super) deaths: f64,
    /// Sum of the ages that pages reached, those that still live included.
    pub(super) exposure: f64,
    /// Sum of the natural logarithms of ended lives, and of their squares.
    pub(super) log: f64,
    pub(super) log2: f64,
    /// Pages written.
    pub(super) writes: f64,
    /// Pages that were ever written.
    pub(super) space: f64,
}

impl Life {
    pub(super) fn add(&mut self, other: &Life) {
        self.deaths += other.deaths;
        self.exposure += other.exposure;
        self.log += other.log;
        self.log2 += other.log2;
        self.writes += other.writes;
        self.space += other.space;
    }

    pub(super) fn died(&mut self, age: f64) {
        let log = age.max(1.0).ln();
        self.deaths += 1.0;
        self.exposure += age;
        self.log += log;
        self.log2 += log * log;
    }

    /// Mean life: exposure over deaths. Half a death is assumed where there was none.
    pub(super) fn mean(&self) -> f64 {
        (self.exposure / self.deaths.max(0.5)).max(1.0)
    }

    /// Standard deviation of the logarithm of lives; that of an exponential where too few ended.
    pub(super) fn spread(&self) -> f64 {
        if self.deaths < 4.0 {
            return EXPONENTIAL;
        }
        let mean = self.log / self.deaths;
        (self.log2 / self.deaths - mean * mean).max(0.0).sqrt()
    }
}

/// Standard deviation of the logarithm of an exponential variable: pi / sqrt(6).
pub(super) const EXPONENTIAL: f64 = 1.282_549_830_161_864;

/// Granules at most: memory stays below 200 MB.
const MOST_GRANULES: u64 = 1 << 21;
/// Classes of lives in a histogram: powers of 2 of pages.
const CLASSES: usize = 48;

/// What was learned of lives.
pub(super) struct Lives {
    /// Pages of a granule, a power of 2.
    pub(super) granule: u64,
    pub(super) of: Vec<Life>,
    /// Deaths by power of 2 of the age in pages.
    histogram: [f64; CLASSES],
    /// Pages that lived when the learned part ended, by their age then.
    alive: [f64; CLASSES],
    /// First page of each namespace.
    first: Vec<u64>,
}

pub(super) fn first_pages(geometry: &Geometry) -> Vec<u64> {
    geometry.namespaces.iter().map(|n| n.start).collect()
}

impl Lives {
    /// From the first `learned` commands.
    pub(super) fn learn(log: &Log, geometry: &Geometry, learned: usize) -> Self {
        let mut granule = 1u64;
        while geometry.logical_pages.div_ceil(granule) > MOST_GRANULES {
            granule *= 2;
        }
        let first = first_pages(geometry);
        let mut lives = Lives {
            granule,
            of: vec![Life::default(); geometry.logical_pages.div_ceil(granule) as usize],
            histogram: [0.0; CLASSES],
            alive: [0.0; CLASSES],
            first,
        };
        // Time of the last write, from 1; 0 is not mapped.
        let mut born = vec![0u64; geometry.logical_pages as usize];
        let mut seen = vec![0u64; geometry.logical_pages.div_ceil(64) as usize];
        let mut clock = 0u64;
        for command in &log.commands[..learned] {
            let base = lives.first.get(command.namespace.index()).copied().unwrap_or(0);
            let range = match command.op {
                Op::Write => pages(command, log.page_blocks),
                _ => whole_pages(command, log.page_blocks),
            };
            for page in range.start + base..range.end + base {
                let Some(birth) = born.get_mut(page as usize) else { break };
                let life = &mut lives.of[(page / granule) as usize];
                if *birth > 0 {
                    let age = clock + 1 - *birth;
                    life.died(age as f64);
                    lives.histogram[class(age)] += 1.0;
                }
                if command.op == Op::Write {
                    clock += 1;
                    *birth = clock;
                    life.writes += 1.0;
                    let (word, bit) = ((page / 64) as usize, 1u64 << (page % 64));
                    if seen[word] & bit == 0 {
                        seen[word] |= bit;
                        life.space += 1.0;
                    }
                } else {
                    *birth = 0;
                }
            }
        }
        for (page, birth) in born.iter().enumerate().filter(|(_, b)| **b > 0) {
            let age = clock + 1 - birth;
            lives.of[page / granule as usize].exposure += age as f64;
            lives.alive[class(age)] += 1.0;
        }
        lives
    }

    pub(super) fn deaths(&self) -> f64 {
        self.histogram.iter().sum()
    }

    pub(super) fn touched_pages(&self) -> u64 {
        self.of.iter().map(|l| l.space).sum::<f64>() as u64
    }

    /// Ages in pages that divide ended lives into `classes` equal parts.
    pub(super) fn quantiles(&self, classes: usize) -> Vec<u64> {
        let all = self.deaths().max(1.0);
        let mut bounds = Vec::new();
        let mut sum = 0.0;
        for (class, count) in self.histogram.iter().enumerate() {
            let mut next = all * (bounds.len() + 1) as f64 / classes as f64;
            while sum + count >= next && bounds.len() + 1 < classes && *count > 0.0 {
                let part = (next - sum) / count;
                bounds.push(((1u64 << class) as f64 * (1.0 + part)) as u64);
                next = all * (bounds.len() + 1) as f64 / classes as f64;
            }
            sum += count;
        }
        bounds
    }

    pub(super) fn histogram(&self, page_bytes: u64) -> Histogram {
        let used =
            (0..CLASSES).rev().find(|c| self.histogram[*c] + self.alive[*c] > 0.0).unwrap_or(0);
        Histogram {
            life_bytes: (0..=used).map(|c| (1u64 << c) * page_bytes).collect(),
            ended_bytes: (0..=used).map(|c| self.histogram[c] as u64 * page_bytes).collect(),
            alive_bytes: (0..=used).map(|c| self.alive[c] as u64 * page_bytes).collect(),
        }
    }

    pub(super) fn heat_map(&self, geometry: &Geometry) -> HeatMap {
        const COLUMNS: usize = 64;
        let per = self.of.len().div_ceil(COLUMNS).max(1);
        let columns: Vec<Life> = self
            .of
            .chunks(per)
            .map(|chunk| {
                let mut life = Life::default();
                chunk.iter().for_each(|l| life.add(l));
                life
            })
            .collect();
        HeatMap {
            column_bytes: per as u64 * self.granule * geometry.page_bytes,
            written_bytes: columns.iter().map(|l| l.writes as u64 * geometry.page_bytes).collect(),
            mean_life_bytes: columns
                .iter()
                .map(|l| (l.deaths > 0.0).then(|| l.mean() * geometry.page_bytes as f64))
                .collect(),
            spread: columns.iter().map(|l| (l.deaths >= 4.0).then(|| l.spread())).collect(),
        }
    }
}

fn class(age: u64) -> usize {
    (age.max(1).ilog2() as usize).min(CLASSES - 1)
}

/// Lives of pages, by powers of 2.
#[derive(Clone, Debug, Serialize)]
pub struct Histogram {
    /// Shortest life of each class, in bytes that the host writes meanwhile; each class reaches to twice
    /// that.
    pub life_bytes: Vec<u64>,
    /// Bytes whose life ended in the class.
    pub ended_bytes: Vec<u64>,
    /// Bytes that lived at the end of the part learned from, by their age then.
    pub alive_bytes: Vec<u64>,
}

/// Lives by address.
#[derive(Clone, Debug, Serialize)]
pub struct HeatMap {
    /// Bytes of address space of a column.
    pub column_bytes: u64,
    /// Bytes written to each.
    pub written_bytes: Vec<u64>,
    /// Mean life of its pages in bytes that the host writes meanwhile; none where nothing died.
    pub mean_life_bytes: Vec<Option<f64>>,
    /// Spread of its lives; see [`GroupReport::spread`](super::GroupReport::spread).
    pub spread: Vec<Option<f64>>,
}
