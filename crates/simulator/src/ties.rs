//! The order of events at the same moment.
//!
//! Times are whole nanoseconds, and people write round numbers: where the RTTs are multiples of a packet's transmission
//! time, packets of two flows reach a full queue at the same moment again and again, and the first takes the place that
//! has just become free. A fixed order, such as that of the flows in the scenario, gives all of these places to one flow
//! (S. Floyd, V. Jacobson, "On Traffic Phase Effects in Packet-Switched Gateways", 1992). So every source draws a
//! rank from the time and its number.
//!
//! ns-2 adds the same delays in floating point, where rounding decides.

use crate::timers::TIMERS;

const _: () = assert!(TIMERS == 4, "a timer's number is the two lowest bits of its source");

/// Bits of a draw: two sources draw the same in one of 256 moments, and then come in the order of their numbers.
const DRAW_BITS: u32 = 8;
/// Bits of a rank: what a draw has, and the class above it.
pub(crate) const RANK_BITS: u32 = DRAW_BITS + 2;

/// Ranks of sources at a moment: links come before timers, timers before servers. Links among themselves, and the timers
/// of one flow and another, are in the order of their draws.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ties {
    links: u32,
    first_server: u32,
}

impl Ties {
    /// Of a network of so many links and flows.
    pub(crate) fn new(links: usize, flows: usize) -> Self {
        Self { links: links as u32, first_server: (links + flows * TIMERS) as u32 }
    }

    /// What `source` draws at `time`: the upper bits of a product, which depend on all bits of both (Fibonacci hashing:
    /// D. Knuth, The Art of Computer Programming 3, section 6.4). Sources lie far apart before it, so that those of one
    /// moment draw independently.
    #[inline]
    fn draw(time: u64, source: u32) -> u32 {
        let mixed = (time ^ u64::from(source).wrapping_mul(0xD6E8_FEB8_6659_FD93)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        ((mixed ^ (mixed >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - DRAW_BITS)) as u32
    }

    /// The rank of a source at `time`; equal ranks are in the order of the sources.
    #[inline]
    pub(crate) fn rank(self, time: u64, source: u32) -> u32 {
        if source < self.links {
            return Self::draw(time, source);
        }
        if source < self.first_server {
            let flow = (source - self.links) / TIMERS as u32;
            return (1 << DRAW_BITS) | Self::draw(time, flow);
        }
        2 << DRAW_BITS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Links, timers and servers keep their order, and so do the timers of a flow.
        #[test]
        fn classes_keep_their_order(links in 1usize..70, flows in 1usize..70, time: u64) {
            let ties = Ties::new(links, flows);
            let ranks: Vec<u32> = (0..(links + TIMERS * flows + 1) as u32).map(|source| ties.rank(time, source)).collect();
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

    /// Of 10,000 moments a packet time of 240 µs apart each of `count` links, and of flows, is first in its share, to within
    /// four standard deviations of a fair draw and the 1 in 256 of equal draws for each other source.
    #[test]
    fn no_source_is_preferred() {
        for count in [2u32, 3, 5, 20] {
            let ties = Ties::new(count as usize, count as usize);
            for (first_source, step) in [(0, 1), (count, TIMERS as u32)] {
                let mut first = vec![0u32; count as usize];
                for k in 0..10_000u64 {
                    let rank = |one: &u32| ties.rank(31_040 + 240_000 * k, first_source + one * step);
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
