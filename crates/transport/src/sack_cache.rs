//! A cache of the SACK blocks of previous ACKs. Most blocks of an ACK repeat them or extend one by a segment (Linux,
//! `tp->recv_sack_cache`).

use crate::wire::MAX_BLOCKS;

/// SackThe last blocks by their position in the ACK. All segments of a cached block are SACKed or acknowledged. An
/// empty block is not an entry.
#[derive(Debug, Default)]
pub(crate) struct SackCache([(u64, u64); MAX_BLOCKS]);

impl SackCache {
    /// Reduces the blocks of an ACK to the parts that are not cached, and to `valid` blocks; returns how many remain.
    /// Over successive ACKs the reduced blocks cover the same segments as the original ones. `next` is SND.NXT.
    #[inline]
    pub(crate) fn take_new(&mut self, blocks: &mut [(u64, u64)], next: u64, valid: impl Fn(u64, u64) -> bool) -> usize {
        let mut count = 0;
        let mut previous = (0, 0);
        for (at, known) in self.0.iter_mut().enumerate().take(blocks.len()) {
            let (from, to) = blocks[at];
            // A new first block shifts the others by one position.
            let start = match (*known, previous) {
                ((same, end), _) | (_, (same, end)) if same == from && end <= to => end,
                _ => from,
            };
            previous = *known;
            *known = if from < to && to <= next { (from, to) } else { (0, 0) };
            if start < to && valid(from, to) {
                blocks[count] = (start, to);
                count += 1;
            }
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn new_parts(cache: &mut SackCache, blocks: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let mut list = blocks.to_vec();
        let count = cache.take_new(&mut list, 1000, |_, _| true);
        list.truncate(count);
        list
    }

    /// By hand: a block grows, a second one appears before it and grows while the first one stays.
    #[test]
    fn blocks_are_reduced_to_their_new_parts() {
        let mut cache = SackCache::default();
        assert_eq!(new_parts(&mut cache, &[(10, 11)]), [(10, 11)]);
        assert_eq!(new_parts(&mut cache, &[(10, 13)]), [(11, 13)]);
        assert_eq!(new_parts(&mut cache, &[(20, 21), (10, 13)]), [(20, 21)]);
        assert_eq!(new_parts(&mut cache, &[(20, 22), (10, 13)]), [(21, 22)]);
        assert_eq!(new_parts(&mut cache, &[(19, 22), (10, 13)]), [(19, 22)]);
        assert!(new_parts(&mut cache, &[(19, 22), (10, 13)]).is_empty());
    }

    /// A block beyond SND.NXT, or without segments, is not cached.
    #[test]
    fn invalid_blocks_are_not_cached() {
        let mut cache = SackCache::default();
        for block in [(10, 1001), (10, 5)] {
            for _ in 0..2 {
                cache.take_new(&mut [block], 1000, |_, _| true);
            }
        }
        assert_eq!(new_parts(&mut cache, &[(10, 1001)]), [(10, 1001)]);
        assert_eq!(new_parts(&mut cache, &[(10, 20)]), [(10, 20)]);
    }

    proptest! {
        /// For any blocks, the omitted segments were reported before.
        #[test]
        fn reduced_blocks_cover_the_same_segments(
            acks in prop::collection::vec(prop::collection::vec((0u64..20, 0u64..9), 0..=MAX_BLOCKS), 1..40),
        ) {
            let mut cache = SackCache::default();
            let mut all = BTreeSet::new();
            let mut reduced = BTreeSet::new();
            for ack in acks {
                let blocks: Vec<_> = ack.iter().map(|&(from, len)| (from, from + len)).collect();
                all.extend(blocks.iter().flat_map(|&(from, to)| from..to));
                reduced.extend(new_parts(&mut cache, &blocks).iter().flat_map(|&(from, to)| from..to));
                prop_assert_eq!(&all, &reduced);
            }
        }
    }
}
