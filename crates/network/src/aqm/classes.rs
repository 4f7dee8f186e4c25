//! One queue per class of traffic, served by priority or by deficit round robin: the base of `priority` and `drr`.
//!
//! Sources: RFC 2475 and 4594 (classes by DSCP); Shreedhar, Varghese, "Efficient Fair Queuing Using Deficit
//! Round-Robin", 1996.
//!
//! ```text
//! priority: the most urgent class with a packet is served                                              (1)
//! drr: the class in turn sends while its credit is positive, else it gets quantum · weight and waits   (2)
//! an empty class loses its credit                                                                      (3)
//! overflow: the newest packet of the least urgent class (priority), or of the longest queue by
//!           bytes over weight (drr), is dropped, until the limit holds                                 (4)
//! police: a packet of voice above the policer's rate and burst is dropped, or becomes best effort      (5)
//! ```

use std::collections::VecDeque;

use cwndlab_units::Time;

use super::police::{Excess, Policer};
use super::{Discipline, QueuedPacket};
use crate::dscp::{Class, Dscp};
use crate::queue::Limit;

/// Which class is served next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Service {
    /// The most urgent one.
    Priority,
    /// In turns, by weight.
    Deficit {
        /// Credit of a turn of a class of weight 1, bytes.
        quantum: u64,
        /// By class, the least urgent first.
        weights: [u32; Class::COUNT],
    },
}

/// A queue for each class.
#[derive(Debug)]
pub(super) struct Classes<P> {
    service: Service,
    limit: Limit,
    policer: Option<Policer>,
    queues: [VecDeque<QueuedPacket<P>>; Class::COUNT],
    lengths: [u64; Class::COUNT],
    credits: [i64; Class::COUNT],
    turn: usize,
}

impl<P> Classes<P> {
    /// Empty queues; `limit` applies to their sum, `policer` to the most urgent class.
    pub(super) fn new(service: Service, limit: Limit, policer: Option<Policer>) -> Self {
        let queues = std::array::from_fn(|_| VecDeque::new());
        Self { service, limit, policer, queues, lengths: [0; Class::COUNT], credits: [0; Class::COUNT], turn: 0 }
    }

    /// (4), once.
    fn drop_one(&mut self, dropped: &mut Vec<QueuedPacket<P>>) {
        let waiting = (0..Class::COUNT).filter(|&class| !self.queues[class].is_empty());
        let least = match self.service {
            Service::Priority => waiting.min(),
            Service::Deficit { weights, .. } => {
                waiting.max_by_key(|&class| self.lengths[class] * u64::from(u32::MAX) / u64::from(weights[class]))
            }
        };
        if let Some(one) = least.and_then(|class| self.queues[class].pop_back().inspect(|one| self.shorten(class, one)))
        {
            dropped.push(one);
        }
    }

    fn shorten(&mut self, class: usize, one: &QueuedPacket<P>) {
        self.lengths[class] -= u64::from(one.size);
    }

    /// The class whose packet is next; `None` if all are empty.
    fn next(&mut self) -> Option<usize> {
        let Service::Deficit { quantum, weights } = self.service else {
            // (1)
            return (0..Class::COUNT).rev().find(|&class| !self.queues[class].is_empty());
        };
        if self.queues.iter().all(VecDeque::is_empty) {
            return None;
        }
        loop {
            let class = self.turn;
            if self.queues[class].is_empty() {
                // (3)
                self.credits[class] = self.credits[class].min(0);
            } else if self.credits[class] > 0 {
                return Some(class);
            } else {
                // (2)
                self.credits[class] += (quantum * u64::from(weights[class])).cast_signed();
            }
            self.turn = (class + 1) % Class::COUNT;
        }
    }
}

impl<P: Copy + Default + std::fmt::Debug + Send> Discipline<P> for Classes<P> {
    fn enqueue(&mut self, now: Time, _: u32, mut one: QueuedPacket<P>, dropped: &mut Vec<QueuedPacket<P>>) {
        // (5)
        let policer = self.policer.as_mut().filter(|_| one.dscp.class() == Class::Voice);
        match policer.and_then(|policer| policer.excess(now, one.size)) {
            Some(Excess::Drop) => return dropped.push(one),
            Some(Excess::Demote) => one.dscp = Dscp::Cs0,
            None => {}
        }
        let class = one.dscp.class().index();
        self.lengths[class] += u64::from(one.size);
        self.queues[class].push_back(one);
        // A limit in bytes may take several small packets for a large one.
        while !self.limit.holds(self.backlog()) {
            self.drop_one(dropped);
        }
    }

    fn dequeue(&mut self, _: Time, _: &mut Vec<QueuedPacket<P>>) -> Option<QueuedPacket<P>> {
        let class = self.next()?;
        let one = self.queues[class].pop_front()?;
        self.shorten(class, &one);
        self.credits[class] -= i64::from(one.size);
        Some(one)
    }

    fn backlog(&self) -> (u64, u64) {
        (self.queues.iter().map(|queue| queue.len() as u64).sum(), self.lengths.iter().sum())
    }

    fn oldest(&self) -> Option<Time> {
        self.queues.iter().filter_map(|queue| Some(queue.front()?.since)).min()
    }

    fn memory(&self) -> usize {
        self.queues.iter().map(|queue| queue.capacity() * size_of::<QueuedPacket<P>>()).sum()
    }
}
