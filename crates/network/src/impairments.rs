//! What a wire does beyond delaying by a constant: loss, delay variation, retransmissions of a radio link, duplicates.

use std::collections::VecDeque;

use cwndlab_units::{Duration, Time};

use crate::loss::Loss;
use crate::random::Stream;
use crate::wire::{Changes, Harq};

/// The impairments of a wire.
#[derive(Clone, Debug)]
pub(crate) struct Impairments {
    /// Loss processes, in order.
    pub(crate) losses: Vec<Loss>,
    /// Delay and loss by a timetable.
    pub(crate) changes: Option<Changes>,
    /// Retransmissions of a radio link.
    pub(crate) harq: Option<Harq>,
    /// Delay variation: upper end, and whether packets may overtake.
    pub(crate) jitter: Option<(Duration, bool)>,
    /// Probability that a packet arrives twice.
    pub(crate) duplicate: f64,
    /// Random stream for jitter and duplicates.
    pub(crate) stream: Stream,
    /// When the last packet arrived, or will.
    pub(crate) last_arrival: Time,
    /// When those packets leave the line that the wire will lose, in order.
    pub(crate) doomed: VecDeque<Time>,
}

impl Impairments {
    /// There is none.
    pub(crate) fn is_none(&self) -> bool {
        self.losses.is_empty()
            && self.changes.is_none()
            && self.harq.is_none()
            && self.jitter.is_none()
            && self.duplicate == 0.0
    }

    /// Packets may overtake each other, so that arrivals are not in the order of offers.
    pub(crate) fn reorders(&self) -> bool {
        self.duplicate > 0.0 || self.jitter.is_some_and(|(_, reorder)| reorder)
    }

    /// Whether the wire loses a packet whose last bit leaves the line at `departure`; sets the propagation delay from then on.
    pub(crate) fn takes(&mut self, departure: Time, payload: bool, delay: &mut Duration) -> bool {
        // Every process sees every packet, so that one list's count does not depend on another process.
        let mut lost = false;
        for one in &mut self.losses {
            lost |= one.loses(payload);
        }
        if let Some(changes) = &mut self.changes {
            let (now, taken) = changes.pass(departure);
            *delay = now;
            lost |= taken;
        }
        lost
    }

    /// Counts a lost packet that leaves the line at `departure`.
    pub(crate) fn lose(&mut self, now: Time, departure: Time) {
        if departure > now {
            self.forget_lost(now);
            self.doomed.push_back(departure);
        }
    }

    /// Lost packets that have not left the line by `now`.
    pub(crate) fn forget_lost(&mut self, now: Time) -> u64 {
        while self.doomed.front().is_some_and(|&departure| departure <= now) {
            self.doomed.pop_front();
        }
        self.doomed.len() as u64
    }

    /// When a packet arrives.
    pub(crate) fn arrival(&mut self, departure: Time, delay: Duration) -> Time {
        let mut at = departure + delay + self.harq.as_mut().map_or(Duration::ZERO, |harq| harq.late(departure));
        let mut reorder = false;
        if let Some((spread, overtakes)) = self.jitter {
            at += Duration(self.stream.below(spread.0));
            reorder = overtakes;
        }
        if !reorder {
            at = at.max(self.last_arrival);
        }
        self.last_arrival = at;
        at
    }

    /// When a second copy of the packet arrives, if there is one.
    pub(crate) fn duplicate(&mut self, departure: Time, delay: Duration) -> Option<Time> {
        let twice = self.duplicate > 0.0 && self.stream.unit() < self.duplicate;
        twice.then(|| self.arrival(departure, delay))
    }
}
