//! Tie breaking: the order of simultaneous events.
//!
//! Times are integers in nanoseconds, and scenarios use round numbers. If the RTTs are multiples of a packet's
//! transmission time, packets of two flows repeatedly reach a full queue simultaneously, and the first one gets the
//! only free place. With a fixed order, such as that of the flows in the scenario, one flow gets all of these places
//! (S. Floyd, V. Jacobson, "On Traffic Phase Effects in Packet-Switched Gateways", 1992). The rank of a source is
//! therefore a hash of the time and its number.
//!
//! In ns-2, which adds delays in floating point, rounding breaks ties.

use cwndlab_units::{EventSource, LinkId, Time};

use crate::event_sources::{EventSources, Owner};
use crate::timers::TIMERS;

const _: () = assert!(TIMERS == 4, "the two lowest bits of a timer's source are its number");

/// Bits of a hash. Two sources have equal hashes at one of 256 times; their numbers then decide.
pub(crate) const HASH_BITS: u32 = 8;
/// Bits of a rank: the class of the source, then the hash.
pub(crate) const RANK_BITS: u32 = HASH_BITS + 2;

/// Ranks of simultaneous events: links precede timers, and timers precede servers. Links, and the timers of different
/// connections, are ordered by their hashes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ties(EventSources);

impl Ties {
    /// The ranks of these sources.
    pub(crate) fn new(sources: EventSources) -> Self {
        Self(sources)
    }

    /// A hash of `source` and `time`: the upper bits of a product, which depend on all bits of both (Fibonacci hashing:
    /// D. Knuth, The Art of Computer Programming 3, section 6.4). Sources are first spread over the whole range, so
    /// that their hashes at one time are independent.
    #[inline]
    pub(crate) fn hash(time: Time, source: u32) -> u32 {
        let mixed = (time.as_nanos() ^ u64::from(source).wrapping_mul(0xD6E8_FEB8_6659_FD93))
            .wrapping_mul(0x9E37_79B9_7F4A_7C15);
        ((mixed ^ (mixed >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - HASH_BITS)) as u32
    }

    /// The order of links at `time`.
    #[inline]
    pub(crate) fn of_link(time: Time, link: LinkId) -> (u32, u32) {
        (Self::hash(time, link.into()), link.into())
    }

    /// The rank of a source at `time`; sources with equal ranks are ordered by number.
    #[inline]
    pub(crate) fn rank(self, time: Time, source: EventSource) -> u32 {
        if let Some(link) = self.0.link(source) {
            return Self::hash(time, link.into());
        }
        match self.0.owner(source) {
            Owner::Timer(connection, _) => (1 << HASH_BITS) | Self::hash(time, connection.into()),
            Owner::Server(_) => 2 << HASH_BITS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Links precede timers, timers precede servers, and the timers of a connection have equal ranks.
        #[test]
        fn links_precede_timers_and_timers_precede_servers(links in 1usize..70, flows in 1usize..70, time: u64) {
            let ties = Ties::new(EventSources::new(links, flows));
            let ranks: Vec<u32> = (0..(links + TIMERS * flows + 1) as u32).map(|source| ties.rank(Time::from_nanos(time), source.into())).collect();
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

    /// At 10,000 times, 240 µs (a packet's transmission time) apart, each of `count` links or connections is the first
    /// one equally often, to within four standard deviations of a fair draw and 1/256 for equal hashes per other
    /// source.
    #[test]
    fn no_source_is_preferred() {
        for count in [2u32, 3, 5, 20] {
            let ties = Ties::new(EventSources::new(count as usize, count as usize));
            for (first_source, step) in [(0, 1), (count, TIMERS as u32)] {
                let mut first = vec![0u32; count as usize];
                for k in 0..10_000u64 {
                    let rank = |one: &u32| {
                        ties.rank(Time::from_nanos(31_040 + 240_000 * k), (first_source + one * step).into())
                    };
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
