//! Delivery-rate samples as in Linux (`net/ipv4/tcp_rate.c`; draft-ietf-ccwg-bbr, section 4.1).
//!
//! Each segment carries the connection's delivery state at its transmission. When it is delivered, the sample is the
//! data delivered since then divided by the longer of the send and the ACK interval. This module also counts round
//! trips.

use cwndlab_control::DeliveryRate;
use cwndlab_units::{Bytes, Duration, Rate, Time};

use crate::segment::{Run, Segment, APP_LIMITED};

/// The delivery state of a connection.
#[derive(Debug, Default)]
pub struct RateSampler {
    /// Data delivered so far, cumulatively or by SACK (Linux, `tp->delivered`, there in packets).
    delivered: Bytes,
    /// Time of the last increase of `delivered`.
    delivered_at: Time,
    /// Start of the current send interval.
    first_sent_at: Time,
    /// Samples are application-limited until this much is delivered; zero if they are not.
    app_limited_until: Bytes,
    /// Data delivered in the last sample, and its interval; zero before the first. The rate is computed on demand.
    last: (Bytes, Duration),
    /// Payload for which a delivered segment of any size counts: a full one in Linux, whose `tp->delivered` counts
    /// packets; zero: its own.
    counted_size: u32,
    /// Round trips since the start.
    round: u64,
    /// The round trip ends when a segment above this is acknowledged.
    round_end: u64,
}

/// Data newly delivered by one ACK, and the delivery state of the most recently sent segment among it.
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// Segments newly delivered; under Linux' rules including D-SACKed copies.
    pub segments: u32,
    /// Their payload.
    pub bytes: Bytes,
    prior_delivered: Bytes,
    prior_at: Time,
    send_interval: Duration,
    /// Transmission time of the sample's segment; zero if there is none.
    last_sent: Time,
    app_limited: bool,
}

impl RateSample {
    /// Adds delivered segments, of which `segment` was sent last. The sample uses the most recently sent segment of the
    /// ACK (Linux, tcp_rate_skb_delivered). Returns whether this is `segment`.
    #[inline]
    fn add(&mut self, segments: u32, bytes: Bytes, segment: &Segment) -> bool {
        self.segments += segments;
        self.bytes += bytes;
        let newest = segment.sent_at >= self.last_sent;
        if newest {
            self.last_sent = segment.sent_at;
            self.prior_delivered = segment.delivered;
            self.prior_at = segment.delivered_at;
            self.send_interval = segment.sent_at - segment.first_sent_at;
            self.app_limited = segment.flags & APP_LIMITED != 0;
        }
        newest
    }

    #[inline]
    fn has_segment(&self) -> bool {
        self.last_sent > Time::ZERO || self.prior_at > Time::ZERO
    }

    /// Data delivered before the sample's segment was sent (Linux, `rs->prior_delivered`).
    #[must_use]
    pub fn prior_delivered(&self) -> Option<Bytes> {
        self.has_segment().then_some(self.prior_delivered)
    }
}

impl RateSampler {
    /// A sampler that counts every delivered segment as `size` bytes, as Linux does.
    #[must_use]
    pub fn counting_packets(size: u32) -> Self {
        Self { counted_size: size, ..Self::default() }
    }

    /// Starts the send and the ACK interval: at the end of the handshake, and when a segment is sent while none is in
    /// flight (Linux, tcp_rate_skb_sent).
    #[inline]
    pub fn start(&mut self, now: Time) {
        (self.delivered_at, self.first_sent_at) = (now, now);
    }

    /// A segment of `len` bytes sent now, with the delivery state.
    #[inline]
    #[must_use]
    pub fn new_segment(&self, now: Time, len: u32) -> Segment {
        Segment {
            sent_at: now,
            first_sent_at: self.first_sent_at,
            delivered_at: self.delivered_at,
            delivered: self.delivered,
            len: len as u16,
            flags: if self.is_app_limited() { APP_LIMITED } else { 0 },
            ..Segment::default()
        }
    }

    /// Updates the delivery state of a segment that is retransmitted now.
    pub fn on_retransmit(&self, segment: &mut Segment) {
        segment.first_sent_at = self.first_sent_at;
        segment.delivered_at = self.delivered_at;
        segment.delivered = self.delivered;
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
        let bytes = if self.counted_size > 0 { packets } else { payload };
        if sample.add(segments, bytes, newest) {
            self.first_sent_at = newest.sent_at;
        }
    }

    /// The delivery-rate sample of an ACK, if it has one (Linux, tcp_rate_gen). `min_rtt` is `Duration::MAX` if it is
    /// unknown.
    #[inline]
    pub fn generate(&mut self, now: Time, sample: &RateSample, min_rtt: Duration) -> Option<DeliveryRate> {
        if sample.segments == 0 {
            return None;
        }
        self.delivered += sample.bytes;
        if !sample.has_segment() {
            return None; // D-SACKed copies alone
        }
        self.delivered_at = now;
        if self.is_app_limited() && self.delivered > self.app_limited_until {
            self.app_limited_until = Bytes::ZERO;
        }
        let delivered = self.delivered - sample.prior_delivered;
        let interval = sample.send_interval.max(now - sample.prior_at);
        if interval == Duration::ZERO || interval < min_rtt {
            return None; // an interval below min_rtt is ACK compression
        }
        let rate = DeliveryRate {
            delivered,
            interval,
            prior_delivered: sample.prior_delivered,
            app_limited: sample.app_limited,
        };
        if !sample.app_limited || rate.rate() > self.rate() {
            self.last = (delivered, interval);
        }
        Some(rate)
    }

    /// Counts data that an ACK without a sample delivers (Linux, tcp_count_delivered).
    pub(crate) fn count(&mut self, bytes: Bytes) {
        self.delivered += bytes;
    }

    /// Marks samples as application-limited until the data in flight is delivered; called if the application has no
    /// more data while the window allows more (Linux, tcp_rate_check_app_limited).
    #[inline]
    pub fn set_app_limited(&mut self, in_flight: Bytes) {
        self.app_limited_until = Bytes((self.delivered + in_flight).0.max(1));
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

    /// Rate of the last sample; zero before the first.
    #[must_use]
    pub fn rate(&self) -> Rate {
        let (delivered, interval) = self.last;
        DeliveryRate { delivered, interval, prior_delivered: Bytes::ZERO, app_limited: false }.rate()
    }

    /// Counts round trips at an ACK up to `ack` that advances SND.UNA; `next` is SND.NXT. A round trip ends when data
    /// sent after its start is acknowledged.
    #[inline]
    pub fn count_round(&mut self, ack: u64, next: u64) {
        if ack > self.round_end {
            self.round += 1;
            self.round_end = next;
        }
    }

    /// Round trips since the start.
    #[inline]
    #[must_use]
    pub fn round(&self) -> u64 {
        self.round
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A sampler before the first delivery, and segments of 1000 bytes sent at these times, ms.
    fn sampler_and_segments(sent_ms: &[u64]) -> (RateSampler, Vec<Segment>) {
        let mut sampler = RateSampler::default();
        sampler.start(Time(sent_ms[0] * MS));
        let segments = sent_ms.iter().map(|ms| sampler.new_segment(Time(ms * MS), 1000)).collect();
        (sampler, segments)
    }

    fn acknowledge(sampler: &mut RateSampler, now_ms: u64, segments: &[Segment]) -> Option<DeliveryRate> {
        let mut sample = RateSample::default();
        for segment in segments {
            sampler.on_delivered(segment, &mut sample);
        }
        sampler.generate(Time(now_ms * MS), &sample, Duration::ZERO)
    }

    /// By hand: ten segments sent at 1000 ms and acknowledged at 1100 ms are 10,000 bytes in 100 ms, 800 kbit/s.
    #[test]
    fn the_rate_is_the_delivered_data_over_the_ack_interval() {
        let (mut sampler, segments) = sampler_and_segments(&[1000; 10]);
        let rate = acknowledge(&mut sampler, 1100, &segments).expect("a sample");
        assert_eq!((rate.rate(), rate.delivered, rate.interval), (Rate(800_000), Bytes(10_000), Duration(100 * MS)));
        assert_eq!(sampler.delivered(), Bytes(10_000));
    }

    /// tcp_rate_skb_delivered counts packets, the draft bytes. By hand: a segment of 4 bytes, 100 ms after it was sent, is
    /// 320 bit/s, or 80 kbit/s as a packet of 1000 bytes; so are two.
    #[test]
    fn linux_counts_a_small_segment_as_a_packet() {
        for (sampler, bps) in [(RateSampler::default(), 320), (RateSampler::counting_packets(1000), 80_000)] {
            for count in [1, 2] {
                let mut sampler = RateSampler { counted_size: sampler.counted_size, ..RateSampler::default() };
                sampler.start(Time(1000 * MS));
                let segments = vec![sampler.new_segment(Time(1000 * MS), 4); count];
                let rate = acknowledge(&mut sampler, 1100, &segments).expect("a sample");
                assert_eq!(rate.rate(), Rate(bps * count as u64));
            }
        }
    }

    /// tcp_rate_gen: ACK compression does not inflate the rate, because the send interval is longer. By hand: two
    /// segments sent 50 ms apart and acknowledged 10 ms after the first one's ACK: 1000 bytes in 50 ms, 160 kbit/s.
    #[test]
    fn the_longer_of_send_and_ack_interval_counts() {
        let (mut sampler, segments) = sampler_and_segments(&[1000, 1050]);
        acknowledge(&mut sampler, 1100, &segments[..1]);
        let mut late = segments[1];
        (late.delivered, late.delivered_at) = (Bytes(1000), Time(1100 * MS));
        let rate = acknowledge(&mut sampler, 1110, &[late]).expect("a sample");
        assert_eq!((rate.rate(), rate.interval), (Rate(160_000), Duration(50 * MS)));
    }

    /// tcp_rate_gen: an interval below min_rtt is not a sample, but the data counts as delivered.
    #[test]
    fn an_interval_below_min_rtt_gives_no_sample() {
        let (mut sampler, segments) = sampler_and_segments(&[1000]);
        let mut sample = RateSample::default();
        sampler.on_delivered(&segments[0], &mut sample);
        assert_eq!(sampler.generate(Time(1100 * MS), &sample, Duration(101 * MS)), None);
        assert_eq!(sampler.delivered(), Bytes(1000));
    }

    /// tcp_rate_check_app_limited: samples stay marked until all data in flight is delivered, here 1000 bytes.
    #[test]
    fn samples_are_app_limited_until_the_data_in_flight_is_delivered() {
        let (mut sampler, segments) = sampler_and_segments(&[1000, 1000]);
        sampler.set_app_limited(Bytes(1000));
        assert!(sampler.is_app_limited());
        acknowledge(&mut sampler, 1100, &segments[..1]);
        assert!(sampler.is_app_limited());
        acknowledge(&mut sampler, 1101, &segments[1..]);
        assert!(!sampler.is_app_limited());
    }

    /// tcp_count_delivered: what an ACK without a sample delivers counts, so that the next sample includes it. By hand: 1000
    /// bytes counted and 1000 acknowledged at 1100 ms, of segments sent at 1000 ms, are 2000 in 100 ms.
    #[test]
    fn deliveries_without_a_sample_count_in_the_next_one() {
        let (mut sampler, segments) = sampler_and_segments(&[1000, 1000]);
        sampler.count(Bytes(1000));
        let rate = acknowledge(&mut sampler, 1100, &segments[1..]).expect("a sample");
        assert_eq!((rate.delivered, rate.rate()), (Bytes(2000), Rate(160_000)));
    }

    /// By hand: the first ACK starts round 1, which ends with the first ACK above SND.NXT at that time, 10.
    #[test]
    fn a_round_ends_when_data_sent_after_its_start_is_acknowledged() {
        let mut sampler = RateSampler::default();
        let rounds = [1, 5, 10, 11].map(|ack| {
            sampler.count_round(ack, ack + 9);
            sampler.round()
        });
        assert_eq!(rounds, [1, 1, 1, 2]);
    }
}
