//! quiche's model of the path (`BBRv2NetworkModel`, `BandwidthSampler`). Numbers in parentheses are the equations of
//! [`crate::whole::bbr2_quiche`]; functions in parentheses are those of quiche 0.30.0, src/recovery/gcongestion.

use cwndlab_control::{Ack, DeliveryRate, Sent};
use cwndlab_units::{Duration, Time};

use crate::shared::bbr::Rounds;
use crate::shared::deliveries::{sent_at, Deliveries, Delivery};
use crate::whole::bbr2_quiche::heights::{AckHeights, Acked};
use crate::whole::bbr3::bounds::{AckSample, Bounds};
use crate::whole::bbr3::path_model::MaxBw;

/// The RTT before the first sample (`RecoveryConfig::initial_rtt`).
pub const INITIAL_RTT: Duration = Duration::from_millis(333);
/// Segments of quiche's model have this size, whatever the packets have (`DEFAULT_MSS`), bytes.
pub const SEGMENT: f64 = 1300.0;
/// (4): growth of the bandwidth in a round, and the rounds without it.
const GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// Bytes above the BDP that count as a queue (`queueing_threshold_extra_bytes`).
const QUEUE: f64 = 2.0 * SEGMENT;
/// The age at which the minimum of the RTT expires (`probe_rtt_period`).
const MIN_RTT_AGE: Duration = Duration::from_secs(10);

/// An ACK with the losses that it shows (`BBRv2CongestionEvent`). Amounts in bytes.
#[derive(Clone, Copy, Debug)]
pub struct AckEvent {
    /// Time.
    pub now: Time,
    /// The window before it.
    pub w: f64,
    /// In flight before it.
    pub prior_in_flight: f64,
    /// In flight after it.
    pub in_flight: f64,
    /// Newly acknowledged.
    pub acked: f64,
    /// Newly lost.
    pub lost: f64,
    /// It ends a round.
    pub ends_round: bool,
    /// The RTT of its newest packet.
    pub rtt: Option<Duration>,
    /// The newest packet, if the ACK has a sample.
    pub packet: Option<Packet>,
}

impl AckEvent {
    /// The newest packet was sent while the application limited the flow.
    #[must_use]
    pub fn is_app_limited(&self) -> bool {
        self.packet.is_some_and(|one| one.app_limited)
    }
}

/// The newest acknowledged packet (`SendTimeState`).
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// (1): its rate sample, bytes/s.
    pub bw: f64,
    /// The application limited the flow when it was sent.
    pub app_limited: bool,
    /// Bytes in flight when it was sent.
    pub tx_in_flight: f64,
    /// Bytes delivered since then.
    pub delivered: f64,
}

/// What happened in the current round (`on_new_round`). Amounts in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// Lost.
    pub lost: f64,
    /// Events with losses.
    pub loss_events: u32,
    /// Maximum of what was delivered since a packet was sent.
    pub delivered: f64,
    /// Minimum in flight.
    pub least_in_flight: f64,
}

impl Default for Round {
    fn default() -> Self {
        Self { lost: 0.0, loss_events: 0, delivered: 0.0, least_in_flight: f64::INFINITY }
    }
}

/// (4): the plateau of the bandwidth, and the queue that stays.
#[derive(Clone, Copy, Debug, Default)]
pub struct Full {
    baseline: f64,
    rounds: u32,
    /// The bandwidth was at a plateau.
    pub reached: bool,
    /// Rounds in which the queue never drained.
    pub queue_rounds: u32,
}

/// The model, in bytes and bytes/s.
#[derive(Clone, Debug)]
pub struct Model {
    /// (2).
    pub max_bw: MaxBw,
    /// `bandwidth_lo`, `inflight_lo`, `inflight_hi`, and the maxima of the round.
    pub bounds: Bounds,
    /// The minimum RTT, and the time from which its age counts.
    pub min_rtt: (Duration, Time),
    /// Rounds.
    pub rounds: Rounds,
    /// The current round.
    pub round: Round,
    /// The plateau.
    pub full: Full,
    /// ACK aggregation.
    pub heights: AckHeights,
    deliveries: Deliveries,
    lost: f64,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            max_bw: MaxBw::default(),
            bounds: Bounds::default(),
            min_rtt: (INITIAL_RTT, Time::ZERO),
            rounds: Rounds::default(),
            round: Round::default(),
            full: Full::default(),
            heights: AckHeights::default(),
            deliveries: Deliveries::default(),
            lost: 0.0,
        }
    }
}

impl Model {
    /// (2): the estimated bandwidth.
    #[must_use]
    pub fn bw(&self) -> f64 {
        self.max_bw.get().min(self.bounds.bw_short)
    }

    /// `bdp`.
    #[must_use]
    pub fn bdp(&self, bw: f64, gain: f64) -> f64 {
        gain * bw * self.min_rtt.0.as_secs()
    }

    /// The BDP of the maximum of the bandwidth (`bdp0`).
    #[must_use]
    pub fn max_bdp(&self) -> f64 {
        self.bdp(self.max_bw.get(), 1.0)
    }

    /// inflight_hi less the headroom.
    #[must_use]
    pub fn with_headroom(&self, headroom: f64) -> f64 {
        (1.0 - headroom) * self.bounds.inflight_long
    }

    /// Data is sent.
    pub fn on_sent(&mut self, sent: &Sent) {
        let before = sent.in_flight.0.saturating_sub(sent.size.0);
        self.round.least_in_flight = self.round.least_in_flight.min(before as f64);
        if before == 0 {
            self.deliveries.restart(sent);
        }
    }

    /// Adds a sample of the RTT.
    pub fn on_rtt(&mut self, rtt: Duration, now: Time) {
        if rtt < self.min_rtt.0 {
            self.min_rtt = (rtt, now);
        }
    }

    /// Adds an ACK that shows `lost` bytes to be lost (`on_congestion_event_start`). `probing`: the flow probes for
    /// bandwidth.
    pub fn on_ack(&mut self, ack: &Ack, lost: f64, w: f64, probing: bool, beta: f64) -> AckEvent {
        self.lost += lost;
        self.rounds.started = false;
        let packet = ack.delivery_rate.map(|rate| {
            self.rounds.step(rate.prior_delivered.0, ack.delivered.0);
            let packet = self.packet(ack, &rate);
            self.on_bandwidth(ack, &rate, &packet);
            packet
        });
        if let Some(rtt) = ack.rtt {
            self.on_rtt(rtt, ack.now);
        }
        let event = AckEvent {
            now: ack.now,
            w,
            prior_in_flight: ack.prior_in_flight.0 as f64,
            in_flight: ack.in_flight.0 as f64,
            acked: ack.acked.0 as f64,
            lost,
            ends_round: self.rounds.started,
            rtt: ack.rtt,
            packet,
        };
        self.end_signals(&event, probing, beta);
        event
    }

    /// (1) (`on_packet_acknowledged`).
    fn packet(&mut self, ack: &Ack, rate: &DeliveryRate) -> Packet {
        let prior = rate.prior_delivered.0;
        let delivered = ack.delivered.0.saturating_sub(prior) as f64;
        let sent = sent_at(ack);
        let sent_bytes = ack.delivered.0 as f64 + self.lost;
        let before = self.deliveries.before(prior);
        let own = before.zip(sent).map(|(before, sent)| {
            let ack_interval = ack.now.saturating_since(before.acked_at.min(sent)).as_secs();
            let send_interval = sent.saturating_since(before.sent_at).as_secs();
            let send_rate =
                if send_interval > 0.0 { (sent_bytes - before.sent) / send_interval } else { f64::INFINITY };
            if ack_interval > 0.0 {
                (delivered / ack_interval).min(send_rate)
            } else {
                0.0
            }
        });
        let sent_at = sent.unwrap_or_default();
        self.deliveries.note(Delivery {
            delivered: ack.delivered.0,
            lost: self.lost,
            sent: sent_bytes,
            acked_at: ack.now,
            sent_at,
            first_sent_at: sent_at,
        });
        Packet {
            bw: own.unwrap_or_else(|| delivered / rate.interval.as_secs()),
            app_limited: rate.app_limited,
            tx_in_flight: delivered + self.lost - before.map_or(self.lost, |one| one.lost),
            delivered,
        }
    }

    /// (2), and ACK aggregation, which has the maximum with this sample.
    fn on_bandwidth(&mut self, ack: &Ack, rate: &DeliveryRate, packet: &Packet) {
        let max_bw = self.max_bw.get();
        let acked = Acked {
            now: ack.now,
            bytes: ack.acked.0 as f64,
            prior: rate.prior_delivered.0,
            delivered: ack.delivered.0,
            round: self.rounds.count,
        };
        self.heights.update(&acked, max_bw.max(packet.bw).min(self.bounds.bw_short), packet.bw > max_bw);
        self.max_bw.update(packet.bw, packet.app_limited);
    }

    /// What happened in the round, and (8) at its end (`adapt_lower_bounds`).
    fn end_signals(&mut self, event: &AckEvent, probing: bool, beta: f64) {
        self.note_losses(event.lost);
        let (bw, delivered) = event.packet.map_or((0.0, 0.0), |one| (one.bw, one.delivered));
        let round = &mut self.round;
        round.delivered = round.delivered.max(delivered);
        round.least_in_flight = round.least_in_flight.min(event.in_flight);
        let bounds = &mut self.bounds;
        bounds.bw_latest = bounds.bw_latest.max(bw);
        bounds.inflight_latest = bounds.inflight_latest.max(delivered);
        (bounds.round_started, bounds.loss_in_round) = (event.ends_round, round.lost > 0.0);
        bounds.adapt(probing, self.max_bw.get(), event.w, beta, None);
        bounds.advance(&AckSample { bw, delivered, ..AckSample::default() });
    }

    fn note_losses(&mut self, lost: f64) {
        self.round.lost += lost;
        self.round.loss_events += u32::from(lost > 0.0);
    }

    /// A round begins before the last one has ended (`restart_round_early`).
    pub fn restart_round(&mut self, delivered: u64) {
        self.round = Round::default();
        self.rounds.restart(delivered);
        self.full.queue_rounds = 0;
    }

    /// The end of an ACK (`on_congestion_event_finish`).
    pub fn end_ack(&mut self, event: &AckEvent) {
        if event.ends_round {
            self.round = Round::default();
        }
    }

    /// (4) (`has_bandwidth_growth`).
    pub fn has_growth(&mut self, event: &AckEvent) -> bool {
        let bw = self.max_bw.get();
        if bw >= self.full.baseline * GROWTH {
            (self.full.baseline, self.full.rounds) = (bw, 0);
            return true;
        }
        if event.packet.is_some() && !event.is_app_limited() {
            self.full.rounds += 1;
            self.full.reached |= self.full.rounds >= FULL_ROUNDS;
        }
        false
    }

    /// Whether the queue stayed for two rounds, at this multiple of the BDP or more (`check_persistent_queue`).
    pub fn has_queue(&mut self, gain: f64, rounds: u32) -> bool {
        let limit = (gain * self.max_bdp()).max(self.max_bdp() + QUEUE);
        let stays = self.round.least_in_flight >= limit;
        self.full.queue_rounds = if stays { self.full.queue_rounds + 1 } else { 0 };
        self.full.queue_rounds >= rounds
    }

    /// (4), (7): the losses of the round are too many (`is_inflight_too_high`).
    #[must_use]
    pub fn is_too_high(&self, event: &AckEvent, events: u32, threshold: f64) -> bool {
        let Some(packet) = event.packet else { return false };
        let in_flight = packet.tx_in_flight;
        self.round.loss_events >= events && in_flight > 0.0 && self.round.lost > (in_flight * threshold).floor()
    }

    /// (9): the minimum of the RTT is too old, and the sample of this ACK replaces it (`maybe_expire_min_rtt`).
    pub fn expires(&mut self, event: &AckEvent) -> bool {
        let Some(rtt) = event.rtt.filter(|_| event.now >= self.min_rtt.1 + MIN_RTT_AGE) else { return false };
        self.min_rtt = (rtt, event.now);
        true
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

    fn model() -> Model {
        Model::default()
    }

    fn event(model: &mut Model, ack: &Ack, lost: f64) -> AckEvent {
        model.on_ack(ack, lost, 100_000.0, false, 0.7)
    }

    /// `BandwidthSampler::on_packet_acknowledged`: by hand. A packet is sent at 100 ms, 40 ms after the last acknowledged
    /// one, and acknowledged at 150 ms: 4000 bytes in 50 ms since the last ACK before. With 2000 of them lost, 6000 were
    /// sent in 40 ms, which is more. Sent 100 ms after the other, the 4000 bytes are those of 100 ms.
    #[test]
    fn a_sample_is_the_lower_of_send_and_ack_rate() {
        for (first_sent, lost, bw) in [(60, 0.0, 80_000.0), (60, 2000.0, 80_000.0), (0, 0.0, 40_000.0)] {
            let mut model = model();
            event(&mut model, &ack(100, 10_000, first_sent, 0), 0.0);
            let last = event(&mut model, &ack(150, 14_000, 100, 10_000), lost);
            let packet = last.packet.expect("the ACK has a sample");
            assert!((packet.bw - bw).abs() < 1e-6, "{}", packet.bw);
            assert_eq!(packet.tx_in_flight, 4000.0 + lost);
        }
    }

    /// `has_bandwidth_growth`: by hand, 10 and 12.5 kB/s are growth; then three rounds at 15 kB/s fill the pipe, of which
    /// one that the application limits does not count.
    #[test]
    fn the_pipe_is_full_after_three_rounds_without_growth() {
        let mut model = model();
        let mut last = event(&mut model, &ack(100, 10_000, 60, 0), 0.0);
        model.max_bw = MaxBw::default();
        let rounds = [(10_000.0, false), (12_500.0, false), (15_000.0, false), (15_000.0, true), (15_000.0, false)];
        for (bw, app_limited) in rounds {
            model.max_bw.update(bw, false);
            last.packet = last.packet.map(|one| Packet { app_limited, ..one });
            assert_eq!(model.has_growth(&last), bw < 15_000.0);
            assert!(!model.full.reached);
        }
        last.packet = last.packet.map(|one| Packet { app_limited: false, ..one });
        assert!(!model.has_growth(&last) && model.full.reached);
    }

    /// `is_inflight_too_high`: by hand, of 100 kB in flight 1500 bytes may be lost, in any number of events, or more in one.
    #[test]
    fn two_events_with_more_than_one_and_a_half_percent_are_too_many() {
        for (lost, events, too_high) in [(750.0, 2, false), (800.0, 2, true), (5000.0, 1, false)] {
            let mut model = model();
            let mut last = event(&mut model, &ack(100, 10_000, 60, 0), 0.0);
            last.packet = last.packet.map(|one| Packet { tx_in_flight: 100_000.0, ..one });
            (0..events).for_each(|_| model.note_losses(lost));
            assert_eq!(model.is_too_high(&last, 2, 0.015), too_high, "{events} times {lost}");
        }
    }

    /// `adapt_lower_bounds`: by hand, a round with losses at 10 kB/s, where the maximum is 80 kB/s, leaves 0.7 of it, and
    /// of the window of 100 kB.
    #[test]
    fn a_round_with_losses_sets_the_lower_bounds() {
        let mut model = model();
        event(&mut model, &ack(100, 10_000, 60, 0), 0.0);
        model.max_bw.update(80_000.0, false);
        (model.bounds.bw_latest, model.max_bw) = (0.0, {
            let mut max = MaxBw::default();
            max.update(80_000.0, false);
            max
        });
        event(&mut model, &ack(200, 11_000, 100, 10_000), 1000.0);
        assert!((model.bounds.bw_short - 56_000.0).abs() < 1e-6);
        assert!((model.bounds.inflight_short - 70_000.0).abs() < 1e-6);
        assert!((model.bw() - 56_000.0).abs() < 1e-6);
    }

    /// `check_persistent_queue`: by hand, 100 kB/s and 100 ms are 10,000 bytes. Two rounds with at least 12,600 in flight
    /// all the time, the BDP and two segments of 1300, are a queue; 12,500 are not, although they are 1.25 BDP.
    #[test]
    fn a_queue_that_stays_for_two_rounds_is_found() {
        for (in_flight, expected) in [(12_600.0, [false, true]), (12_500.0, [false, false])] {
            let mut model = model();
            model.max_bw.update(100_000.0, false);
            model.min_rtt = (Duration::from_millis(100), at(0));
            let found = [1, 2].map(|_| {
                model.round = Round { least_in_flight: in_flight, ..Round::default() };
                model.has_queue(1.25, 2)
            });
            assert_eq!(found, expected, "{in_flight}");
        }
    }

    /// `maybe_expire_min_rtt`: the minimum expires 10 s after its sample, and a longer RTT replaces it then.
    #[test]
    fn the_minimum_of_the_rtt_expires_after_ten_seconds() {
        let mut model = model();
        event(&mut model, &ack(100, 1000, 60, 0), 0.0);
        let seen = [(10_099, false, 40), (10_100, true, 50)].map(|(ms, expires, least)| {
            let last = event(&mut model, &ack(ms, 2000, ms - 50, 1000), 0.0);
            (model.expires(&last), model.min_rtt.0) == (expires, Duration::from_millis(least))
        });
        assert_eq!(seen, [true, true]);
    }
}
