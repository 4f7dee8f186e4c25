//! Strict priority between classes of traffic.
//!
//! The module `classes` implements the queues.

use cwndlab_config::{fields, Table};

use super::classes::{Classes, Service};
use super::police::{Police, Policer};
use super::{capacity, Configuration, Discipline, Packet, QueueContext};

/// The declaration of strict priority.
pub static SPEC: Table = Table::new(
    "priority",
    "Strict priority between four classes by `dscp` of the flow, as CAKE's `diffserv4` forms them: voice (CS4 to CS7, EF, VA), video (AF2x to AF4x, CS2, CS3), best effort, bulk (LE, CS1). The most urgent class with a packet is served (RFC 2475, 4594); an overflow drops the newest packet of the least urgent class.",
    &[&[capacity::field("1000 packets")], Config::FIELDS],
)
.class("Priority");

fields! {
    /// The configuration of strict priority.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Config {
        /// policer of the class voice, which would otherwise starve the others: usual are 5 to 10 % of the line's rate and
        /// a burst of 50 to 100 ms of it
        police: Option<Police> = absent("voice is not limited"),
    }
}

impl Configuration for Config {
    fn build<P: Packet>(&self, context: QueueContext) -> Option<Box<dyn Discipline<P>>> {
        Some(Box::new(Classes::new(Service::Priority, context.limit, self.police.map(Policer::new))))
    }
}

#[cfg(test)]
mod tests {
    use cwndlab_units::{Bytes, Rate, Time};
    use proptest::prelude::*;

    use super::super::police::Excess;
    use super::super::QueuedPacket;
    use super::*;
    use crate::dscp::Dscp;
    use crate::queue::Limit;

    const CODEPOINTS: [Dscp; 4] = [Dscp::Le, Dscp::Cs0, Dscp::Af41, Dscp::Ef];

    fn packet(class: usize, number: u64) -> QueuedPacket<u64> {
        QueuedPacket { size: 1500, packet: number, dscp: CODEPOINTS[class], ..QueuedPacket::default() }
    }

    /// A packet of voice waits for no other class (RFC 4594, section 2.3).
    #[test]
    fn the_most_urgent_class_is_served_first() {
        let mut queue = Classes::new(Service::Priority, Limit::Unlimited, None);
        let mut dropped = Vec::new();
        for (number, class) in [0, 1, 2, 3, 3, 1].into_iter().enumerate() {
            queue.enqueue(Time::ZERO, 0, packet(class, number as u64), &mut dropped);
        }
        let order: Vec<u64> =
            std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut dropped)).map(|one| one.packet).collect();
        assert_eq!(order, [3, 4, 2, 1, 5, 0]);
    }

    /// A full queue of bulk data makes room for an alarm, not the other way round.
    #[test]
    fn an_overflow_drops_the_newest_packet_of_the_least_urgent_class() {
        let mut queue = Classes::new(Service::Priority, Limit::Packets(3), None);
        let mut dropped = Vec::new();
        for number in 0..3 {
            queue.enqueue(Time::ZERO, 0, packet(0, number), &mut dropped);
        }
        queue.enqueue(Time::ZERO, 0, packet(3, 3), &mut dropped);
        queue.enqueue(Time::ZERO, 0, packet(0, 4), &mut dropped);
        assert_eq!(dropped.iter().map(|one| one.packet).collect::<Vec<_>>(), [2, 4]);
    }

    /// By hand: 46 packets of 64 bytes, 2944 bytes, wait when one of 1500 arrives. For at most 3000 bytes 23 of the small ones
    /// have to go, the newest first: 23 · 64 + 1500 = 2972, and with another one 3036. The same by the longest queue, which is
    /// that of the small ones until then: 24 · 64 = 1536.
    #[test]
    fn a_large_packet_drops_as_many_small_ones_as_a_capacity_in_bytes_demands() {
        let even = Service::Deficit { quantum: 1514, weights: [1; 4] };
        for service in [Service::Priority, even] {
            let mut queue = Classes::new(service, Limit::Bytes(3000), None);
            let mut dropped = Vec::new();
            for number in 0..46 {
                queue.enqueue(Time::ZERO, 0, QueuedPacket { size: 64, ..packet(0, number) }, &mut dropped);
            }
            queue.enqueue(Time::ZERO, 0, packet(3, 46), &mut dropped);
            assert_eq!(queue.backlog(), (24, 2972));
            assert!(dropped.iter().map(|one| one.packet).eq((23..46).rev()));
        }
    }

    /// By hand: 1.2 Mbit/s are one packet of 1500 bytes in 10 ms, the bucket holds two. Of four packets of voice at 0 ms
    /// two are in excess; one conforms at 10 ms. Other classes are not policed.
    #[test]
    fn voice_in_excess_is_dropped_or_becomes_best_effort() {
        for (excess, order, lost) in
            [(Excess::Drop, vec![0, 1, 5, 4], vec![2, 3]), (Excess::Demote, vec![0, 1, 5, 2, 3, 4], vec![])]
        {
            let police = Police { rate: Rate(1_200_000), burst: Bytes(3000), excess };
            let mut queue = Classes::new(Service::Priority, Limit::Unlimited, Some(Policer::new(police)));
            let mut dropped = Vec::new();
            for number in 0..4 {
                queue.enqueue(Time::ZERO, 0, packet(3, number), &mut dropped);
            }
            queue.enqueue(Time::ZERO, 0, packet(0, 4), &mut dropped);
            let now = Time::from_nanos(10_000_000);
            queue.enqueue(now, 0, packet(3, 5), &mut dropped);
            let left: Vec<u64> =
                std::iter::from_fn(|| queue.dequeue(now, &mut dropped)).map(|one| one.packet).collect();
            assert_eq!(left, order);
            assert_eq!(dropped.iter().map(|one| one.packet).collect::<Vec<_>>(), lost);
        }
    }

    proptest! {
        /// Every packet leaves exactly once, and those of a class in order; the limit holds.
        #[test]
        fn packets_are_conserved(
            steps in prop::collection::vec((0usize..4, any::<bool>()), 1..300),
            limit in 1u64..30,
            is_strict in any::<bool>(),
            excess in prop::option::of(any::<bool>()),
        ) {
            let weighted = Service::Deficit { quantum: 1514, weights: [1, 2, 3, 4] };
            let service = if is_strict { Service::Priority } else { weighted };
            let excess = excess.map(|drops| if drops { Excess::Drop } else { Excess::Demote });
            let policer = excess.map(|excess| Policer::new(Police { rate: Rate(1), burst: Bytes(9000), excess }));
            let mut queue = Classes::new(service, Limit::Packets(limit), policer);
            let (mut out, mut dropped) = (Vec::new(), Vec::new());
            for (number, &(class, takes)) in steps.iter().enumerate() {
                queue.enqueue(Time::ZERO, 0, packet(class, number as u64), &mut dropped);
                prop_assert!(queue.backlog().0 <= limit);
                if takes { out.extend(queue.dequeue(Time::ZERO, &mut dropped)); }
            }
            while let Some(one) = queue.dequeue(Time::ZERO, &mut dropped) { out.push(one); }
            prop_assert_eq!(queue.backlog(), (0, 0));
            prop_assert_eq!(out.len() + dropped.len(), steps.len());
            for codepoint in CODEPOINTS.into_iter().filter(|_| excess != Some(Excess::Demote)) {
                let mine: Vec<u64> = out.iter().filter(|one| one.dscp == codepoint).map(|one| one.packet).collect();
                prop_assert!(mine.windows(2).all(|pair| pair[0] < pair[1]));
            }
        }
    }
}
