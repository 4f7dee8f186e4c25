//! The line of a path in small: a queue with a tail drop, losses and marks, and what is under way.

use std::collections::VecDeque;

use cwndlab_units::{Duration, Time};

use crate::chance::Chance;
use crate::path_model::PathModel;
use crate::sender::Departure;

/// What left together and comes back as one ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unit {
    pub(crate) arrives: Time,
    pub(crate) size: u64,
    /// The number of the first byte.
    pub(crate) seq: u64,
    /// Bytes that were lost between the unit before and this one, and the number of their last.
    pub(crate) lost: u64,
    pub(crate) lost_seq: u64,
    pub(crate) marked: bool,
    pub(crate) departure: Departure,
}

/// The line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    /// When its queue is empty.
    free_at: Time,
    last_arrival: Time,
    flying: VecDeque<Unit>,
    /// Bytes that were lost after the last unit that arrives, and the number of their last.
    tail_lost: u64,
    tail_seq: u64,
}

impl Line {
    /// A unit of `size` bytes from number `seq` on goes onto the line.
    pub(crate) fn send(&mut self, model: &PathModel, chance: &mut Chance, seq: u64, size: u64, departure: Departure) {
        let now = departure.sent;
        let waits = self.free_at.saturating_since(now);
        let queued = (u128::from(waits.0) * u128::from(model.rate) / 8_000_000_000) as u64;
        let full = queued + size > model.buffer.max(size);
        if !full {
            self.free_at = now + waits + Duration(size * 8_000_000_000 / model.rate);
        }
        if full || model.is_out(now) || model.loss_one_in.is_some_and(|n| chance.one_in(n)) {
            self.tail_lost += size;
            self.tail_seq = seq;
            return;
        }
        self.last_arrival = (self.free_at + model.rtt_at(now)).max(self.last_arrival);
        self.flying.push_back(Unit {
            arrives: self.last_arrival,
            size,
            seq,
            lost: std::mem::take(&mut self.tail_lost),
            lost_seq: self.tail_seq,
            marked: model.mark_above.is_some_and(|above| queued > above),
            departure,
        });
    }

    /// When the next unit arrives; none is under way: never.
    pub(crate) fn next_arrival(&self) -> Time {
        self.flying.front().map_or(Time::MAX, |unit| unit.arrives)
    }

    /// Nothing is under way.
    pub(crate) fn is_empty(&self) -> bool {
        self.flying.is_empty()
    }

    /// The unit that arrives next.
    pub(crate) fn arrive(&mut self) -> Option<Unit> {
        self.flying.pop_front()
    }

    /// The sender knows what is lost.
    pub(crate) fn forget_losses(&mut self) {
        self.tail_lost = 0;
    }
}
