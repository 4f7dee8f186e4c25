//! Impairments of a wire beyond a constant delay: loss, delay variation, HARQ retransmissions, duplicates.

use std::collections::VecDeque;

use cwndlab_config::words;
use cwndlab_units::{Duration, Time};

use crate::loss::Loss;
use crate::random::Stream;
use crate::wire::{Changes, Harq, WifiJitter};

words! {
    /// A change of the ECN field of IP headers by the wire, as old routers and tunnels do.
    pub enum EcnChange {
        /// every field becomes Not-ECT
        Bleach = "bleach",
        /// CE becomes Not-ECT; unmarked packets keep their codepoint
        ClearCe = "clear-ce",
        /// ECT(1) becomes ECT(0), so that scalable senders enter classic queues
        Ect0 = "ect0",
        /// CE becomes ECT, so that marks are lost
        Unmark = "unmark",
        /// ECT becomes CE: every ECN-capable packet is marked
        Mark = "mark",
    }
}

/// The impairments of a wire. The fields that delay variation alone needs come first, in one cache line.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Impairments {
    /// Random stream for jitter and duplicates.
    pub(crate) stream: Stream,
    /// Arrival time of the previous packet; where packets may be reordered, before propagation and `jitter`.
    pub(crate) last_arrival: Time,
    /// Delay variation: maximum, and whether packets may be reordered.
    pub(crate) jitter: Option<(Duration, bool)>,
    /// Loss models, in order.
    pub(crate) losses: Vec<Loss>,
    /// Schedule of delay, its variation and loss.
    pub(crate) changes: Option<Changes>,
    /// Retransmissions of a radio link.
    pub(crate) harq: Option<Harq>,
    /// Delay variation of bad Wi-Fi; with a schedule, that of the last packet.
    pub(crate) wifi_jitter: Option<WifiJitter>,
    /// Probability that a packet is duplicated.
    pub(crate) duplicate: f64,
    /// Change of the ECN field.
    pub(crate) ecn: Option<EcnChange>,
    /// Departure times from the line of lost packets that have not left it yet, in order.
    pub(crate) pending_losses: VecDeque<Time>,
}

impl Impairments {
    /// Whether there are no impairments.
    pub(crate) fn is_none(&self) -> bool {
        self.jitter.is_none() && self.has_at_most_jitter()
    }

    /// Whether there are no impairments but jitter that keeps packets in order; [`vary`](Self::vary) requires this.
    pub(crate) fn is_at_most_variation(&self) -> bool {
        !self.reorders() && self.has_at_most_jitter()
    }

    fn has_at_most_jitter(&self) -> bool {
        self.losses.is_empty()
            && self.changes.is_none()
            && self.harq.is_none()
            && self.wifi_jitter.is_none()
            && self.duplicate == 0.0
            && self.ecn.is_none()
    }

    /// Whether arrivals can be out of order.
    pub(crate) fn reorders(&self) -> bool {
        self.duplicate > 0.0 || self.jitter.is_some_and(|(_, reorder)| reorder)
    }

    /// Whether the wire loses a packet that leaves the line at `departure`. Sets `delay` and the delay variation to those
    /// of the schedule.
    pub(crate) fn loses(&mut self, departure: Time, payload: bool, delay: &mut Duration) -> bool {
        // Every model processes every packet, so that the packet count of a loss list is independent of other models.
        let mut lost = false;
        for one in &mut self.losses {
            lost |= one.loses(payload);
        }
        if let Some(changes) = &mut self.changes {
            let (scheduled, scheduled_loss) = changes.pass(departure);
            (*delay, self.wifi_jitter) = (scheduled.delay, scheduled.wifi_jitter);
            lost |= scheduled_loss;
        }
        lost
    }

    /// Counts a lost packet that leaves the line at `departure`.
    pub(crate) fn count_lost(&mut self, now: Time, departure: Time) {
        if departure > now {
            self.pending_losses(now);
            self.pending_losses.push_back(departure);
        }
    }

    /// Number of lost packets that have not left the line by `now`.
    pub(crate) fn pending_losses(&mut self, now: Time) -> u64 {
        while self.pending_losses.front().is_some_and(|&departure| departure <= now) {
            self.pending_losses.pop_front();
        }
        self.pending_losses.len() as u64
    }

    /// Arrival time of a packet that arrives at `at` without jitter.
    #[inline]
    pub(crate) fn vary(&mut self, at: Time) -> Time {
        let max = self.jitter.map_or(0, |(max, _)| max.as_nanos());
        self.last_arrival = (at + Duration::from_nanos(self.stream.below(max))).max(self.last_arrival);
        self.last_arrival
    }

    /// Arrival time of a packet. Where `jitter` may reorder packets, so may a schedule of delays, as routes of other lengths do;
    /// HARQ and Wi-Fi deliver in order before that.
    pub(crate) fn arrival(&mut self, departure: Time, delay: Duration) -> Time {
        let mut at = departure + self.harq.as_mut().map_or(Duration::ZERO, |harq| harq.block_delay(departure));
        let mut after = delay;
        let mut reorders = false;
        if let Some((max, reorder)) = self.jitter {
            after += Duration::from_nanos(self.stream.below(max.as_nanos()));
            reorders = reorder;
        }
        if let Some(jitter) = self.wifi_jitter {
            at += jitter.delay(&mut self.stream);
        }
        if reorders {
            self.last_arrival = at.max(self.last_arrival);
            return self.last_arrival + after;
        }
        self.last_arrival = (at + after).max(self.last_arrival);
        self.last_arrival
    }

    /// Arrival time of a duplicate of the packet, if there is one.
    pub(crate) fn duplicate(&mut self, departure: Time, delay: Duration) -> Option<Time> {
        let duplicated = self.duplicate > 0.0 && self.stream.unit() < self.duplicate;
        duplicated.then(|| self.arrival(departure, delay))
    }
}
