//! A first-in, first-out queue for event-driven lines: the base of other disciplines.

use cwndlab_units::Time;

use super::{Discipline, QueuedPacket};
use crate::queue::Limit;
use crate::ring::Ring;

/// A first-in, first-out queue; arrivals to a full queue are dropped.
#[derive(Debug)]
pub struct Fifo<P> {
    limit: Limit,
    counts_in_service: bool,
    waiting: Ring<QueuedPacket<P>>,
    bytes: u64,
}

impl<P: Copy + Default> Fifo<P> {
    /// An empty queue. With `counts_in_service` the packet on the line counts towards `limit`.
    #[must_use]
    pub fn new(limit: Limit, counts_in_service: bool) -> Self {
        Self { limit, counts_in_service, waiting: Ring::default(), bytes: 0 }
    }

    /// Removes and returns the head of the queue.
    pub fn pop(&mut self) -> Option<QueuedPacket<P>> {
        let one = self.waiting.pop()?;
        self.bytes -= u64::from(one.size);
        Some(one)
    }

    /// The head of the queue.
    #[must_use]
    pub fn front(&self) -> Option<&QueuedPacket<P>> {
        self.waiting.front()
    }
}

impl<P: Copy + Default + std::fmt::Debug + Send> Discipline<P> for Fifo<P> {
    fn enqueue(&mut self, _now: Time, serving: u32, one: QueuedPacket<P>, dropped: &mut Vec<QueuedPacket<P>>) {
        let counted = if self.counts_in_service { serving } else { 0 };
        let packets = self.waiting.len() as u64 + u64::from(counted > 0);
        if self.limit.admits(packets, self.bytes + u64::from(counted), one.size) {
            self.bytes += u64::from(one.size);
            self.waiting.push(one);
        } else {
            dropped.push(one);
        }
    }

    fn dequeue(&mut self, _now: Time, _dropped: &mut Vec<QueuedPacket<P>>) -> Option<QueuedPacket<P>> {
        self.pop()
    }

    fn backlog(&self) -> (u64, u64) {
        (self.waiting.len() as u64, self.bytes)
    }

    fn oldest(&self) -> Option<Time> {
        self.front().map(|one| one.since)
    }

    fn memory(&self) -> usize {
        self.waiting.memory()
    }
}
