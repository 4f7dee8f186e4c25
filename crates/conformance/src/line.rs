//! The line of the path model: a drop-tail queue, losses and marks, and units in transit.

use std::collections::VecDeque;

use cwndlab_control::delivery::Departure;
use cwndlab_units::{Duration, Time};

use crate::path_model::PathModel;
use crate::random::Random;

/// Segments that are sent together and acknowledged by one ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unit {
    pub(crate) arrives: Time,
    pub(crate) size: u64,
    /// Sequence number of the first byte.
    pub(crate) seq: u64,
    /// Bytes lost between the previous unit and this one.
    pub(crate) lost: u64,
    /// Sequence number of the last lost unit.
    pub(crate) lost_seq: u64,
    pub(crate) marked: bool,
    pub(crate) departure: Departure,
}

/// The state of the line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    /// Time at which the queue is empty.
    free_at: Time,
    last_arrival: Time,
    in_transit: VecDeque<Unit>,
    /// Bytes lost after the last unit in transit.
    tail_lost: u64,
    /// Sequence number of the last lost unit.
    tail_seq: u64,
}

impl Line {
    /// Sends a unit of `size` bytes with sequence number `seq`.
    pub(crate) fn send(&mut self, model: &PathModel, random: &mut Random, seq: u64, size: u64, departure: Departure) {
        let now = departure.sent_at;
        let waits = self.free_at.saturating_since(now);
        let queued = (u128::from(waits.as_nanos()) * u128::from(model.rate) / 8_000_000_000) as u64;
        let full = queued + size > model.buffer.max(size);
        if !full {
            self.free_at = now + waits + Duration::from_nanos(size * 8_000_000_000 / model.rate);
        }
        if full || model.in_outage(now) || model.loss_one_in.is_some_and(|n| random.one_in(n)) {
            self.tail_lost += size;
            self.tail_seq = seq;
            return;
        }
        self.last_arrival = (self.free_at + model.rtt_at(now)).max(self.last_arrival);
        self.in_transit.push_back(Unit {
            arrives: self.last_arrival,
            size,
            seq,
            lost: std::mem::take(&mut self.tail_lost),
            lost_seq: self.tail_seq,
            marked: model.mark_above.is_some_and(|above| queued > above),
            departure,
        });
    }

    /// Arrival time of the next unit; [`Time::MAX`] without a unit in transit.
    pub(crate) fn next_arrival(&self) -> Time {
        self.in_transit.front().map_or(Time::MAX, |unit| unit.arrives)
    }

    /// Whether no unit is in transit.
    pub(crate) fn is_empty(&self) -> bool {
        self.in_transit.is_empty()
    }

    /// Removes and returns the next unit to arrive.
    pub(crate) fn arrive(&mut self) -> Option<Unit> {
        self.in_transit.pop_front()
    }

    /// Clears the losses after the last unit, which a timeout has reported.
    pub(crate) fn clear_losses(&mut self) {
        self.tail_lost = 0;
    }
}
