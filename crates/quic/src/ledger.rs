//! What TCP's sender keeps of each segment and of the connection, rebuilt from what a QUIC stack tells its controller.
//!
//! Delivery-rate samples are Linux' (`net/ipv4/tcp_rate.c`; draft-ietf-ccwg-bbr, section 4.1): `delivered` over the longer of
//! the send and the ACK interval, of the packet that was sent last. A packet is known by the time at which it left, since that is
//! how the stack names it when its acknowledgement comes.

use std::collections::VecDeque;

use cwndlab_control::DeliveryRate;
use cwndlab_transport::rtt::RttEstimator;
use cwndlab_units::{Bytes, Duration, Rate, Time};

/// Entries kept at most: an endpoint that only acknowledges sends packets whose acknowledgement never comes.
const MOST: usize = 1 << 16;

/// What left at one time, and what was known then.
#[derive(Clone, Copy, Debug)]
struct Departure {
    at: u64,
    /// Bytes not acknowledged.
    left: u64,
    /// How many departures were before it.
    number: u64,
    first_sent_at: u64,
    delivered_at: u64,
    delivered: u64,
    app_limited: bool,
}

/// What one ACK frame acknowledged so far.
#[derive(Clone, Copy, Debug, Default)]
struct Batch {
    bytes: u64,
    /// Of packets that left after the last congestion event.
    fresh: u64,
    oldest: u64,
    newest: Option<Departure>,
    prior_in_flight: u64,
}

/// What an ACK frame means, as TCP would have it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    pub(crate) now: u64,
    pub(crate) bytes: u64,
    /// Of packets that left after the last congestion event.
    pub(crate) fresh: u64,
    pub(crate) prior_in_flight: u64,
    pub(crate) rtt: u64,
    pub(crate) rate: Option<DeliveryRate>,
    /// The first RTT sample of the connection came with it.
    pub(crate) first: bool,
    /// The stack said that the sender had been short of data.
    pub(crate) app_limited: bool,
}

impl Report {
    fn of(now: u64, batch: &Batch, rtt: u64, rate: Option<DeliveryRate>, first: bool, app_limited: bool) -> Self {
        let &Batch { bytes, fresh, prior_in_flight, .. } = batch;
        Self { now, bytes, fresh, prior_in_flight, rtt, rate, first, app_limited }
    }
}

/// The connection's books. Times are nanoseconds since the controller was built.
#[derive(Debug)]
pub(crate) struct Ledger {
    departures: VecDeque<Departure>,
    sent: u64,
    pub(crate) in_flight: u64,
    pub(crate) delivered: u64,
    delivered_at: u64,
    first_sent_at: u64,
    /// Until so much is delivered samples are of a sender that was short of data; zero: it was not.
    app_limited_until: u64,
    pub(crate) round: u64,
    round_end: u64,
    /// Nothing may join the last departure: an ACK came since.
    closed: bool,
    batch: Batch,
    /// When the last congestion event was (RFC 9002, 7.3.2: its recovery period ends when a packet sent later is acknowledged).
    pub(crate) recovery_start: Option<u64>,
    pub(crate) rtt: RttEstimator,
}

impl Ledger {
    pub(crate) fn new() -> Self {
        Self {
            departures: VecDeque::new(),
            sent: 0,
            in_flight: 0,
            delivered: 0,
            delivered_at: 0,
            first_sent_at: 0,
            app_limited_until: 0,
            round: 0,
            round_end: 0,
            closed: true,
            batch: Batch::default(),
            recovery_start: None,
            rtt: RttEstimator::sampling(),
        }
    }

    pub(crate) fn app_limited(&self) -> bool {
        self.app_limited_until > 0
    }

    /// Bytes leave.
    pub(crate) fn on_sent(&mut self, now: u64, bytes: u64) {
        if self.in_flight == 0 {
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
        self.in_flight += bytes;
        if !self.closed {
            if let Some(last) = self.departures.back_mut().filter(|last| last.at == now) {
                last.left += bytes;
                return;
            }
        }
        if self.departures.len() == MOST {
            self.departures.pop_front();
        }
        self.departures.push_back(Departure {
            at: now,
            left: bytes,
            number: self.sent,
            first_sent_at: self.first_sent_at,
            delivered_at: self.delivered_at,
            delivered: self.delivered,
            app_limited: self.app_limited(),
        });
        self.sent += 1;
        self.closed = false;
    }

    /// A packet that left at `sent` is acknowledged; more of the same ACK frame may follow.
    pub(crate) fn on_ack(&mut self, sent: u64, bytes: u64, app_limited: bool) {
        if self.batch.bytes == 0 {
            self.batch = Batch { oldest: sent, prior_in_flight: self.in_flight, ..Batch::default() };
            if app_limited {
                // Linux, tcp_rate_check_app_limited: bubbles until what was in flight is delivered.
                self.app_limited_until = (self.delivered + self.in_flight).max(1);
            }
        }
        self.batch.bytes += bytes;
        self.batch.oldest = self.batch.oldest.min(sent);
        if self.recovery_start.is_none_or(|start| sent > start) {
            self.batch.fresh += bytes;
        }
        let from = self.departures.partition_point(|one| one.at < sent);
        let found = self.departures.range_mut(from..).take_while(|one| one.at == sent).find(|one| one.left > 0);
        let Some(departure) = found else { return };
        departure.left = departure.left.saturating_sub(bytes);
        if self.batch.newest.is_none_or(|newest| sent >= newest.at) {
            self.batch.newest = Some(*departure);
        }
    }

    /// The ACK frame ends. Nothing to report where it acknowledged nothing that counts.
    pub(crate) fn on_end(&mut self, now: u64, in_flight: u64, app_limited: bool) -> Option<Report> {
        let batch = std::mem::take(&mut self.batch);
        self.closed = true;
        if batch.bytes == 0 {
            self.in_flight = in_flight;
            return None;
        }
        self.in_flight = in_flight;
        let newest = batch.newest;
        let first = self.rtt.totals().1 == 0;
        // A departure that was forgotten gives no sample.
        let sample = newest.map_or(0, |one| now - one.at);
        if let Some(newest) = newest {
            self.rtt.sample(Time(now), Duration(now - batch.oldest), Duration(sample));
            self.first_sent_at = newest.at;
        }
        if first && newest.is_some() {
            // The first thing to be acknowledged is the handshake: it gives an RTT, and is no data.
            self.app_limited_until = 0;
            return Some(Report::of(now, &batch, sample, None, true, app_limited));
        }
        self.delivered += batch.bytes;
        self.delivered_at = now;
        if self.app_limited_until > 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let rate = newest.and_then(|newest| self.rate(now, &newest));
        if let Some(newest) = newest {
            if newest.number >= self.round_end {
                self.round += 1;
                self.round_end = self.sent;
            }
            self.forget(newest.at);
        }
        Some(Report::of(now, &batch, sample, rate, false, app_limited))
    }

    /// Linux, tcp_rate_gen.
    fn rate(&self, now: u64, newest: &Departure) -> Option<DeliveryRate> {
        let interval = (newest.at - newest.first_sent_at).max(now - newest.delivered_at);
        if interval == 0 || interval < self.rtt.min_or_max().0 {
            return None; // shorter than min_rtt is ACK compression
        }
        let delivered = self.delivered - newest.delivered;
        Some(DeliveryRate {
            rate: Rate((delivered as f64 * 8e9 / interval as f64) as u64),
            delivered: Bytes(delivered),
            interval: Duration(interval),
            prior_delivered: Bytes(newest.delivered),
            app_limited: newest.app_limited,
        })
    }

    /// Packets were found lost; those that left before `sent`, the newest of them, are no more (RFC 9002, 6.1: both thresholds
    /// take all packets below).
    pub(crate) fn on_lost(&mut self, sent: u64, bytes: u64) {
        self.in_flight = self.in_flight.saturating_sub(bytes);
        while self.departures.front().is_some_and(|one| one.at < sent) {
            self.departures.pop_front();
        }
    }

    /// What is acknowledged, and what left so long before the newest acknowledged packet that it is lost or was a bare ACK.
    fn forget(&mut self, newest: u64) {
        let horizon = newest.saturating_sub(4 * self.rtt.srtt().max(self.rtt.last()).0);
        while self.departures.front().is_some_and(|one| one.left == 0 || one.at < horizon) {
            self.departures.pop_front();
        }
    }

    /// Smoothed RTT.
    pub(crate) fn srtt(&self) -> Duration {
        self.rtt.srtt()
    }

    /// When the last acknowledged packet of the batch that a report is of left.
    pub(crate) fn left_at(report: &Report) -> Time {
        Time(report.now - report.rtt)
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

    /// Hands were shaken in 50 ms before time began.
    fn shaken() -> Ledger {
        let mut books = Ledger::new();
        books.rtt.sample(Time::ZERO, Duration(50 * MS), Duration(50 * MS));
        books
    }

    /// The handshake gives an RTT and counts as nothing else.
    #[test]
    fn what_is_acknowledged_first_is_the_handshake() {
        let mut books = Ledger::new();
        books.on_sent(0, 1200);
        books.on_ack(0, 1200, true);
        let report = books.on_end(30 * MS, 0, true).expect("it acknowledges");
        assert!(report.first && !books.app_limited());
        assert_eq!((report.rtt, books.delivered, books.round), (30 * MS, 0, 0));
    }

    /// By hand: ten packets of 1200 bytes leave at once; each is acknowledged 50 ms later, one per millisecond. The first gives
    /// 1200 B in 50 ms; at the tenth 12,000 B have come in 59 ms.
    #[test]
    fn a_rate_sample_is_what_was_delivered_since_the_packet_left() {
        let mut books = shaken();
        books.on_sent(0, 12_000);
        let mut rates = Vec::new();
        for packet in 0..10 {
            books.on_ack(0, 1200, false);
            let report =
                books.on_end((50 + packet) * MS, 12_000 - 1200 * (packet + 1), false).expect("it acknowledges");
            rates.push(report.rate.expect("longer than the RTT").rate.0);
        }
        assert_eq!(rates[0], 192_000);
        assert_eq!(rates[9], (12_000.0 * 8e9 / 59e6) as u64);
    }

    /// Rounds advance when data sent after the last advance is acknowledged (draft-ietf-ccwg-bbr, section 5.5.1): by hand, six
    /// packets per round trip.
    #[test]
    fn a_round_is_a_round_trip() {
        let mut books = shaken();
        for step in 0..6 {
            books.on_sent(step * 10 * MS, 1200);
        }
        let rounds: Vec<u64> = (0..18)
            .map(|step| {
                books.on_ack(step * 10 * MS, 1200, false);
                let now = (60 + step * 10) * MS;
                books.on_end(now, 1200 * 5, false);
                books.on_sent(now, 1200);
                books.round
            })
            .collect();
        assert_eq!(rounds, [[1; 6], [2; 6], [3; 6]].concat());
    }

    /// What left before the newest lost packet is lost or acknowledged (RFC 9002, 6.1), and is forgotten.
    #[test]
    fn a_loss_takes_its_departures_along() {
        let mut books = Ledger::new();
        for step in 0..10 {
            books.on_sent(step * MS, 1200);
        }
        books.on_lost(7 * MS, 8 * 1200);
        assert_eq!((books.entries(), books.in_flight), (3, 2400));
    }

    /// An endpoint that only acknowledges never hears of its packets: the books stay bounded.
    #[test]
    fn bare_acks_do_not_fill_the_books() {
        let mut books = Ledger::new();
        for step in 0..200_000 {
            books.on_sent(step, 40);
        }
        assert_eq!(books.entries(), MOST);
    }
}
