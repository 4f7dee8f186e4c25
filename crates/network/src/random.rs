//! Random streams: one generator, with a separate stream for each consumer.

use cwndlab_units::random;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The consumer of a random stream. The numbers are part of every result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Purpose {
    /// Loss models: sixteen streams for each link.
    Loss = 1,
    /// Jitter, reordering and duplicates of a link.
    Wire = 2,
    /// The seed of a flow's congestion control.
    Algorithm = 3,
    /// Start times of flows.
    Start = 4,
    /// Queue disciplines.
    Queue = 5,
    /// Channel access of a wireless medium.
    Medium = 6,
    /// Retransmissions of a radio link.
    Harq = 7,
    /// Times between changes of a link's delay.
    Changes = 8,
    /// Perturbation of delays.
    DelayPerturbation = 9,
    /// Perturbation of rates.
    RatePerturbation = 10,
    /// Attempts of a cell, and as part 1 the fading of its links.
    Cell = 11,
    /// Sizes of transfers, responses, messages and frames.
    Size = 20,
    /// Times of arrivals, periods, think times and publishing.
    Time = 21,
    /// Sizes of requests, and numbers of objects.
    Other = 22,
    /// Gaps between the starts of flows.
    Gap = 23,
}

/// A stream of random numbers, identical on every machine for the same seed, purpose and index.
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// The stream `index` of `purpose` in a run with this seed.
    #[must_use]
    pub fn new(seed: u64, purpose: Purpose, index: u64) -> Self {
        Self::of_part(seed, purpose, 0, index)
    }

    /// The stream `index` of part `part` of a purpose, of which part 0 is the whole.
    #[must_use]
    pub fn of_part(seed: u64, purpose: Purpose, part: u32, index: u64) -> Self {
        let purpose = purpose as u64 | u64::from(part) << 32;
        Self(Xoshiro256PlusPlus::seed_from_u64(mix(mix(mix(seed) ^ purpose) ^ index)))
    }

    /// Uniform in [0, 1), 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in [0, end); 0 for an `end` of 0.
    #[inline]
    pub fn below(&mut self, end: u64) -> u64 {
        random::below(self.0.next_u64(), end)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }
}

/// Maps close values to unrelated ones (SplitMix64).
fn mix(mut value: u64) -> u64 {
    random::splitmix(&mut value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_reproducible_and_distinct() {
        let take = |seed, index| Stream::new(seed, Purpose::Loss, index).bits();
        assert_eq!(take(7, 0), take(7, 0));
        assert_ne!(take(7, 0), take(7, 1));
        assert_ne!(take(7, 0), take(8, 0));
    }

    /// The mean of U(0, 1) is 1/2 with a standard error of 0.29/√n.
    #[test]
    fn unit_is_uniform() {
        let mut stream = Stream::new(1, Purpose::Wire, 3);
        let mean = (0..100_000).map(|_| stream.unit()).sum::<f64>() / 1e5;
        assert!((mean - 0.5).abs() < 0.005, "{mean}");
    }
}
