//! A seeded stream of random numbers, identical on every machine.

use cwndlab_units::random;

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn bits(&mut self) -> u64 {
        random::splitmix(&mut self.0)
    }

    /// Uniform in [0, end); 0 for an `end` of 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        random::below(self.bits(), end)
    }

    /// Uniform in [low, high].
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// True with probability 1/`n`.
    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// A random element.
    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    /// A number from `low` to `high` with a uniform number of bits.
    pub(crate) fn magnitude(&mut self, low: u64, high: u64) -> u64 {
        let bits = self.between(u64::from(low.max(1).ilog2()), u64::from(high.max(1).ilog2()));
        (1u64 << bits | self.below(1 << bits)).clamp(low, high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_magnitude_is_within_its_bounds() {
        let mut random = Random::new(1);
        assert!((0..10_000).map(|_| random.magnitude(3, 1_000)).all(|value| (3..=1_000).contains(&value)));
    }
}
