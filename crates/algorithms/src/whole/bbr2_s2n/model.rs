//! s2n-quic's model of the path: rate samples, bandwidth, round-trip time, ACK aggregation. Numbers in parentheses are the
//! equations of [`crate::whole::bbr2_s2n`]; functions in parentheses are those of s2n-quic-core 0.91.0.

use cwndlab_control::{Ack, DeliveryRate};
use cwndlab_units::{Duration, Time};

use crate::shared::bbr::{FullPipe, Rounds};
use crate::shared::deliveries::{interval, sent_at, Deliveries, Delivery};
use crate::whole::bbr2_s2n::options::Sample as SampleRule;
use crate::whole::bbr2_s2n::outstanding::Packet;
use crate::whole::bbr3::bounds::{AckSample, Bounds};

/// The length of the filter of the bandwidth, cycles, and of that of ACK aggregation, rounds.
const BW_CYCLES: u64 = 2;
const EXTRA_ROUNDS: u64 = 10;
/// Age of the recent minimum of the RTT at which ProbeRTT is due, and that of the minimum at which it expires.
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);

/// A maximum of which one value is kept (`WindowedFilter`): a value replaces it that is at least as large, or that comes
/// when it has expired.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeptMax {
    value: f64,
    number: Option<u64>,
}

impl KeptMax {
    /// The maximum.
    #[must_use]
    pub fn get(&self) -> f64 {
        self.value
    }

    /// Adds a value of the cycle or round with this number.
    pub fn update(&mut self, window: u64, number: u64, value: f64) {
        if value >= self.value || self.number.is_none_or(|last| number - last >= window) {
            *self = Self { value, number: Some(number) };
        }
    }
}

/// The minimum RTT of 10 s, and the recent one, which determines the time of ProbeRTT (`MinRttWindowedFilter`). An equal
/// sample renews both.
#[derive(Clone, Copy, Debug, Default)]
pub struct MinRtt {
    value: Option<(Duration, Time)>,
    recent: Option<(Duration, Time)>,
    /// The last sample.
    latest: Option<Duration>,
    /// ProbeRTT is due.
    pub expired: bool,
}

impl MinRtt {
    /// The minimum.
    #[must_use]
    pub fn get(&self) -> Option<Duration> {
        self.value.map(|one| one.0)
    }

    /// Adds an ACK; without a sample the last one counts again (`BbrCongestionController::on_ack`).
    pub fn update(&mut self, rtt: Option<Duration>, now: Time) {
        let Some(rtt) = rtt.or(self.latest) else { return };
        self.latest = Some(rtt);
        let is_old = |one: Option<(Duration, Time)>, window: Duration| one.is_some_and(|(_, at)| now >= at + window);
        self.expired = is_old(self.recent, PROBE_RTT_INTERVAL);
        if self.expired || self.recent.is_none_or(|(least, _)| rtt <= least) {
            self.recent = Some((rtt, now));
        }
        let recent = self.recent.map_or(rtt, |one| one.0);
        if is_old(self.value, MIN_RTT_WINDOW) || self.value.is_none_or(|(least, _)| recent <= least) {
            self.value = self.recent;
        }
    }

    /// ProbeRTT has ended.
    pub fn probed(&mut self, now: Time) {
        self.recent = self.recent.map(|(least, _)| (least, now));
    }
}

/// ACK aggregation (`update_ack_aggregation`): the excess of acknowledged bytes over the bandwidth, the maximum of ten
/// rounds.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExtraAcked {
    start: Option<Time>,
    acked: f64,
    max: KeptMax,
}

impl ExtraAcked {
    /// The maximum, bytes.
    #[must_use]
    pub fn get(&self) -> f64 {
        self.max.get()
    }

    /// Begins a new interval after an idle period.
    pub fn restart(&mut self, now: Time) {
        self.start = Some(now);
    }

    /// Adds `acked` bytes; `bw` in bytes/s, `w` the window in bytes.
    pub fn update(&mut self, now: Time, acked: f64, bw: f64, w: f64, round: u64) {
        let mut expected = self.start.map_or(0.0, |start| bw * now.saturating_since(start).as_secs());
        if self.start.is_none() || self.acked <= expected {
            (self.acked, self.start, expected) = (0.0, Some(now), 0.0);
        }
        self.acked += acked;
        self.max.update(EXTRA_ROUNDS, round, (self.acked - expected).min(w));
    }
}

/// (1): the rate sample, which lasts until a newer packet is acknowledged (`bandwidth::Estimator::on_ack`).
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// Bytes delivered, and lost, when its packet was sent.
    prior: u64,
    prior_lost: f64,
    interval: Duration,
    /// It is application-limited.
    pub app_limited: bool,
    /// Bytes in flight when its packet was sent.
    pub tx_in_flight: f64,
    /// Bytes delivered and lost since then.
    pub delivered: f64,
    /// Bytes lost since then.
    pub lost: f64,
}

impl RateSample {
    /// The delivery rate, bytes/s.
    #[must_use]
    pub fn rate(&self) -> f64 {
        if self.interval == Duration::ZERO {
            return 0.0;
        }
        self.delivered / self.interval.as_secs()
    }
}

/// The model, in bytes and bytes/s.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// (2): the bandwidth, bounded as of the last ACK.
    pub bw: f64,
    max_bw: KeptMax,
    cycles: u64,
    /// Rounds.
    pub rounds: Rounds,
    /// The minimum RTT.
    pub min_rtt: MinRtt,
    /// The bounds: `bw_lo`, `inflight_lo`, `inflight_hi`.
    pub bounds: Bounds,
    /// The plateau of the bandwidth.
    pub full: FullPipe,
    /// ACK aggregation.
    pub extra: ExtraAcked,
    /// The rate sample.
    pub sample: RateSample,
    deliveries: Deliveries,
    /// Start of the send interval.
    first_sent: Time,
    /// Bytes lost in total.
    pub lost: f64,
}

impl Model {
    /// The maximum of the bandwidth of two cycles, bytes/s.
    #[must_use]
    pub fn max_bw(&self) -> f64 {
        self.max_bw.get()
    }

    /// A cycle of ProbeBW ends.
    pub fn end_cycle(&mut self) {
        self.cycles += 1;
    }

    /// Data is sent while nothing was in flight.
    pub fn restart(&mut self, sent: &cwndlab_control::Sent) {
        self.deliveries.restart(sent);
        self.first_sent = sent.now;
    }

    /// (1): adds an ACK; `limited`: the algorithm itself limited the flow; `newest`: the newest acknowledged packet, if it is
    /// known.
    pub fn on_ack(&mut self, ack: &Ack, rule: SampleRule, limited: bool, newest: Option<Packet>) {
        self.rounds.started = false;
        if let Some(rate) = ack.delivery_rate {
            self.rounds.step(rate.prior_delivered.0, ack.delivered.0);
            let sent = sent_at(ack);
            let is_newer = self.sample.prior == 0 || rate.prior_delivered.0 > self.sample.prior;
            let before = self.deliveries.before(rate.prior_delivered.0);
            if is_newer || rule == SampleRule::Ack {
                self.begin_sample(ack, &rate, before, limited);
                self.first_sent = sent.unwrap_or(self.first_sent);
                if let Some(packet) = newest {
                    (self.sample.tx_in_flight, self.sample.prior_lost) = (packet.in_flight, packet.lost);
                }
            }
            self.deliveries.note(Delivery {
                delivered: ack.delivered.0,
                lost: self.lost,
                sent: ack.delivered.0 as f64 + self.lost,
                acked_at: ack.now,
                sent_at: sent.unwrap_or_default(),
                first_sent_at: self.first_sent,
            });
        }
        self.sample.delivered = ack.delivered.0.saturating_sub(self.sample.prior) as f64;
        self.sample.lost = self.lost - self.sample.prior_lost;
    }

    fn begin_sample(&mut self, ack: &Ack, rate: &DeliveryRate, before: Option<Delivery>, limited: bool) {
        let prior = rate.prior_delivered.0;
        let prior_lost = before.map_or(self.lost, |one| one.lost);
        let own = before.zip(sent_at(ack)).map(|(before, sent)| interval(ack.now, sent, &before));
        self.sample = RateSample {
            prior,
            prior_lost,
            interval: own.unwrap_or(rate.interval),
            app_limited: rate.app_limited || limited,
            tx_in_flight: ack.delivered.0.saturating_sub(prior) as f64 + self.lost - prior_lost,
            ..self.sample
        };
    }

    /// (2), (8): the signals of an ACK, and the lower bounds at the end of a loss round (`congestion::State::update`).
    pub fn update_signals(&mut self, ack: &Ack, probing: bool, w: f64, beta: f64) {
        let sample = self.sample;
        let signals = AckSample {
            valid: ack.delivery_rate.is_some(),
            bw: sample.rate(),
            delivered: sample.delivered,
            ..AckSample::default()
        };
        let prior = ack.delivery_rate.map_or(0, |rate| rate.prior_delivered.0);
        self.bounds.observe(&signals, prior, ack.delivered.0);
        if sample.rate() > self.max_bw() || !sample.app_limited {
            self.max_bw.update(BW_CYCLES, self.cycles, sample.rate());
        }
        self.bounds.adapt(probing, self.max_bw(), w, beta, None);
    }

    /// (2): the end of an ACK (`congestion::State::advance`, `bound_bw_for_model`).
    pub fn end_ack(&mut self) {
        let sample = self.sample;
        let signals = AckSample { bw: sample.rate(), delivered: sample.delivered, ..AckSample::default() };
        self.bounds.advance(&signals);
        self.bw = self.max_bw().min(self.bounds.bw_short);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::ack_at;
    use cwndlab_units::Bytes;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// `WindowedFilter::update`: by hand, with a window of two cycles. 10 of cycle 0 stays over 9 of cycle 1, and 8 of
    /// cycle 2 replaces it, where the filter of the draft has 9, of cycles 1 and 2. An equal value renews the maximum.
    #[test]
    fn the_filter_keeps_one_value() {
        let mut max = KeptMax::default();
        let values = [(0, 10.0), (1, 9.0), (2, 8.0), (3, 8.0), (4, 7.0), (5, 7.5)].map(|(cycle, value)| {
            max.update(2, cycle, value);
            max.get()
        });
        assert_eq!(values, [10.0, 10.0, 8.0, 8.0, 8.0, 7.5]);
    }

    /// `MinRttWindowedFilter::update`: by hand, 100 ms at 0 and again at 4 s, which renews it, so that ProbeRTT is due at
    /// 9 s and not at 5 s; then 120 ms is the recent minimum, and the minimum expires 10 s after 4 s.
    #[test]
    fn an_equal_rtt_renews_the_minimum() {
        let mut min = MinRtt::default();
        let seen = [(0, 100), (4, 100), (5, 120), (9, 120), (13, 130), (14, 120)].map(|(s, ms)| {
            min.update(Some(Duration::from_millis(ms)), at(s * 1000));
            (min.expired, min.get().map_or(0, |rtt| rtt.as_nanos() / 1_000_000))
        });
        let expected = [(false, 100), (false, 100), (false, 100), (true, 100), (false, 100), (true, 120)];
        assert_eq!(seen, expected);
    }

    /// An ACK at `ms` of packets of 1000 bytes, up to one that was sent at `sent` with `prior` bytes delivered.
    fn ack(ms: u64, delivered: u64, sent: u64, prior: u64) -> Ack {
        let rtt = Duration::from_millis(ms - sent);
        Ack {
            delivered: Bytes(delivered),
            rtt: Some(rtt),
            delivery_rate: Some(DeliveryRate {
                delivered: Bytes(delivered - prior),
                interval: rtt,
                prior_delivered: Bytes(prior),
                app_limited: false,
            }),
            ..ack_at(at(ms), 1)
        }
    }

    /// `bandwidth::Estimator::on_ack`: by hand. Ten packets are delivered at 100 ms; two more, sent at 100 and 120 ms, at
    /// 140 and at 160 ms. The second was sent with as much delivered as the first, whose interval of 40 ms is kept: 2000
    /// bytes in 40 ms, where draft-cheng-iccrg-delivery-rate-estimation-02 (section 3.3) has 60 ms.
    #[test]
    fn a_sample_lasts_until_a_packet_that_was_sent_after_it() {
        for (rule, rate) in [(SampleRule::Kept, 50_000.0), (SampleRule::Ack, 2000.0 / 0.06)] {
            let mut model = Model::default();
            model.on_ack(&ack(100, 10_000, 60, 0), rule, false, None);
            model.on_ack(&ack(140, 11_000, 100, 10_000), rule, false, None);
            assert_eq!(model.sample.rate(), 25_000.0);
            model.on_ack(&ack(160, 12_000, 120, 10_000), rule, false, None);
            assert!((model.sample.rate() - rate).abs() < 1e-6, "{}", model.sample.rate());
        }
    }

    /// By hand: 10,000 bytes were delivered and 3000 lost since a packet was sent: 13,000 were in flight with it.
    #[test]
    fn the_inflight_at_transmission_is_what_was_delivered_and_lost_since() {
        let mut model = Model::default();
        model.on_ack(&ack(100, 5000, 60, 0), SampleRule::Kept, false, None);
        model.lost = 3000.0;
        model.on_ack(&ack(150, 15_000, 100, 5000), SampleRule::Kept, false, None);
        assert_eq!((model.sample.tx_in_flight, model.sample.lost), (13_000.0, 3000.0));
    }

    /// `update_ack_aggregation`: by hand, at 1000 bytes per 10 ms. 3000 bytes come at once: the first begins the interval,
    /// and the excess is 3000; 10 ms later it is 3000 again, and after 50 ms a new interval begins. Its maximum lasts ten
    /// rounds.
    #[test]
    fn the_excess_of_acknowledged_bytes_lasts_ten_rounds() {
        let mut extra = ExtraAcked::default();
        for (ms, acked, round, expected) in
            [(100, 3000.0, 1, 3000.0), (110, 1000.0, 2, 3000.0), (160, 500.0, 10, 3000.0), (170, 500.0, 12, 500.0)]
        {
            extra.update(at(ms), acked, 100_000.0, 1e9, round);
            assert_eq!(extra.get(), expected, "{ms} ms");
        }
    }
}
