//! The payload of transfers: an infinite pseudo-random stream that any client can reproduce. The server reads no disk,
//! and middleboxes cannot compress the stream.
//!
//! Its words are the outputs of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
//! OOPSLA 2014) with seed 0, little-endian. The n-th output does not depend on earlier outputs, so that the cost of a
//! range is proportional to its length.

/// Bytes of a word.
const WORD: u64 = 8;

/// The word with this index.
fn word(index: u64) -> u64 {
    let mut z = index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Writes the stream from `offset` on into `out`.
pub fn fill(offset: u64, out: &mut [u8]) {
    let mut index = offset / WORD;
    let within = (offset % WORD) as usize;
    let mut rest = out;
    if within > 0 {
        let bytes = word(index).to_le_bytes();
        let take = rest.len().min(WORD as usize - within);
        let (head, tail) = rest.split_at_mut(take);
        head.copy_from_slice(&bytes[within..within + take]);
        (rest, index) = (tail, index.wrapping_add(1));
    }
    for piece in rest.chunks_mut(WORD as usize) {
        piece.copy_from_slice(&word(index).to_le_bytes()[..piece.len()]);
        index = index.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The first outputs for seed 0, as the author's program prints them (prng.di.unimi.it/splitmix64.c).
    #[test]
    fn the_stream_is_splitmix64_with_seed_0() {
        assert_eq!(word(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(word(1), 0x6e78_9e6a_a1b9_65f4);
        assert_eq!(word(2), 0x06c4_5d18_8009_454f);
    }

    proptest! {
        #[test]
        fn any_range_is_part_of_the_stream(first in 0usize..500, length in 0usize..500) {
            let mut whole = vec![0; 1000];
            fill(0, &mut whole);
            let mut part = vec![0; length];
            fill(first as u64, &mut part);
            prop_assert_eq!(&part[..], &whole[first..first + length]);
        }

        #[test]
        fn any_offset_is_accepted(offset: u64, length in 0usize..64) {
            fill(offset, &mut vec![0; length]);
        }
    }
}
