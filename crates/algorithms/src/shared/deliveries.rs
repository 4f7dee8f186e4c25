//! What was delivered and lost at each ACK of the last round trip, for the rate samples of stacks that take them in a way
//! of their own: an [`Ack`] has the transport's sample only.
//!
//! The packet of a sample is the newest that the ACK acknowledges. Without reordering all that was sent before it is
//! delivered or lost by then, so that the amounts since the last ACK before its transmission give the bytes in flight at
//! its transmission, and the bytes that were sent in between.

use std::collections::VecDeque;

use cwndlab_control::{Ack, Congestion, Sent};
use cwndlab_units::{Duration, Time};

/// The state of a connection after an ACK, or when it sends again after nothing was in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Delivery {
    /// Bytes delivered in total.
    pub delivered: u64,
    /// Bytes lost in total.
    pub lost: f64,
    /// Bytes sent in total up to the newest packet that was acknowledged.
    pub sent: f64,
    /// Time of the ACK.
    pub acked_at: Time,
    /// Time of the transmission of that packet.
    pub sent_at: Time,
    /// Start of the send interval of the next samples.
    pub first_sent_at: Time,
}

/// The states after the ACKs since the transmission of the oldest packet in flight.
#[derive(Clone, Debug, Default)]
pub struct Deliveries {
    entries: VecDeque<Delivery>,
}

impl Deliveries {
    /// The last state before a packet was sent, at whose transmission `prior` bytes were delivered, if it is known. Forgets
    /// earlier ones.
    #[inline]
    pub fn before(&mut self, prior: u64) -> Option<Delivery> {
        while self.entries.get(1).is_some_and(|next| next.delivered <= prior) {
            self.entries.pop_front();
        }
        self.entries.front().filter(|one| one.delivered <= prior).copied()
    }

    /// Adds the state after an ACK.
    #[inline]
    pub fn note(&mut self, delivery: Delivery) {
        self.entries.push_back(delivery);
    }

    /// Data is sent while nothing was in flight: both intervals of the next samples begin now. No packet remains that was
    /// sent after the last state.
    pub fn restart(&mut self, sent: &Sent) {
        let last = self.entries.pop_back().unwrap_or_default();
        let (now, size) = (sent.now, sent.size.0 as f64);
        let sent = last.delivered as f64 + last.lost + size;
        self.entries.push_back(Delivery { sent, acked_at: now, sent_at: now, first_sent_at: now, ..last });
    }
}

/// When the newest packet of an ACK was sent; none if the ACK has no sample of the RTT.
#[inline]
#[must_use]
pub fn sent_at(ack: &Ack) -> Option<Time> {
    ack.rtt.map(|rtt| Time::from_nanos(ack.now.as_nanos().saturating_sub(rtt.as_nanos())))
}

/// The longer of send and ACK interval of a packet that was sent at `sent`, after the state `before`, and thus at least
/// its RTT.
#[inline]
#[must_use]
pub fn interval(now: Time, sent: Time, before: &Delivery) -> Duration {
    let ack_interval = now.saturating_since(before.acked_at.min(sent));
    sent.saturating_since(before.first_sent_at).max(ack_interval)
}

/// The losses that a congestion event reported. The next ACK reports them too, unless a timer found them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportedLosses {
    at: Time,
    bytes: u64,
}

impl ReportedLosses {
    /// A congestion event.
    pub fn note(&mut self, event: &Congestion) {
        *self = Self { at: event.now, bytes: self.bytes + event.lost.0 };
    }

    /// The bytes that were lost since the last ACK.
    #[inline]
    pub fn take(&mut self, ack: &Ack) -> f64 {
        let Self { at, bytes } = std::mem::take(self);
        let is_included = at == ack.now || ack.lost.0 >= bytes;
        (ack.lost.0 + if is_included { 0 } else { bytes }) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack_at, loss};
    use cwndlab_units::Bytes;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn delivery(delivered: u64, ms: u64) -> Delivery {
        Delivery {
            delivered,
            acked_at: at(ms),
            sent_at: at(ms - 40),
            first_sent_at: at(ms - 40),
            ..Delivery::default()
        }
    }

    /// By hand: ACKs at 50, 60 and 70 ms. A packet at whose transmission 2500 bytes were delivered was sent after the one
    /// at 60 ms, and the one before is forgotten.
    #[test]
    fn a_packet_was_sent_after_the_last_ack_that_its_delivered_bytes_include() {
        let mut deliveries = Deliveries::default();
        assert_eq!(deliveries.before(0), None);
        for (delivered, ms) in [(1000, 50), (2000, 60), (3000, 70)] {
            deliveries.note(delivery(delivered, ms));
        }
        assert_eq!(deliveries.before(2500), Some(delivery(2000, 60)));
        assert_eq!(deliveries.entries.len(), 2);
    }

    /// draft-cheng-iccrg-delivery-rate-estimation-02, section 3.2: by hand, the interval of a packet sent at 100 ms after an
    /// idle period and acknowledged at 140 ms is 40 ms; before it, 1000 bytes were delivered.
    #[test]
    fn an_idle_period_does_not_count() {
        let mut deliveries = Deliveries::default();
        deliveries.note(delivery(1000, 50));
        let size = Bytes(500);
        let sent = Sent { now: at(100), size, in_flight: size, retransmission: false, app_limited: true };
        deliveries.restart(&sent);
        let before = deliveries.before(1000).expect("an ACK came before");
        assert_eq!((before.delivered, before.sent), (1000, 1500.0));
        assert_eq!(interval(at(140), at(100), &before), Duration::from_millis(40));
    }

    /// By hand: packets sent 60 ms apart and acknowledged 40 ms apart have an interval of 60 ms (section 2.2.4).
    #[test]
    fn the_longer_interval_counts() {
        let before = delivery(1000, 100);
        assert_eq!(interval(at(140), at(120), &before), Duration::from_millis(60));
        let mut ack = ack_at(at(140), 1);
        ack.rtt = Some(Duration::from_millis(20));
        assert_eq!(sent_at(&ack), Some(at(120)));
        ack.rtt = None;
        assert_eq!(sent_at(&ack), None);
    }

    /// The contract: an ACK has the losses since the last report. Those of an event at its time count once; what a timer
    /// found before it counts too.
    #[test]
    fn losses_of_an_event_count_once() {
        for (event_ms, ack_lost, expected) in [(140, 1000, 1000.0), (120, 0, 1000.0), (120, 2000, 2000.0)] {
            let mut reported = ReportedLosses::default();
            let mut event = loss(10);
            (event.now, event.lost) = (at(event_ms), Bytes(1000));
            reported.note(&event);
            let mut ack = ack_at(at(140), 1);
            ack.lost = Bytes(ack_lost);
            assert_eq!(reported.take(&ack), expected);
            assert_eq!(reported.take(&ack), ack_lost as f64);
        }
    }
}
