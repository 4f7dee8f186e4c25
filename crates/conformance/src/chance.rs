//! Chance: one seeded stream, the same on every machine.

/// SplitMix64 (Steele, Lea, Flood 2014).
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [0, end); 0 for an `end` of 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(end)) >> 64) as u64
    }

    /// Uniform in [low, high].
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// True once in `n` times.
    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of them.
    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    /// Of any magnitude from `low` to `high`: the number of bits is drawn before the number.
    pub(crate) fn magnitude(&mut self, low: u64, high: u64) -> u64 {
        let bits = self.between(u64::from(low.max(1).ilog2()), u64::from(high.max(1).ilog2()));
        (1u64 << bits | self.below(1 << bits)).clamp(low, high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference implementation of SplitMix64 (Vigna 2015), seed 1234567.
    #[test]
    fn the_stream_is_that_of_the_reference() {
        let mut chance = Chance::new(1_234_567);
        let first = [(); 3].map(|()| chance.bits());
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn a_magnitude_stays_within_its_bounds() {
        let mut chance = Chance::new(1);
        assert!((0..10_000).map(|_| chance.magnitude(3, 1_000)).all(|value| (3..=1_000).contains(&value)));
    }
}
