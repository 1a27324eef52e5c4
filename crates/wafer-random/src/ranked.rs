//! Zipf and Pareto: a rank from the inverse of the distribution, then a block from fio's hash.
//!
//! fio draws 32 bits, `u = r / (2^32 - 1)`, turns `u` into a rank with one or two calls of `pow`
//! (lib/zipf.c), multiplies the rank by a 64-bit golden ratio, adds an offset and takes the
//! remainder by the number of blocks. The hash is no permutation of the blocks: some blocks get
//! several ranks and many get none.
//!
//! The inverse is smooth except for two steps, so here it is a table of cubics over equal parts of `u`. Parts where a
//! cubic is not within [`TOLERANCE`] of a rank use the formula itself.

use crate::modulo::Modulo;
use crate::rng::Rng;

/// fio sums at most this many terms of the zeta function (`ZIPF_MAX_GEN`).
const ZETA_TERMS: u64 = 10_000_000;
/// fio's multiplier (`GOLDEN_RATIO_64`, hash.h).
pub const GOLDEN_RATIO: u64 = 0x61c8_8646_80b5_83eb;
/// Maximum error of a cubic, in ranks. It moves the border between two neighbouring ranks by that fraction of a rank,
/// where both are drawn about equally often.
const TOLERANCE: f64 = 0.02;
/// Table sizes tried, as powers of two; the largest takes 512 KiB.
const TABLE_BITS: std::ops::RangeInclusive<u32> = 8..=14;
/// Parts that may use the formula before a finer table is tried: one in this many.
const SLOW_PARTS: usize = 256;

/// The formula, from `u` in 0..=1 to a real-valued rank from 0.
#[derive(Clone, Copy, Debug)]
pub enum Inverse {
    /// Gray's approximation of a Zipf distribution (SIGMOD 1994), as in fio.
    Zipf {
        /// Number of ranks.
        n: f64,
        /// Sum of the first terms.
        zeta_n: f64,
        /// Sum of the first two terms.
        zeta_2: f64,
        /// Gray's eta.
        eta: f64,
        /// 1 / (1 - theta).
        alpha: f64,
    },
    /// `(n - 1) * u ^ power`.
    Pareto {
        /// Number of ranks less one.
        last: f64,
        /// Exponent of the draw.
        power: f64,
    },
}

/// Returns the sum of `i ^ -theta` for `i` in `1..=n`: the head term by term, the rest by the Euler-Maclaurin formula,
/// with a relative error of about 1e-14. fio adds term by term, which takes a second.
pub(crate) fn zeta(n: u64, theta: f64) -> f64 {
    let head = n.min(1000);
    // From small terms to large ones, to limit rounding errors.
    let sum: f64 = (1..=head).rev().map(|i| libm::pow(i as f64, -theta)).sum();
    if n == head {
        return sum;
    }
    let (a, b) = (head as f64, n as f64);
    let (fa, fb) = (libm::pow(a, -theta), libm::pow(b, -theta));
    let integral = (b * fb - a * fa) / (1.0 - theta);
    let first = theta / 12.0 * (fa / a - fb / b);
    let third = theta * (theta + 1.0) * (theta + 2.0) / 720.0;
    sum + integral + (fb - fa) / 2.0 + first - third * (fa / (a * a * a) - fb / (b * b * b))
}

impl Inverse {
    /// Zipf over `n` blocks with exponent `theta`.
    pub fn zipf(n: u64, theta: f64) -> Self {
        let zeta_n = zeta(n.min(ZETA_TERMS), theta);
        let zeta_2 = 1.0 + libm::pow(0.5, theta);
        let blocks = n as f64;
        let eta = (1.0 - libm::pow(2.0 / blocks, 1.0 - theta)) / (1.0 - zeta_2 / zeta_n);
        Inverse::Zipf { n: blocks, zeta_n, zeta_2, eta, alpha: 1.0 / (1.0 - theta) }
    }

    /// Pareto over `n` blocks with fio's input `h`.
    pub fn pareto(n: u64, h: f64) -> Self {
        Inverse::Pareto { last: (n - 1) as f64, power: libm::log(h) / libm::log(1.0 - h) }
    }

    /// Returns the real-valued rank of `u`; its integer part is the rank, 0 the most frequent.
    pub fn rank(&self, u: f64) -> f64 {
        match *self {
            Inverse::Zipf { n, zeta_n, zeta_2, eta, alpha } => {
                let z = u * zeta_n;
                if z < 1.0 {
                    0.0
                } else if z < zeta_2 {
                    1.0
                } else {
                    n * libm::pow(eta * u - eta + 1.0, alpha)
                }
            }
            Inverse::Pareto { last, power } => last * libm::pow(u, power),
        }
    }

    /// Returns the rank of a 32-bit draw, by the formula.
    pub fn rank_of(&self, r: u32) -> u64 {
        // With one block, eta is 0 / 0 and the rank NaN, which converts to 0.
        self.rank(f64::from(r) / f64::from(u32::MAX)) as u64
    }

    /// Returns whether the formula is smooth between two draws.
    fn smooth(&self, low: f64, high: f64) -> bool {
        match *self {
            Inverse::Zipf { zeta_n, zeta_2, .. } => low * zeta_n >= zeta_2 && high <= 1.0,
            Inverse::Pareto { .. } => true,
        }
    }
}

/// Draws from one ranked distribution.
#[derive(Clone, Debug)]
pub struct Ranked {
    inverse: Inverse,
    /// `32 - log2(parts)`.
    shift: u32,
    /// Coefficients of one cubic per part, in the position 0..1 within it; NaN: use the formula.
    parts: Vec<[f64; 4]>,
    /// Factor from a draw to the position within its part.
    scale: f64,
    modulo: Modulo,
    /// Added after the hash.
    offset: u64,
}

/// Returns the cubic through four Chebyshev nodes of a part, if it is close enough to the formula.
fn cubic(inverse: &Inverse, low: f64, width: f64) -> Option<[f64; 4]> {
    let nodes = [0.038_060_233_744_356_63, 0.308_658_283_817_455_1].map(|x| [x, 1.0 - x]);
    let x = [nodes[0][0], nodes[1][0], nodes[1][1], nodes[0][1]];
    // Newton's divided differences, then expanded to powers.
    let mut d = x.map(|x| inverse.rank(low + x * width));
    for order in 1..4 {
        for i in (order..4).rev() {
            d[i] = (d[i] - d[i - 1]) / (x[i] - x[i - order]);
        }
    }
    let mut c = [d[3], 0.0, 0.0, 0.0];
    for i in (0..3).rev() {
        for j in (1..4).rev() {
            c[j] = c[j - 1] - x[i] * c[j];
        }
        c[0] = d[i] - x[i] * c[0];
    }
    let close = (0..=16).all(|i| {
        let t = f64::from(i) / 16.0;
        let value = c[0] + t * (c[1] + t * (c[2] + t * c[3]));
        (value - inverse.rank(low + t * width)).abs() <= TOLERANCE && value >= 0.0
    });
    close.then_some(c)
}

impl Ranked {
    /// Creates draws of `inverse` over `blocks` blocks; `offset` moves the most frequent one.
    pub fn new(inverse: Inverse, blocks: u64, offset: u64) -> Self {
        let (shift, parts) = Self::table(&inverse);
        let scale = 1.0 / f64::from(1u32 << shift);
        Ranked { inverse, shift, parts, scale, modulo: Modulo::new(blocks), offset }
    }

    fn table(inverse: &Inverse) -> (u32, Vec<[f64; 4]>) {
        let mut bits = *TABLE_BITS.start();
        loop {
            let shift = 32 - bits;
            let mut slow = 0;
            let parts = (0..1u32 << bits).map(|i| {
                let (first, last) = (i << shift, (i << shift) + ((1u32 << shift) - 1));
                if inverse.rank_of(first) == inverse.rank_of(last) {
                    return [inverse.rank_of(first) as f64, 0.0, 0.0, 0.0];
                }
                let unit = 1.0 / f64::from(u32::MAX);
                let (low, width) = (f64::from(first) * unit, f64::from(1u32 << shift) * unit);
                let smooth = inverse.smooth(low, f64::from(last) * unit);
                let fit = if smooth { cubic(inverse, low, width) } else { None };
                fit.unwrap_or_else(|| {
                    slow += 1;
                    [f64::NAN; 4]
                })
            });
            let parts: Vec<_> = parts.collect();
            if slow <= parts.len() / SLOW_PARTS || bits == *TABLE_BITS.end() {
                return (shift, parts);
            }
            bits += 1;
        }
    }

    /// Returns the rank of a 32-bit draw, by the table.
    #[inline(always)]
    pub fn rank_of(&self, r: u32) -> u64 {
        let c = &self.parts[(r >> self.shift) as usize];
        let t = f64::from(r & ((1 << self.shift) - 1)) * self.scale;
        let rank = c[0] + t * (c[1] + t * (c[2] + t * c[3]));
        if rank.is_nan() { self.inverse.rank_of(r) } else { rank as u64 }
    }

    /// Returns the block of a rank.
    #[inline(always)]
    pub fn block_of(&self, rank: u64) -> u64 {
        self.modulo.of(rank.wrapping_mul(GOLDEN_RATIO).wrapping_add(self.offset))
    }

    /// Draws a block.
    #[inline(always)]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        self.block_of(self.rank_of(rng.next32()))
    }

    /// Returns the size of the table in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.parts.len() as u64 * 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Purpose;

    #[test]
    fn zeta_is_the_sum() {
        for theta in [0.2, 0.9, 0.99, 1.01, 1.2, 2.2, 5.0] {
            for n in [1, 2, 999, 1001, 5000, 2_000_000] {
                let sum: f64 = (1..=n).rev().map(|i| (i as f64).powf(-theta)).sum();
                let error = (zeta(n, theta) - sum).abs() / sum;
                assert!(error < 1e-12, "theta {theta}, n {n}: {error}");
            }
        }
    }

    /// Every draw from the table is the formula's rank or, right at a border, its neighbour.
    #[test]
    fn the_table_is_the_formula() {
        let mut rng = Rng::new(1, 0, Purpose::Rank, 0);
        let mut inverses = Vec::new();
        for n in [1, 2, 3, 100, 16_384, 58_700_000, 900_000_000] {
            for theta in [0.1, 0.5, 0.9, 0.99, 1.01, 1.2, 2.2, 4.0] {
                inverses.push((n, Inverse::zipf(n, theta)));
            }
            for h in [0.01, 0.1, 0.2, 0.5, 0.8, 0.99] {
                inverses.push((n, Inverse::pareto(n, h)));
            }
        }
        for (n, inverse) in inverses {
            let ranked = Ranked::new(inverse, n, 0);
            let mut different = 0;
            let draws = 20_000;
            for i in 0..draws {
                let r = match i {
                    0 => 0,
                    1 => u32::MAX,
                    2 => u32::MAX - 1,
                    _ => rng.next32(),
                };
                let (fast, exact) = (ranked.rank_of(r), inverse.rank_of(r));
                assert!(fast.abs_diff(exact) <= 1, "{inverse:?} at {r}: {fast}, not {exact}");
                different += u64::from(fast != exact);
            }
            assert!(different <= draws / 25, "{inverse:?}: {different} differ");
            let slow = ranked.parts.iter().filter(|c| c[0].is_nan()).count();
            let share = slow as f64 / ranked.parts.len() as f64;
            assert!(share < 0.04, "{inverse:?}: {share} of the draws by the formula");
        }
    }
}
