//! Functions for seeded random streams, with the same results on every machine.

/// The next 64 bits of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). `state` starts as the seed and is advanced.
#[inline]
pub fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A number of a Poisson distribution whose probability of zero, e^−mean, is `none`, from uniform draws (D. Knuth, The
/// Art of Computer Programming 2, section 3.4.1).
#[inline]
pub fn poisson(none: f64, mut unit: impl FnMut() -> f64) -> u32 {
    let mut count = 0;
    let mut product = unit();
    while product > none {
        count += 1;
        product *= unit();
    }
    count
}

/// Maps 64 random bits to a uniform integer in [0, `end`); 0 if `end` is 0.
#[inline]
#[must_use]
pub fn below(bits: u64, end: u64) -> u64 {
    ((u128::from(bits) * u128::from(end)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference implementation of SplitMix64 (Vigna 2015), seed 1234567.
    #[test]
    fn splitmix_has_the_stream_of_the_reference_implementation() {
        let mut state = 1_234_567;
        let first = [(); 3].map(|()| splitmix(&mut state));
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    /// By hand: (2⁶⁴ − 1) · 7 / 2⁶⁴ is just below 7.
    #[test]
    fn all_ones_map_to_the_largest_integer() {
        assert_eq!([below(0, 7), below(u64::MAX, 7), below(u64::MAX, 0)], [0, 6, 0]);
    }
}
