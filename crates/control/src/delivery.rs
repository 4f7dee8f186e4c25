//! Delivery-rate samples as in Linux (`net/ipv4/tcp_rate.c`; draft-ietf-ccwg-bbr, section 4.1), and round trips, for every
//! sender: TCP, QUIC, and the modelled sender that checks algorithms.
//!
//! What is sent carries the connection's delivery state at its transmission. When it is delivered, the sample is the data
//! delivered since then, divided by the longer of the send and the ACK interval.
//!
//! ```
//! use cwndlab_control::delivery::DeliveryEstimator;
//! use cwndlab_units::{Bytes, Duration, Rate, Time};
//!
//! let at = |ms: u64| Time::ZERO + Duration::from_millis(ms);
//! let mut delivery = DeliveryEstimator::default();
//! delivery.start(at(1000));
//! let sent = delivery.departure(at(1000));
//! delivery.deliver(at(1100), Bytes(10_000), &sent);
//! let sample = delivery.sample(at(1100), &sent, Duration::from_millis(100)).expect("as long as the RTT");
//! assert_eq!(sample.rate(), Rate(800_000)); // 80,000 bits in 100 ms
//! ```

use cwndlab_units::{Bytes, Duration, Time};

use crate::contract::DeliveryRate;

/// The delivery state of a connection when data was sent (Linux, `tcp_rate_skb_sent`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Departure {
    /// Time of the transmission.
    pub sent_at: Time,
    /// Start of the send interval.
    pub first_sent_at: Time,
    /// Time of the last delivery before it.
    pub delivered_at: Time,
    /// Data delivered before it.
    pub delivered: Bytes,
    /// The application limited the sender.
    pub app_limited: bool,
}

/// The delivery state of a connection.
#[derive(Clone, Debug, Default)]
pub struct DeliveryEstimator {
    delivered: Bytes,
    /// Time of the last delivery.
    delivered_at: Time,
    /// Start of the current send interval.
    first_sent_at: Time,
    /// Samples are application-limited until this much is delivered; zero if they are not.
    app_limited_until: Bytes,
}

impl DeliveryEstimator {
    /// Starts the send and the ACK interval: at the end of the handshake, and when data is sent while none is in flight
    /// (Linux, tcp_rate_skb_sent).
    #[inline]
    pub fn start(&mut self, now: Time) {
        (self.delivered_at, self.first_sent_at) = (now, now);
    }

    /// The state for what is sent now.
    #[inline]
    #[must_use]
    pub fn departure(&self, now: Time) -> Departure {
        Departure {
            sent_at: now,
            first_sent_at: self.first_sent_at,
            delivered_at: self.delivered_at,
            delivered: self.delivered,
            app_limited: self.is_app_limited(),
        }
    }

    /// Counts data that an ACK without a sample delivers (Linux, tcp_count_delivered).
    #[inline]
    pub fn count(&mut self, bytes: Bytes) {
        self.delivered += bytes;
    }

    /// An ACK delivers `bytes`; what was sent last among them departed in the state `newest`.
    #[inline]
    pub fn deliver(&mut self, now: Time, bytes: Bytes, newest: &Departure) {
        self.delivered += bytes;
        (self.delivered_at, self.first_sent_at) = (now, newest.sent_at);
        if self.delivered > self.app_limited_until {
            self.app_limited_until = Bytes::ZERO;
        }
    }

    /// The sample of an ACK (Linux, tcp_rate_gen); `None` for an interval below the minimum RTT, which is ACK compression.
    #[inline]
    #[must_use]
    pub fn sample(&self, now: Time, newest: &Departure, min_rtt: Duration) -> Option<DeliveryRate> {
        let interval = (newest.sent_at - newest.first_sent_at).max(now - newest.delivered_at);
        if interval == Duration::ZERO || interval < min_rtt {
            return None;
        }
        Some(DeliveryRate {
            delivered: self.delivered - newest.delivered,
            interval,
            prior_delivered: newest.delivered,
            app_limited: newest.app_limited,
        })
    }

    /// Marks samples as application-limited until the data in flight is delivered; called if the application has no more
    /// data while the window allows more (Linux, tcp_rate_check_app_limited).
    #[inline]
    pub fn set_app_limited(&mut self, in_flight: Bytes) {
        self.app_limited_until = (self.delivered + in_flight).max(Bytes(1));
    }

    /// Ends the application limit.
    pub fn clear_app_limited(&mut self) {
        self.app_limited_until = Bytes::ZERO;
    }

    /// Whether samples are application-limited.
    #[inline]
    #[must_use]
    pub fn is_app_limited(&self) -> bool {
        self.app_limited_until > Bytes::ZERO
    }

    /// Data delivered so far.
    #[inline]
    #[must_use]
    pub fn delivered(&self) -> Bytes {
        self.delivered
    }
}

/// Round trips. One ends when data sent after its start is acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rounds {
    count: u64,
    /// What is numbered from here on was sent after the start of the round.
    end: u64,
}

impl Rounds {
    /// What has the number `newest` is acknowledged; `next` is the number of what is sent next.
    #[inline]
    pub fn advance(&mut self, newest: u64, next: u64) {
        if newest >= self.end {
            (self.count, self.end) = (self.count + 1, next);
        }
    }

    /// Round trips since the start.
    #[inline]
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn started() -> DeliveryEstimator {
        let mut delivery = DeliveryEstimator::default();
        delivery.start(Time::from_nanos(1000 * MS));
        delivery
    }

    /// tcp_rate_gen: ACK compression does not raise the rate, because the send interval is longer. By hand: two packets
    /// sent 50 ms apart and acknowledged 10 ms apart: 1000 bytes in 50 ms, 160 kbit/s.
    #[test]
    fn the_longer_of_send_and_ack_interval_counts() {
        let mut delivery = started();
        let first = delivery.departure(Time::from_nanos(1000 * MS));
        let mut second = delivery.departure(Time::from_nanos(1050 * MS));
        delivery.deliver(Time::from_nanos(1100 * MS), Bytes(1000), &first);
        (second.delivered, second.delivered_at) = (Bytes(1000), Time::from_nanos(1100 * MS));
        delivery.deliver(Time::from_nanos(1110 * MS), Bytes(1000), &second);
        let sample = delivery.sample(Time::from_nanos(1110 * MS), &second, Duration::ZERO).expect("a sample");
        assert_eq!((sample.rate().0, sample.interval), (160_000, Duration::from_nanos(50 * MS)));
    }

    /// tcp_rate_gen: an interval below min_rtt is not a sample, but the data counts as delivered.
    #[test]
    fn an_interval_below_min_rtt_gives_no_sample() {
        let mut delivery = started();
        let sent = delivery.departure(Time::from_nanos(1000 * MS));
        delivery.deliver(Time::from_nanos(1100 * MS), Bytes(1000), &sent);
        assert_eq!(delivery.sample(Time::from_nanos(1100 * MS), &sent, Duration::from_nanos(101 * MS)), None);
        assert_eq!(delivery.delivered(), Bytes(1000));
    }

    /// tcp_rate_check_app_limited: samples stay marked until all data in flight is delivered, here 1000 bytes.
    #[test]
    fn samples_are_app_limited_until_the_data_in_flight_is_delivered() {
        let mut delivery = started();
        let sent = delivery.departure(Time::from_nanos(1000 * MS));
        delivery.set_app_limited(Bytes(1000));
        delivery.deliver(Time::from_nanos(1100 * MS), Bytes(1000), &sent);
        assert!(delivery.is_app_limited());
        delivery.deliver(Time::from_nanos(1101 * MS), Bytes(1000), &sent);
        assert!(!delivery.is_app_limited());
    }

    /// tcp_count_delivered: what an ACK without a sample delivers counts, so that the next sample includes it. By hand: 1000
    /// bytes counted and 1000 acknowledged at 1100 ms, sent at 1000 ms, are 2000 in 100 ms.
    #[test]
    fn deliveries_without_a_sample_count_in_the_next_one() {
        let mut delivery = started();
        let sent = delivery.departure(Time::from_nanos(1000 * MS));
        delivery.count(Bytes(1000));
        delivery.deliver(Time::from_nanos(1100 * MS), Bytes(1000), &sent);
        let sample = delivery.sample(Time::from_nanos(1100 * MS), &sent, Duration::ZERO).expect("a sample");
        assert_eq!((sample.delivered, sample.rate().0), (Bytes(2000), 160_000));
    }

    /// By hand: segment 0 starts round 1; ten are sent by then, and segment 10 was sent after its start.
    #[test]
    fn a_round_ends_when_data_sent_after_its_start_is_acknowledged() {
        let mut rounds = Rounds::default();
        let counts = [0, 4, 9, 10].map(|newest| {
            rounds.advance(newest, newest + 10);
            rounds.count()
        });
        assert_eq!(counts, [1, 1, 1, 2]);
    }
}
