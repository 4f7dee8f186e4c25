//! The SACK blocks of the ACKs before: an ACK repeats most of them, or adds a segment to the end of one (Linux,
//! `tp->recv_sack_cache`).

use crate::wire::MAX_BLOCKS;

/// Blocks, by their place in the ACK: of those in flight every segment is SACKed. Empty ones stand for none.
#[derive(Debug, Default)]
pub(crate) struct SackCache([(u64, u64); MAX_BLOCKS]);

impl SackCache {
    /// Reduces the blocks of an ACK to what they add to those before, and to those that are `valid`; returns how many are
    /// left. Behind each other they stand for the same segments as all of them. `next` is SND.NXT.
    #[inline]
    pub(crate) fn take_news(
        &mut self,
        blocks: &mut [(u64, u64)],
        next: u64,
        valid: impl Fn(u64, u64) -> bool,
    ) -> usize {
        let (mut news, mut before) = (0, (0, 0));
        for (at, known) in self.0.iter_mut().enumerate().take(blocks.len()) {
            let (from, to) = blocks[at];
            // A new first block moves the others by one place.
            let start = match (*known, before) {
                ((same, end), _) | (_, (same, end)) if same == from && end <= to => end,
                _ => from,
            };
            before = *known;
            *known = if from < to && to <= next { (from, to) } else { (0, 0) };
            if start < to && valid(from, to) {
                blocks[news] = (start, to);
                news += 1;
            }
        }
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn news(cache: &mut SackCache, blocks: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let mut list = blocks.to_vec();
        let count = cache.take_news(&mut list, 1000, |_, _| true);
        list.truncate(count);
        list
    }

    /// By hand: a block grows, another one appears in front of it, and grows while the first one stays.
    #[test]
    fn blocks_are_reduced_to_what_they_add() {
        let mut cache = SackCache::default();
        assert_eq!(news(&mut cache, &[(10, 11)]), [(10, 11)]);
        assert_eq!(news(&mut cache, &[(10, 13)]), [(11, 13)]);
        assert_eq!(news(&mut cache, &[(20, 21), (10, 13)]), [(20, 21)]);
        assert_eq!(news(&mut cache, &[(20, 22), (10, 13)]), [(21, 22)]);
        assert_eq!(news(&mut cache, &[(19, 22), (10, 13)]), [(19, 22)]);
        assert!(news(&mut cache, &[(19, 22), (10, 13)]).is_empty());
    }

    /// A block beyond SND.NXT, or without segments, is not remembered.
    #[test]
    fn blocks_that_contradict_themselves_are_not_remembered() {
        let mut cache = SackCache::default();
        for block in [(10, 1001), (10, 5)] {
            for _ in 0..2 {
                cache.take_news(&mut [block], 1000, |_, _| true);
            }
        }
        assert_eq!(news(&mut cache, &[(10, 1001)]), [(10, 1001)]);
        assert_eq!(news(&mut cache, &[(10, 20)]), [(10, 20)]);
    }

    proptest! {
        /// Whatever the blocks are, the segments that are left out were reported before.
        #[test]
        fn the_same_segments_are_reported_in_all(
            acks in prop::collection::vec(prop::collection::vec((0u64..20, 0u64..9), 0..=MAX_BLOCKS), 1..40),
        ) {
            let (mut cache, mut all, mut reduced) = (SackCache::default(), BTreeSet::new(), BTreeSet::new());
            for ack in acks {
                let blocks: Vec<_> = ack.iter().map(|&(from, len)| (from, from + len)).collect();
                all.extend(blocks.iter().flat_map(|&(from, to)| from..to));
                reduced.extend(news(&mut cache, &blocks).iter().flat_map(|&(from, to)| from..to));
                prop_assert_eq!(&all, &reduced);
            }
        }
    }
}
