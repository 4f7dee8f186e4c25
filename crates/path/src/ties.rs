//! The order of events at the same time.
//!
//! Times are integers in nanoseconds, and scenarios have round numbers. If the RTTs are multiples of a packet's
//! transmission time, packets of two flows reach a full queue at the same time again and again, and the first one takes the
//! place that has just become free. A fixed order, such as that of the flows in the scenario, gives all of these places to
//! one flow (S. Floyd, V. Jacobson, "On Traffic Phase Effects in Packet-Switched Gateways", 1992). So the rank of a source
//! is a hash of the time and its number.
//!
//! ns-2 adds the same delays in floating point, so that rounding decides.

use cwndlab_units::Time;

use crate::timers::TIMERS;

const _: () = assert!(TIMERS == 4, "a timer's number is the two lowest bits of its source");

/// Bits of a hash: two sources have equal ones at one of 256 times, and are then in the order of their numbers.
pub(crate) const HASH_BITS: u32 = 8;
/// Bits of a rank: those of the hash, and the class above them.
pub(crate) const RANK_BITS: u32 = HASH_BITS + 2;

/// Ranks of sources at a time: links come before timers, timers before servers. Links among themselves, and the timers of
/// different connections, are in the order of their hashes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ties {
    links: u32,
    first_server: u32,
}

impl Ties {
    /// The ranks in a network of so many links and connections.
    pub(crate) fn new(links: usize, flows: usize) -> Self {
        Self { links: links as u32, first_server: (links + flows * TIMERS) as u32 }
    }

    /// A hash of `source` and `time`: the upper bits of a product, which depend on all bits of both (Fibonacci hashing:
    /// D. Knuth, The Art of Computer Programming 3, section 6.4). Sources are first spread far apart, so that their hashes
    /// at one time are independent.
    #[inline]
    pub(crate) fn hash(time: Time, source: u32) -> u32 {
        let mixed =
            (time.0 ^ u64::from(source).wrapping_mul(0xD6E8_FEB8_6659_FD93)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        ((mixed ^ (mixed >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - HASH_BITS)) as u32
    }

    /// The rank of a source at `time`; equal ranks are in the order of the sources.
    #[inline]
    pub(crate) fn rank(self, time: Time, source: u32) -> u32 {
        if source < self.links {
            return Self::hash(time, source);
        }
        if source < self.first_server {
            let flow = (source - self.links) / TIMERS as u32;
            return (1 << HASH_BITS) | Self::hash(time, flow);
        }
        2 << HASH_BITS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Links, timers and servers keep their order, and so do the timers of a connection.
        #[test]
        fn links_come_before_timers_and_timers_before_servers(links in 1usize..70, flows in 1usize..70, time: u64) {
            let ties = Ties::new(links, flows);
            let ranks: Vec<u32> = (0..(links + TIMERS * flows + 1) as u32).map(|source| ties.rank(Time(time), source)).collect();
            let (links, rest) = ranks.split_at(links);
            let (server, timers) = rest.split_last().expect("there is one");
            prop_assert!(links.iter().max() < timers.iter().min());
            prop_assert!(timers.iter().all(|one| one < server));
            prop_assert!(*server < 1 << RANK_BITS);
            for flow in timers.chunks(TIMERS) {
                prop_assert!(flow.iter().all(|one| one == &flow[0]));
            }
        }
    }

    /// At 10,000 times, 240 µs (a packet's transmission time) apart, each of `count` links or connections is the first one in
    /// its share of them, to within four standard deviations of a fair draw and the 1 in 256 of equal hashes for each other
    /// source.
    #[test]
    fn no_source_is_preferred() {
        for count in [2u32, 3, 5, 20] {
            let ties = Ties::new(count as usize, count as usize);
            for (first_source, step) in [(0, 1), (count, TIMERS as u32)] {
                let mut first = vec![0u32; count as usize];
                for k in 0..10_000u64 {
                    let rank = |one: &u32| ties.rank(Time(31_040 + 240_000 * k), first_source + one * step);
                    let winner = (0..count).min_by_key(rank).expect("there is one");
                    first[winner as usize] += 1;
                }
                let share = 1.0 / f64::from(count);
                let tolerance =
                    4.0 * (10_000.0 * share * (1.0 - share)).sqrt() + 10_000.0 * f64::from(count - 1) * share / 256.0;
                for wins in first {
                    assert!((f64::from(wins) - 10_000.0 * share).abs() < tolerance, "{count}: {wins}");
                }
            }
        }
    }
}
