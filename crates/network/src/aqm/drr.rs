//! Deficit round robin between classes of traffic.
//!
//! The module `classes` implements the queues.

use cwndlab_config::{fields, Faults, Reader, Table};
use cwndlab_units::Bytes;

use super::classes::{Classes, Service};
use super::fair::check_quantum;
use super::{capacity, Configuration, Discipline, Packet, QueueContext};

/// The declaration of deficit round robin.
pub static SPEC: Table = Table::new(
    "drr",
    "Deficit round robin (Shreedhar, Varghese 1996) between four classes by `dscp` of the flow, the classes of `priority`: each class with packets gets a part of the line by its weight; an overflow drops the newest packet of the queue that is longest for its weight.",
    &[&[capacity::field("1000 packets")], Config::FIELDS],
)
.class("Drr");

fields! {
    /// The configuration of deficit round robin.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Config {
        /// credit of a class of weight 1 per turn, from 64 B to 1 MiB
        quantum: Bytes = "1514 B",
        /// weight of LE and CS1
        bulk: u32 = 1 in 1..=1000,
        /// weight of CS0, AF1x and what is of no other class
        best_effort: u32 = 1 in 1..=1000,
        /// weight of AF2x to AF4x, CS2 and CS3
        video: u32 = 1 in 1..=1000,
        /// weight of CS4 to CS7, EF and VA
        voice: u32 = 1 in 1..=1000,
    }
    check
}

impl Config {
    fn check(&self, table: &Reader<'_>, faults: &mut Faults) {
        check_quantum(self.quantum, table, faults);
    }
}

impl Configuration for Config {
    fn build<P: Packet>(&self, context: QueueContext) -> Option<Box<dyn Discipline<P>>> {
        let weights = [self.bulk, self.best_effort, self.video, self.voice];
        Some(Box::new(Classes::new(Service::Deficit { quantum: self.quantum.0, weights }, context.limit, None)))
    }
}

#[cfg(test)]
mod tests {
    use cwndlab_units::Time;

    use super::super::QueuedPacket;
    use super::*;
    use crate::dscp::Dscp;
    use crate::queue::Limit;

    fn packet(dscp: Dscp, size: u32) -> QueuedPacket<u64> {
        QueuedPacket { size, dscp, ..QueuedPacket::default() }
    }

    fn queue(weights: [u32; 4]) -> Classes<u64> {
        Classes::new(Service::Deficit { quantum: 1514, weights }, Limit::Unlimited, None)
    }

    /// Shreedhar and Varghese 1996, theorem 2: the bytes of backlogged classes are as their weights, whatever the sizes.
    #[test]
    fn backlogged_classes_share_bytes_by_weight() {
        let mut queue = queue([1, 2, 1, 5]);
        let mut dropped = Vec::new();
        let classes = [(Dscp::Le, 1500), (Dscp::Cs0, 1000), (Dscp::Ef, 200)];
        for _ in 0..20_000 {
            for (dscp, size) in classes {
                queue.enqueue(Time::ZERO, 0, packet(dscp, size), &mut dropped);
            }
        }
        let mut bytes = [0u64; 4];
        for _ in 0..8_000 {
            let one = queue.dequeue(Time::ZERO, &mut dropped).expect("backlogged");
            bytes[one.dscp.class().index()] += u64::from(one.size);
        }
        let share = |class: usize| bytes[class] as f64 / bytes.iter().sum::<u64>() as f64;
        for (class, weight) in [(0, 1.0), (1, 2.0), (3, 5.0)] {
            assert!((share(class) - weight / 8.0).abs() < 0.01, "{class}: {}", share(class));
        }
    }

    /// A class alone has the whole line, and saves no credit for later.
    #[test]
    fn an_idle_class_saves_no_credit() {
        let mut queue = queue([1, 1, 1, 1]);
        let mut dropped = Vec::new();
        for _ in 0..100 {
            queue.enqueue(Time::ZERO, 0, packet(Dscp::Ef, 1500), &mut dropped);
            assert!(queue.dequeue(Time::ZERO, &mut dropped).is_some());
        }
        for _ in 0..100 {
            queue.enqueue(Time::ZERO, 0, packet(Dscp::Ef, 1500), &mut dropped);
            queue.enqueue(Time::ZERO, 0, packet(Dscp::Cs0, 1500), &mut dropped);
        }
        let urgent =
            (0..20).filter(|_| queue.dequeue(Time::ZERO, &mut dropped).is_some_and(|one| one.dscp == Dscp::Ef));
        assert!((9..=11).contains(&urgent.count()));
    }
}
