//! Delivery-rate samples, round trips and RTTs of a QUIC connection, from the calls of `quinn` to its controller.
//!
//! Delivery-rate samples are those of [`cwndlab_control::delivery`], for the acknowledged packet that was sent last.
//! Packets are identified by their sending times, which the stack passes with an acknowledgement.

use std::collections::VecDeque;

use cwndlab_control::delivery::{self, DeliveryEstimator, Rounds};
use cwndlab_control::DeliveryRate;
use cwndlab_transport::rtt::RttEstimator;
use cwndlab_units::{Bytes, Duration, Time};

/// Maximum number of entries. It bounds the memory of an endpoint that sends only ACKs, which are never acknowledged.
const MAX_ENTRIES: usize = 1 << 16;
/// Transmissions up to this size do not count as in flight before the next ACK frame, bytes. `quinn` reports packets
/// with ACKs alone as all others; they are not in flight (RFC 9002, section 2). Such a packet has a header and a tag of
/// up to 41 bytes, and an ACK frame of some 10 bytes, or 20 with counts of ECN, and a few bytes for each gap.
const MAX_ACK_ONLY: u64 = 100;

/// The packets sent at one time, with the connection's state at that time.
#[derive(Clone, Copy, Debug)]
struct Departure {
    state: delivery::Departure,
    /// Bytes not yet acknowledged.
    unacked: u64,
    /// Number of earlier departures.
    number: u64,
}

impl Departure {
    fn at(&self) -> Time {
        self.state.sent_at
    }
}

/// The packets that the current ACK frame has acknowledged so far.
#[derive(Clone, Copy, Debug, Default)]
struct Batch {
    bytes: u64,
    /// Bytes of packets that were sent after the last congestion event.
    sent_after_event: u64,
    oldest: Time,
    newest: Option<Departure>,
    prior_in_flight: u64,
}

/// A complete ACK frame. Times are relative to the creation of the controller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckReport {
    pub(crate) now: Time,
    pub(crate) bytes: u64,
    /// Bytes of packets that were sent after the last congestion event.
    pub(crate) sent_after_event: u64,
    pub(crate) prior_in_flight: u64,
    pub(crate) rtt: Duration,
    pub(crate) rate: Option<DeliveryRate>,
    /// The frame supplied the connection's first RTT sample.
    pub(crate) first: bool,
    /// The stack reported the sender as application-limited.
    pub(crate) app_limited: bool,
}

impl AckReport {
    fn new(
        now: Time,
        batch: &Batch,
        rtt: Duration,
        rate: Option<DeliveryRate>,
        first: bool,
        app_limited: bool,
    ) -> Self {
        let &Batch { bytes, sent_after_event, prior_in_flight, .. } = batch;
        Self { now, bytes, sent_after_event, prior_in_flight, rtt, rate, first, app_limited }
    }

    /// Sending time of the newest acknowledged packet.
    pub(crate) fn sent_at(&self) -> Time {
        Time::from_nanos(self.now.as_nanos() - self.rtt.as_nanos())
    }
}

/// The delivery state of a connection. Times are relative to the creation of the controller.
#[derive(Debug)]
pub(crate) struct DeliveryTracker {
    departures: VecDeque<Departure>,
    sent: u64,
    /// Bytes in flight: those of the stack at the last ACK frame, and what was sent since.
    pub(crate) in_flight: u64,
    delivery: DeliveryEstimator,
    rounds: Rounds,
    /// No packet may be added to the last departure, because an ACK has arrived since.
    closed: bool,
    batch: Batch,
    /// Time of the last congestion event. Its recovery period ends when a packet sent later is acknowledged (RFC 9002,
    /// 7.3.2).
    pub(crate) recovery_start: Option<Time>,
    pub(crate) rtt: RttEstimator,
}

impl DeliveryTracker {
    pub(crate) fn new() -> Self {
        Self {
            departures: VecDeque::new(),
            sent: 0,
            in_flight: 0,
            delivery: DeliveryEstimator::default(),
            rounds: Rounds::default(),
            closed: true,
            batch: Batch::default(),
            recovery_start: None,
            rtt: RttEstimator::sampling(),
        }
    }

    pub(crate) fn app_limited(&self) -> bool {
        self.delivery.is_app_limited()
    }

    /// Bytes delivered so far.
    pub(crate) fn delivered(&self) -> Bytes {
        self.delivery.delivered()
    }

    /// Round trips since the start.
    pub(crate) fn round(&self) -> u64 {
        self.rounds.count()
    }

    /// Bytes were sent.
    pub(crate) fn on_sent(&mut self, now: Time, bytes: u64) {
        if self.in_flight == 0 {
            self.delivery.start(now);
        }
        if bytes > MAX_ACK_ONLY {
            self.in_flight += bytes;
        }
        if !self.closed {
            if let Some(last) = self.departures.back_mut().filter(|last| last.at() == now) {
                last.unacked += bytes;
                return;
            }
        }
        if self.departures.len() == MAX_ENTRIES {
            self.departures.pop_front();
        }
        self.departures.push_back(Departure { state: self.delivery.departure(now), unacked: bytes, number: self.sent });
        self.sent += 1;
        self.closed = false;
    }

    /// A packet sent at `sent` is acknowledged. Other packets of the same ACK frame may follow.
    pub(crate) fn on_ack(&mut self, sent: Time, bytes: u64, app_limited: bool) {
        if self.batch.bytes == 0 {
            self.batch = Batch { oldest: sent, prior_in_flight: self.in_flight, ..Batch::default() };
            if app_limited {
                self.delivery.set_app_limited(Bytes(self.in_flight));
            }
        }
        self.batch.bytes += bytes;
        self.batch.oldest = self.batch.oldest.min(sent);
        if self.recovery_start.is_none_or(|start| sent > start) {
            self.batch.sent_after_event += bytes;
        }
        let from = self.departures.partition_point(|one| one.at() < sent);
        let matching = self.departures.range_mut(from..).take_while(|one| one.at() == sent).find(|one| one.unacked > 0);
        let Some(departure) = matching else { return };
        departure.unacked = departure.unacked.saturating_sub(bytes);
        if self.batch.newest.is_none_or(|newest| sent >= newest.at()) {
            self.batch.newest = Some(*departure);
        }
    }

    /// The ACK frame ends. `None` where it acknowledged no tracked bytes.
    pub(crate) fn on_end(&mut self, now: Time, in_flight: u64, app_limited: bool) -> Option<AckReport> {
        let batch = std::mem::take(&mut self.batch);
        self.closed = true;
        if batch.bytes == 0 {
            self.in_flight = in_flight;
            return None;
        }
        self.in_flight = in_flight;
        let newest = batch.newest;
        let first = self.rtt.totals().1 == 0;
        // Removed departures give no samples.
        let sample = newest.map_or(Duration::ZERO, |one| now - one.at());
        if newest.is_some() {
            self.rtt.sample(now, now - batch.oldest, sample);
        }
        if first && newest.is_some() {
            // The first acknowledgement is that of the handshake. It gives an RTT sample but acknowledges no data.
            self.delivery.start(now);
            self.delivery.clear_app_limited();
            return Some(AckReport::new(now, &batch, sample, None, true, app_limited));
        }
        let bytes = Bytes(batch.bytes);
        let Some(newest) = newest else {
            self.delivery.count(bytes);
            return Some(AckReport::new(now, &batch, sample, None, false, app_limited));
        };
        self.delivery.deliver(now, bytes, &newest.state);
        let rate = self.delivery.sample(now, &newest.state, self.rtt.min_or_max());
        self.rounds.advance(newest.number, self.sent);
        self.remove_old(newest.at());
        Some(AckReport::new(now, &batch, sample, rate, false, app_limited))
    }

    /// Packets were declared lost; the newest of them was sent at `sent`. Earlier packets are removed (RFC 9002, 6.1:
    /// both thresholds include all earlier packets).
    pub(crate) fn on_lost(&mut self, sent: Time, bytes: u64) {
        self.in_flight = self.in_flight.saturating_sub(bytes);
        while self.departures.front().is_some_and(|one| one.at() < sent) {
            self.departures.pop_front();
        }
    }

    /// Removes acknowledged packets, and packets sent more than 4 SRTT before the newest acknowledged one: these are
    /// lost or contained only ACKs.
    fn remove_old(&mut self, newest: Time) {
        let horizon =
            Time::from_nanos(newest.as_nanos().saturating_sub(4 * self.rtt.srtt().max(self.rtt.last()).as_nanos()));
        while self.departures.front().is_some_and(|one| one.unacked == 0 || one.at() < horizon) {
            self.departures.pop_front();
        }
    }

    /// Smoothed RTT.
    pub(crate) fn srtt(&self) -> Duration {
        self.rtt.srtt()
    }

    #[cfg(test)]
    pub(crate) fn entries(&self) -> usize {
        self.departures.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A tracker with a 50 ms handshake RTT.
    fn after_handshake() -> DeliveryTracker {
        let mut tracker = DeliveryTracker::new();
        tracker.rtt.sample(Time::ZERO, Duration::from_nanos(50 * MS), Duration::from_nanos(50 * MS));
        tracker
    }

    /// The handshake supplies only the first RTT sample (RFC 9002, 5.1).
    #[test]
    fn the_first_acknowledgement_is_the_handshake() {
        let mut tracker = DeliveryTracker::new();
        tracker.on_sent(Time::from_nanos(0), 1200);
        tracker.on_ack(Time::from_nanos(0), 1200, true);
        let report = tracker.on_end(Time::from_nanos(30 * MS), 0, true).expect("it acknowledges");
        assert!(report.first && !tracker.app_limited());
        assert_eq!((report.rtt.as_nanos(), tracker.delivered(), tracker.round()), (30 * MS, Bytes::ZERO, 0));
    }

    /// By hand: ten packets of 1200 bytes are sent at one time and acknowledged from 50 ms on, one per millisecond. The
    /// first sample is 1200 B in 50 ms, the tenth 12,000 B in 59 ms.
    #[test]
    fn a_rate_sample_covers_the_time_since_the_packet_was_sent() {
        let mut tracker = after_handshake();
        tracker.on_sent(Time::from_nanos(0), 12_000);
        let mut rates = Vec::new();
        for packet in 0..10 {
            tracker.on_ack(Time::from_nanos(0), 1200, false);
            let report = tracker
                .on_end(Time::from_nanos((50 + packet) * MS), 12_000 - 1200 * (packet + 1), false)
                .expect("it acknowledges");
            rates.push(report.rate.expect("longer than the RTT").rate().0);
        }
        assert_eq!(rates[0], 192_000);
        assert_eq!(rates[9], (12_000.0 * 8e9 / 59e6) as u64);
    }

    /// By hand: 12,000 B in one flight, sent 10 s after an acknowledgement of the peer's data and acknowledged after
    /// 50 ms, are 1.92 Mbit/s. From the acknowledgement on they would be 9.6 kbit/s.
    #[test]
    fn packets_with_acks_alone_are_not_in_flight() {
        let mut tracker = after_handshake();
        tracker.on_sent(Time::from_nanos(0), 35);
        assert_eq!(tracker.in_flight, 0);
        let sent = Time::from_nanos(10_000 * MS);
        tracker.on_sent(sent, 12_000);
        tracker.on_sent(Time::from_nanos(10_010 * MS), 35);
        assert_eq!(tracker.in_flight, 12_000);
        tracker.on_ack(sent, 12_000, false);
        let report = tracker.on_end(Time::from_nanos(10_050 * MS), 0, false).expect("it acknowledges");
        assert_eq!(report.prior_in_flight, 12_000);
        assert_eq!(report.rate.expect("longer than the RTT").rate().0, 1_920_000);
    }

    /// Rounds advance when data sent after the last advance is acknowledged (draft-ietf-ccwg-bbr, section 5.5.1): by
    /// hand, six packets per round trip.
    #[test]
    fn rounds_advance_once_per_round_trip() {
        let mut tracker = after_handshake();
        for step in 0..6 {
            tracker.on_sent(Time::from_nanos(step * 10 * MS), 1200);
        }
        let rounds: Vec<u64> = (0..18)
            .map(|step| {
                tracker.on_ack(Time::from_nanos(step * 10 * MS), 1200, false);
                let now = (60 + step * 10) * MS;
                tracker.on_end(Time::from_nanos(now), 1200 * 5, false);
                tracker.on_sent(Time::from_nanos(now), 1200);
                tracker.round()
            })
            .collect();
        assert_eq!(rounds, [[1; 6], [2; 6], [3; 6]].concat());
    }

    /// Packets sent before the newest lost packet are lost or acknowledged (RFC 9002, 6.1).
    #[test]
    fn a_loss_removes_earlier_departures() {
        let mut tracker = DeliveryTracker::new();
        for step in 0..10 {
            tracker.on_sent(Time::from_nanos(step * MS), 1200);
        }
        tracker.on_lost(Time::from_nanos(7 * MS), 8 * 1200);
        assert_eq!((tracker.entries(), tracker.in_flight), (3, 2400));
    }

    /// Packets that contain only ACKs are never acknowledged (RFC 9000, 13.2.1).
    #[test]
    fn packets_with_only_acks_use_bounded_memory() {
        let mut tracker = DeliveryTracker::new();
        for step in 0..200_000 {
            tracker.on_sent(Time::from_nanos(step), 40);
        }
        assert_eq!(tracker.entries(), MAX_ENTRIES);
    }
}
