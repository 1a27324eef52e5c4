//! Remainder by a fixed divisor, without division.

/// `x % divisor` for any `x`.
#[derive(Clone, Copy, Debug)]
pub struct Modulo {
    divisor: u64,
    /// `floor((2^64 - 1) / divisor)`: the quotient it gives is right or one too small.
    reciprocal: u64,
}

impl Modulo {
    /// Creates the remainder by `divisor`, which is at least 1.
    pub fn new(divisor: u64) -> Self {
        Modulo { divisor, reciprocal: u64::MAX / divisor }
    }

    /// Returns `x % divisor`.
    #[inline(always)]
    pub fn of(&self, x: u64) -> u64 {
        let quotient = ((u128::from(x) * u128::from(self.reciprocal)) >> 64) as u64;
        let rest = x.wrapping_sub(quotient.wrapping_mul(self.divisor));
        // Either one divisor too many or none. Without a branch: the smaller of the two is in range; the other is out
        // of range or has wrapped around.
        rest.min(rest.wrapping_sub(self.divisor))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn is_the_remainder(x: u64, d in 1u64.., shift in 0..64u32) {
            let d = (d >> shift).max(1);
            for x in [x, x >> shift, x / d * d, (x / d * d).wrapping_sub(1), u64::MAX, 0] {
                prop_assert_eq!(Modulo::new(d).of(x), x % d);
            }
        }
    }
}
