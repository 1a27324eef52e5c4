//! Lifetimes of pages by address, in host pages written in the meantime.

use wafer_device::Geometry;
use wafer_interface::Op;

use super::advice::{HeatMap, Histogram};
use super::log::Log;

/// Lifetimes in a range of addresses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Life {
    /// Number of pages invalidated: overwritten or deallocated.
    pub(super) ended: f64,
    /// Sum of the ages of all pages, valid ones included.
    pub(super) exposure: f64,
    /// Sums of the natural logarithms of ended lives, and of their squares.
    pub(super) log: f64,
    pub(super) log2: f64,
    /// Number of pages written.
    pub(super) writes: f64,
    /// Number of addresses written.
    pub(super) space: f64,
}

impl Life {
    pub(super) fn add(&mut self, other: &Life) {
        self.ended += other.ended;
        self.exposure += other.exposure;
        self.log += other.log;
        self.log2 += other.log2;
        self.writes += other.writes;
        self.space += other.space;
    }

    /// Counts a page invalidated at an age.
    pub(super) fn end(&mut self, age: f64) {
        let log = age.max(1.0).ln();
        self.ended += 1.0;
        self.exposure += age;
        self.log += log;
        self.log2 += log * log;
    }

    /// Returns the mean lifetime: exposure divided by the number of ended lives, at least a half.
    pub(super) fn mean(&self) -> f64 {
        (self.exposure / self.ended.max(0.5)).max(1.0)
    }

    /// Returns the standard deviation of log lifetimes; that of an exponential if fewer than 4 ended.
    pub(super) fn spread(&self) -> f64 {
        if self.ended < 4.0 {
            return EXPONENTIAL;
        }
        let mean = self.log / self.ended;
        (self.log2 / self.ended - mean * mean).max(0.0).sqrt()
    }
}

/// Standard deviation of the logarithm of an exponential variable: pi / sqrt(6).
pub(super) const EXPONENTIAL: f64 = 1.282_549_830_161_864;

/// Maximum number of granules: memory stays below 200 MB.
const MOST_GRANULES: u64 = 1 << 21;
/// Number of classes in a histogram: powers of 2 of pages.
const CLASSES: usize = 48;

/// Learned lifetimes.
pub(super) struct Lives {
    /// Pages of a granule, a power of 2.
    pub(super) granule: u64,
    pub(super) of: Vec<Life>,
    /// Number of ended lives, by power of 2 of the age in pages.
    histogram: [f64; CLASSES],
    /// Pages valid when the learned part ended, by their age at that time.
    alive: [f64; CLASSES],
}

impl Lives {
    /// Measures lifetimes in the first `learned` commands.
    pub(super) fn learn(log: &Log, geometry: &Geometry, learned: usize) -> Self {
        let mut granule = 1u64;
        while geometry.logical_pages.div_ceil(granule) > MOST_GRANULES {
            granule *= 2;
        }
        let mut lives = Lives {
            granule,
            of: vec![Life::default(); geometry.logical_pages.div_ceil(granule) as usize],
            histogram: [0.0; CLASSES],
            alive: [0.0; CLASSES],
        };
        // Time of the last write, from 1; 0 for an unmapped page.
        let mut born = vec![0u64; geometry.logical_pages as usize];
        let mut seen = vec![0u64; geometry.logical_pages.div_ceil(64) as usize];
        let mut clock = 0u64;
        for command in &log.commands[..learned] {
            for page in log.device_pages(command, geometry) {
                let Some(birth) = born.get_mut(page as usize) else { break };
                let life = &mut lives.of[(page / granule) as usize];
                if *birth > 0 {
                    let age = clock + 1 - *birth;
                    life.end(age as f64);
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

    /// Returns the number of pages invalidated.
    pub(super) fn ended(&self) -> f64 {
        self.histogram.iter().sum()
    }

    /// Returns the ages, in pages, that divide the ended lives into `classes` equal parts.
    pub(super) fn quantiles(&self, classes: usize) -> Vec<u64> {
        let all = self.ended().max(1.0);
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
                .map(|l| (l.ended > 0.0).then(|| l.mean() * geometry.page_bytes as f64))
                .collect(),
            spread: columns.iter().map(|l| (l.ended >= 4.0).then(|| l.spread())).collect(),
        }
    }
}

fn class(age: u64) -> usize {
    (age.max(1).ilog2() as usize).min(CLASSES - 1)
}
