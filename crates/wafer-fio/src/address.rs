//! Which block a random command addresses: the distributions of `random_distribution`.

use wafer_random::{Inverse, Normal, Purpose, Ranked, Rng, Zoned};

use crate::job::Distribution;

/// Draws block numbers for one direction of a job.
#[derive(Clone, Debug)]
pub(crate) enum Addresses {
    /// Uniform over this many blocks.
    Uniform(u64),
    Zoned(Zoned),
    Ranked(Ranked),
    Normal(Normal),
}

impl Addresses {
    /// `aligned`: number of blocks of `align` bytes in the region, at least 1; `ranges`: number of parts into which
    /// zipf, pareto and normal divide it; `center_rng` draws the place of the most frequent block of zipf and pareto.
    pub(crate) fn new(
        distribution: &Distribution,
        aligned: u64,
        align: u64,
        ranges: u64,
        center_rng: &Rng,
    ) -> Result<Self, String> {
        let ranked = |inverse, at: Option<f64>| {
            // Without a center fio adds 32 random bits, so the rank-0 block is anywhere.
            let offset = match at {
                Some(at) => (ranges as f64 * at) as u64,
                None => u64::from(center_rng.clone().next32()),
            };
            Addresses::Ranked(Ranked::new(inverse, ranges, offset))
        };
        let (name, center) = match *distribution {
            Distribution::Zipf { center, .. } => ("zipf", center),
            Distribution::Pareto { center, .. } => ("pareto", center),
            Distribution::Normal { center, .. } => ("normal", center),
            _ => ("", None),
        };
        if center.is_some_and(|c| !(0.0..=1.0).contains(&c)) {
            return Err(format!("{name}: the center must be from 0 to 1"));
        }
        Ok(match *distribution {
            Distribution::Uniform => Addresses::Uniform(aligned),
            Distribution::Zipf { theta, center } => {
                if !(theta > 0.0 && theta.is_finite()) || theta == 1.0 {
                    return Err(format!("zipf:{theta}: theta must be above 0 and not 1"));
                }
                ranked(Inverse::zipf(ranges, theta), center)
            }
            Distribution::Pareto { h, center } => {
                if !(h > 0.0 && h < 1.0) {
                    return Err(format!("pareto:{h}: the input must be between 0 and 1"));
                }
                ranked(Inverse::pareto(ranges, h), center)
            }
            Distribution::Normal { deviation, center } => {
                if !(0.0..=100.0).contains(&deviation) {
                    return Err(format!("normal:{deviation}: the deviation must be 0 to 100"));
                }
                Addresses::Normal(Normal::new(ranges, deviation, center))
            }
            Distribution::Zoned(ref zones) => Addresses::Zoned(Zoned::relative(zones, aligned)?),
            Distribution::ZonedAbs(ref zones) => {
                Addresses::Zoned(Zoned::absolute(zones, align, aligned)?)
            }
        })
    }

    /// Returns whether fio keeps no random map with this distribution.
    pub(crate) fn excludes_map(&self) -> bool {
        !matches!(self, Addresses::Uniform(_))
    }

    /// Returns the generator that the distribution draws from. fio does not reseed that of [`Purpose::Rank`] with every
    /// loop over the region.
    pub(crate) fn purpose(&self) -> Purpose {
        match self {
            Addresses::Uniform(_) | Addresses::Zoned(_) => Purpose::Address,
            Addresses::Ranked(_) | Addresses::Normal(_) => Purpose::Rank,
        }
    }

    /// Draws a block.
    #[inline]
    pub(crate) fn draw(&self, rng: &mut Rng) -> u64 {
        match self {
            Addresses::Uniform(blocks) => rng.below(*blocks),
            Addresses::Zoned(zoned) => zoned.draw(rng),
            Addresses::Ranked(ranked) => ranked.draw(rng),
            Addresses::Normal(normal) => normal.draw(rng),
        }
    }

    /// Draws `n` blocks, choosing the distribution once.
    #[inline]
    pub(crate) fn draw_each(&self, rng: &mut Rng, n: usize, mut take: impl FnMut(u64)) {
        match self {
            Addresses::Uniform(blocks) => (0..n).for_each(|_| take(rng.below(*blocks))),
            Addresses::Zoned(zoned) => (0..n).for_each(|_| take(zoned.draw(rng))),
            Addresses::Ranked(ranked) => (0..n).for_each(|_| take(ranked.draw(rng))),
            Addresses::Normal(normal) => (0..n).for_each(|_| take(normal.draw(rng))),
        }
    }

    /// Returns the bytes of tables.
    pub(crate) fn memory_bytes(&self) -> u64 {
        match self {
            Addresses::Uniform(_) | Addresses::Normal(_) => 0,
            Addresses::Zoned(zoned) => zoned.memory_bytes(),
            Addresses::Ranked(ranked) => ranked.memory_bytes(),
        }
    }
}
