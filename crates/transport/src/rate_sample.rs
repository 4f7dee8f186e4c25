//! Delivery-rate samples of TCP, by [`cwndlab_control::delivery`], and its round trips.

use cwndlab_control::delivery::{DeliveryEstimator, Departure, Rounds};
use cwndlab_control::DeliveryRate;
use cwndlab_units::{Bytes, Duration, Rate, Time};

use crate::segment::{Run, Segment, APP_LIMITED};

/// The delivery state of a connection.
#[derive(Debug, Default)]
pub struct RateSampler {
    /// Data delivered cumulatively or by SACK (Linux, `tp->delivered`, there in packets).
    delivery: DeliveryEstimator,
    /// Data delivered in the last sample, and its interval; zero before the first. The rate is computed on demand.
    last: (Bytes, Duration),
    /// Payload for which a delivered segment of any size counts: a full one in Linux, whose `tp->delivered` counts
    /// packets; zero: its own.
    counted_size: u32,
    rounds: Rounds,
}

/// Data newly delivered by one ACK, and the delivery state of the most recently sent segment among it.
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// Segments newly delivered; under Linux' rules including D-SACKed copies.
    pub segments: u32,
    /// Their payload.
    pub bytes: Bytes,
    /// That of the segment sent last (Linux, tcp_rate_skb_delivered); times are zero if there is none.
    newest: Departure,
}

impl RateSample {
    #[inline]
    fn has_segment(&self) -> bool {
        self.newest.sent_at > Time::ZERO || self.newest.delivered_at > Time::ZERO
    }

    /// Data delivered before the sample's segment was sent (Linux, `rs->prior_delivered`).
    #[must_use]
    pub fn prior_delivered(&self) -> Option<Bytes> {
        self.has_segment().then_some(self.newest.delivered)
    }
}

impl RateSampler {
    /// A sampler that counts every delivered segment as `size` bytes, as Linux does.
    #[must_use]
    pub fn counting_packets(size: u32) -> Self {
        Self { counted_size: size, ..Self::default() }
    }

    /// Starts the send and the ACK interval: at the end of the handshake, and when a segment is sent while none is in
    /// flight.
    #[inline]
    pub fn start(&mut self, now: Time) {
        self.delivery.start(now);
    }

    /// A segment of `len` bytes sent now, with the delivery state.
    #[inline]
    #[must_use]
    pub fn new_segment(&self, now: Time, len: u32) -> Segment {
        let Departure { sent_at, first_sent_at, delivered_at, delivered, app_limited } = self.delivery.departure(now);
        let flags = if app_limited { APP_LIMITED } else { 0 };
        Segment { sent_at, first_sent_at, delivered_at, delivered, len: len as u16, flags, ..Segment::default() }
    }

    /// Updates the delivery state of a segment that is retransmitted now.
    pub fn on_retransmit(&self, segment: &mut Segment) {
        let departure = self.delivery.departure(segment.sent_at);
        let Departure { first_sent_at, delivered_at, delivered, app_limited, .. } = departure;
        (segment.first_sent_at, segment.delivered_at, segment.delivered) = (first_sent_at, delivered_at, delivered);
        // Each transmission has a mark of its own (Linux, `tcp_rate_skb_sent`).
        segment.flags = segment.flags & !APP_LIMITED | if app_limited { APP_LIMITED } else { 0 };
    }

    /// Adds a delivered segment to the sample.
    #[inline]
    pub fn on_delivered(&mut self, segment: &Segment, sample: &mut RateSample) {
        self.deliver(1, Bytes(u64::from(segment.len)), segment, sample);
    }

    /// Adds a delivered run of segments to the sample.
    #[inline]
    pub fn on_run_delivered(&mut self, run: &Run, sample: &mut RateSample) {
        self.deliver(run.segments, run.bytes, &run.last, sample);
    }

    #[inline]
    fn deliver(&mut self, segments: u32, payload: Bytes, newest: &Segment, sample: &mut RateSample) {
        let packets = Bytes(u64::from(segments) * u64::from(self.counted_size));
        sample.segments += segments;
        sample.bytes += if self.counted_size > 0 { packets } else { payload };
        if newest.sent_at >= sample.newest.sent_at {
            sample.newest = newest.departure();
        }
    }

    /// The delivery-rate sample of an ACK, if it has one. `min_rtt` is `Duration::MAX` if it is unknown.
    #[inline]
    pub fn generate(&mut self, now: Time, sample: &RateSample, min_rtt: Duration) -> Option<DeliveryRate> {
        if !sample.has_segment() {
            self.delivery.count(sample.bytes); // D-SACKed copies alone
            return None;
        }
        self.delivery.deliver(now, sample.bytes, &sample.newest);
        let rate = self.delivery.sample(now, &sample.newest, min_rtt)?;
        if !rate.app_limited || rate.rate() > self.rate() {
            self.last = (rate.delivered, rate.interval);
        }
        Some(rate)
    }

    /// Counts data that an ACK without a sample delivers.
    pub fn count(&mut self, bytes: Bytes) {
        self.delivery.count(bytes);
    }

    /// Marks samples as application-limited until the data in flight is delivered.
    #[inline]
    pub fn set_app_limited(&mut self, in_flight: Bytes) {
        self.delivery.set_app_limited(in_flight);
    }

    /// Whether samples are application-limited.
    #[inline]
    #[must_use]
    pub fn is_app_limited(&self) -> bool {
        self.delivery.is_app_limited()
    }

    /// Data delivered so far.
    #[inline]
    #[must_use]
    pub fn delivered(&self) -> Bytes {
        self.delivery.delivered()
    }

    /// Rate of the last sample; zero before the first.
    #[must_use]
    pub fn rate(&self) -> Rate {
        let (delivered, interval) = self.last;
        DeliveryRate { delivered, interval, prior_delivered: Bytes::ZERO, app_limited: false }.rate()
    }

    /// Counts round trips at an ACK up to `ack` that advances SND.UNA; `next` is SND.NXT.
    #[inline]
    pub fn count_round(&mut self, ack: u64, next: u64) {
        self.rounds.advance(ack - 1, next);
    }

    /// Round trips since the start.
    #[inline]
    #[must_use]
    pub fn round(&self) -> u64 {
        self.rounds.count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A sampler before the first delivery, and segments of 1000 bytes sent at these times, ms.
    fn sampler_and_segments(sent_ms: &[u64]) -> (RateSampler, Vec<Segment>) {
        let mut sampler = RateSampler::default();
        sampler.start(Time::from_nanos(sent_ms[0] * MS));
        let segments = sent_ms.iter().map(|ms| sampler.new_segment(Time::from_nanos(ms * MS), 1000)).collect();
        (sampler, segments)
    }

    fn acknowledge(sampler: &mut RateSampler, now_ms: u64, segments: &[Segment]) -> Option<DeliveryRate> {
        let mut sample = RateSample::default();
        for segment in segments {
            sampler.on_delivered(segment, &mut sample);
        }
        sampler.generate(Time::from_nanos(now_ms * MS), &sample, Duration::ZERO)
    }

    /// By hand: ten segments sent at 1000 ms and acknowledged at 1100 ms are 10,000 bytes in 100 ms, 800 kbit/s.
    #[test]
    fn the_rate_is_the_delivered_data_over_the_ack_interval() {
        let (mut sampler, segments) = sampler_and_segments(&[1000; 10]);
        let rate = acknowledge(&mut sampler, 1100, &segments).expect("a sample");
        assert_eq!(
            (rate.rate(), rate.delivered, rate.interval),
            (Rate(800_000), Bytes(10_000), Duration::from_nanos(100 * MS))
        );
        assert_eq!(sampler.delivered(), Bytes(10_000));
    }

    /// tcp_rate_skb_sent: `is_app_limited` is that of the latest transmission.
    #[test]
    fn a_retransmission_has_a_mark_of_its_own() {
        let (mut sampler, segments) = sampler_and_segments(&[1000; 2]);
        let mut unlimited = segments[0];
        sampler.set_app_limited(Bytes(2000));
        let mut limited = sampler.new_segment(Time::from_nanos(1010 * MS), 1000);
        unlimited.sent_at = Time::from_nanos(1200 * MS);
        sampler.on_retransmit(&mut unlimited);
        assert!(unlimited.departure().app_limited);
        // 3000 bytes are delivered: more than what was in flight at the limit.
        for _ in 0..3 {
            let _ = acknowledge(&mut sampler, 1300, &segments[1..]);
        }
        limited.sent_at = Time::from_nanos(1300 * MS);
        sampler.on_retransmit(&mut limited);
        assert!(!limited.departure().app_limited);
    }

    /// tcp_rate_skb_delivered counts packets, the draft bytes. By hand: a segment of 4 bytes, 100 ms after it was sent, is
    /// 320 bit/s, or 80 kbit/s as a packet of 1000 bytes; so are two.
    #[test]
    fn linux_counts_a_small_segment_as_a_packet() {
        for (sampler, bps) in [(RateSampler::default(), 320), (RateSampler::counting_packets(1000), 80_000)] {
            for count in [1, 2] {
                let mut sampler = RateSampler { counted_size: sampler.counted_size, ..RateSampler::default() };
                sampler.start(Time::from_nanos(1000 * MS));
                let segments = vec![sampler.new_segment(Time::from_nanos(1000 * MS), 4); count];
                let rate = acknowledge(&mut sampler, 1100, &segments).expect("a sample");
                assert_eq!(rate.rate(), Rate(bps * count as u64));
            }
        }
    }
}
