//! The order of events at the same moment.
//!
//! Times are whole nanoseconds, and people write round numbers: where the RTTs are multiples of a packet's transmission
//! time, packets of two flows reach a full queue at the same moment again and again, and the first takes the place that
//! has just become free. A fixed order, such as that of the flows in the scenario, gives all of these places to one flow
//! (S. Floyd, V. Jacobson, "On Traffic Phase Effects in Packet-Switched Gateways", 1992). So a hash of the moment decides.
//!
//! ns-2 adds the same delays in floating point, where rounding decides, which prefers no flow either.

use crate::flow::TIMERS;

const _: () = assert!(TIMERS == 4, "a timer's number is the two lowest bits of its source");

/// Odd numbers, all residues modulo 16, and their inverses modulo 2³².
const FACTORS: [u32; 8] =
    [0x9E37_79B1, 0x85EB_CA63, 0xC2B2_AE35, 0x27D4_EB27, 0x1656_67C9, 0x2545_F49B, 0x8DA6_B34D, 0xD816_3B4F];
const INVERSES: [u32; 8] = {
    let mut inverses = [0; 8];
    let mut at = 0;
    while at < 8 {
        inverses[at] = inverse(FACTORS[at]);
        at += 1;
    }
    inverses
};

/// Modulo 2³², by Newton's iteration: an odd number is its own inverse modulo 8, and each step doubles the bits.
const fn inverse(odd: u32) -> u32 {
    let mut found = odd;
    let mut step = 0;
    while step < 4 {
        found = found.wrapping_mul(2u32.wrapping_sub(odd.wrapping_mul(found)));
        step += 1;
    }
    found
}

/// A permutation of the numbers below a power of two. Of any two numbers each comes first in half of all permutations; of
/// three or four in a share that is fair to within an eighth.
#[derive(Clone, Copy, Debug)]
struct Shuffle {
    before: u32,
    factor: usize,
    after: u32,
}

impl Shuffle {
    #[inline]
    fn place(self, index: u32, mask: u32) -> u32 {
        ((index ^ self.before).wrapping_mul(FACTORS[self.factor]) ^ self.after) & mask
    }

    #[inline]
    fn index(self, place: u32, mask: u32) -> u32 {
        ((place ^ self.after).wrapping_mul(INVERSES[self.factor]) ^ self.before) & mask
    }
}

/// Ranks of sources at a moment: links come before timers, timers before servers. Links among themselves, and the timers
/// of one flow and another, are in an order that the moment decides.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ties {
    links: u32,
    first_server: u32,
    link_mask: u32,
    flow_mask: u32,
    first_timer_rank: u32,
    first_server_rank: u32,
}

impl Ties {
    /// Of a network of so many links and flows. The default is the order of the sources.
    pub(crate) fn new(links: usize, flows: usize) -> Self {
        let (links, flows) = (links as u32, flows as u32);
        // One bit more than they need, so that the orders of three are nearly equally frequent, too.
        let (link_ranks, flow_ranks) = (2 * links.next_power_of_two(), 2 * flows.next_power_of_two());
        Self {
            links,
            first_server: links + flows * TIMERS as u32,
            link_mask: link_ranks - 1,
            flow_mask: flow_ranks - 1,
            first_timer_rank: link_ranks,
            first_server_rank: link_ranks + flow_ranks * TIMERS as u32,
        }
    }

    /// Ranks in use where there are `servers` beside links and timers.
    pub(crate) fn ranks(&self, servers: usize) -> usize {
        self.first_server_rank as usize + servers
    }

    /// The permutation at `time`: two halves of a 128-bit product, folded.
    #[inline]
    fn draw(time: u64) -> Shuffle {
        let product = u128::from(time ^ 0x2D35_8DCC_AA6C_78A5) * 0x8BB8_4B93_962E_ACC9;
        let hash = (product >> 64) as u64 ^ product as u64;
        Shuffle { before: hash as u32, factor: (hash >> 29) as usize % FACTORS.len(), after: (hash >> 32) as u32 }
    }

    /// The rank of a source at `time`.
    #[inline]
    pub(crate) fn rank(&self, time: u64, source: u32) -> u32 {
        if source >= self.first_server {
            return source - self.first_server + self.first_server_rank;
        }
        let shuffle = Self::draw(time);
        if source < self.links {
            return shuffle.place(source, self.link_mask);
        }
        let timer = source - self.links;
        let flow = shuffle.place(timer / TIMERS as u32, self.flow_mask);
        self.first_timer_rank + flow * TIMERS as u32 + timer % TIMERS as u32
    }

    /// The source that has this rank at `time`.
    #[inline]
    pub(crate) fn source(&self, time: u64, rank: u32) -> u32 {
        if rank >= self.first_server_rank {
            return rank - self.first_server_rank + self.first_server;
        }
        let shuffle = Self::draw(time);
        if rank < self.first_timer_rank {
            return shuffle.index(rank, self.link_mask);
        }
        let timer = rank - self.first_timer_rank;
        let flow = shuffle.index(timer / TIMERS as u32, self.flow_mask);
        self.links + flow * TIMERS as u32 + timer % TIMERS as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A rank is of one source, and links, timers and servers keep their order.
        #[test]
        fn a_rank_leads_back_to_its_source(links in 1usize..70, flows in 0usize..70, servers in 0usize..9, time: u64) {
            let ties = Ties::new(links, flows);
            let sources = links + TIMERS * flows + servers;
            let ranks: Vec<u32> = (0..sources as u32).map(|source| ties.rank(time, source)).collect();
            for (source, &rank) in (0u32..).zip(&ranks) {
                prop_assert!((rank as usize) < ties.ranks(servers));
                prop_assert_eq!(ties.source(time, rank), source);
            }
            let (links, timers) = (&ranks[..links], &ranks[links..links + TIMERS * flows]);
            let (last, first) = (links.iter().max(), timers.iter().min());
            prop_assert!(first.is_none() || last < first);
            prop_assert!(timers.iter().max() < ranks[links.len() + timers.len()..].iter().min() || servers == 0 || flows == 0);
            for flow in timers.chunks(TIMERS) {
                prop_assert!(flow.is_sorted());
            }
        }
    }

    /// Of 10,000 moments a packet time of 240 µs apart each of two links is first in half (three standard deviations of a
    /// fair draw are 150), each of three in a third to within an eighth.
    #[test]
    fn no_source_is_preferred() {
        for (count, tolerance) in [(2u32, 150.0), (3, 10_000.0 / 24.0)] {
            let ties = Ties::new(count as usize, count as usize);
            for block in [0, count] {
                let step = if block == 0 { 1 } else { TIMERS as u32 };
                let mut first = vec![0u32; count as usize];
                for k in 0..10_000u64 {
                    let rank = |one: &u32| ties.rank(31_040 + 240_000 * k, block + one * step);
                    let winner = (0..count).min_by_key(rank).expect("there is one");
                    first[winner as usize] += 1;
                }
                for wins in first {
                    assert!((f64::from(wins) - 10_000.0 / f64::from(count)).abs() < tolerance, "{count}: {wins}");
                }
            }
        }
    }

    /// Without a network the order is that of the sources.
    #[test]
    fn the_default_is_the_order_of_the_sources() {
        let ties = Ties::default();
        assert_eq!([0, 1, 7].map(|source| ties.rank(5, source)), [0, 1, 7]);
        assert_eq!([0, 1, 7].map(|rank| ties.source(5, rank)), [0, 1, 7]);
    }
}
