//! BBR version 3's short-term and long-term bounds from losses. Numbers in parentheses are the equations of
//! [`crate::whole::bbr3`].

use std::collections::VecDeque;

use cwndlab_control::Ack;

use crate::shared::margin::above;
use crate::whole::bbr3::ecn;

/// Cumulative losses, or marks, by amount delivered, for the ACKs that reported some within the last round trip.
///
/// A rate sample contains the amount delivered when its segment was sent. The history gives the losses since then.
/// Without reordering, the data in flight when the segment was sent is the sum of deliveries and losses since then.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Bytes delivered, and segments lost in total, at an ACK with losses.
    entries: VecDeque<(u64, f64)>,
    total: f64,
    /// Losses before the first entry.
    before: f64,
}

impl History {
    /// Adds `lost` segments, lost when `delivered` bytes were delivered.
    pub fn note(&mut self, delivered: u64, lost: f64) {
        self.total += lost;
        self.entries.push_back((delivered, self.total));
    }

    /// Segments lost since `prior` bytes were delivered, which does not decrease from call to call. Forgets earlier
    /// losses.
    #[inline]
    #[must_use]
    pub fn since(&mut self, prior: u64) -> f64 {
        while let Some(&(_, total)) = self.entries.front().filter(|(delivered, _)| *delivered <= prior) {
            self.before = total;
            self.entries.pop_front();
        }
        self.total - self.before
    }
}

/// The rate sample of one ACK, in segments and segments/s.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckSample {
    /// The ACK has a rate sample.
    pub valid: bool,
    /// Delivery rate of the sample.
    pub bw: f64,
    /// Delivered in the interval of the sample.
    pub delivered: f64,
    /// In flight when the segment of the sample was sent.
    pub tx_in_flight: f64,
    /// Lost since then.
    pub lost: f64,
    /// Losses detected by this ACK.
    pub losses: f64,
    /// The sample is application-limited.
    pub app_limited: bool,
    /// Delivered with a mark in the interval of the sample; zero without a response to ECN.
    pub marked: f64,
}

impl AckSample {
    /// The sample of an ACK that reports `losses` segments; `limited`: the algorithm itself, in ProbeRTT, limited the
    /// flow.
    #[inline]
    #[must_use]
    pub fn of(ack: &Ack, losses: f64, loss_history: &mut History, mss: f64, limited: bool) -> Self {
        let Some(sample) = ack.delivery_rate else { return Self { losses, ..Self::default() } };
        let delivered = sample.delivered.0 as f64 / mss;
        let lost = loss_history.since(sample.prior_delivered.0);
        Self {
            valid: true,
            bw: delivered / sample.interval.as_secs(),
            delivered,
            tx_in_flight: delivered + lost,
            lost,
            losses,
            app_limited: sample.app_limited || limited,
            marked: 0.0,
        }
    }

    /// (7): the losses exceed the threshold, or the marks theirs.
    #[inline]
    #[must_use]
    pub fn too_high(&self, threshold: f64) -> bool {
        (self.lost > 0.0 && above(self.lost, self.tx_in_flight * threshold)) || self.too_many_marks()
    }

    /// (7): the marks exceed their threshold.
    #[inline]
    #[must_use]
    pub fn too_many_marks(&self) -> bool {
        self.marked > 0.0 && above(self.marked, self.delivered * ecn::THRESHOLD)
    }

    /// The inflight at which losses exceeded the threshold, where the losses of this ACK were sent last.
    #[must_use]
    pub fn flight_at_loss(&self, threshold: f64) -> f64 {
        let size = self.losses.max(1.0);
        let flight = (self.tx_in_flight - size).max(0.0);
        let lost = (self.lost - size).max(0.0);
        let prefix = (threshold * flight - lost) / (1.0 - threshold);
        flight + prefix.max(0.0)
    }
}

/// The bounds, segments and segments/s; infinite where there is no bound.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Short-term bound of the bandwidth.
    pub bw_short: f64,
    /// Short-term bound of the inflight.
    pub inflight_short: f64,
    /// Long-term bound of the inflight.
    pub inflight_long: f64,
    /// Maximum delivery rate of the round.
    pub bw_latest: f64,
    /// Maximum amount delivered in the interval of a sample of the round.
    pub inflight_latest: f64,
    /// A loss round began with this ACK.
    pub round_started: bool,
    /// ACKs with losses in the round.
    pub loss_events: u32,
    /// A loss was detected in this loss round.
    pub loss_in_round: bool,
    round_end: u64,
    /// `bw_short`, `inflight_short` and `inflight_long` before the loss.
    pub undo: (f64, f64, f64),
}

impl Default for Bounds {
    fn default() -> Self {
        let none = f64::INFINITY;
        Self {
            bw_short: none,
            inflight_short: none,
            inflight_long: none,
            bw_latest: 0.0,
            inflight_latest: 0.0,
            round_started: false,
            loss_events: 0,
            loss_in_round: false,
            round_end: 1,
            undo: (0.0, 0.0, 0.0),
        }
    }
}

impl Bounds {
    /// Adds an ACK to the maxima of the round. A loss round begins with its first loss.
    #[inline]
    pub fn observe(&mut self, ack_sample: &AckSample, prior_delivered: u64, delivered: u64) {
        if ack_sample.losses > 0.0 {
            self.on_loss(delivered);
        }
        self.round_started = false;
        if ack_sample.valid {
            self.bw_latest = self.bw_latest.max(ack_sample.bw);
            self.inflight_latest = self.inflight_latest.max(ack_sample.delivered);
            if prior_delivered >= self.round_end {
                self.round_end = delivered;
                self.round_started = true;
            }
        }
    }

    /// A loss, when `delivered` bytes are delivered.
    pub fn on_loss(&mut self, delivered: u64) {
        self.loss_events += 1;
        if !self.loss_in_round {
            self.round_end = delivered;
        }
        self.loss_in_round = true;
    }

    /// (8), at the end of a loss round outside of probes; `cut` is the factor (13) of a round with marks.
    #[inline]
    pub fn adapt(&mut self, probing: bool, max_bw: f64, w: f64, beta: f64, cut: Option<f64>) {
        if !self.round_started {
            return;
        }
        let flight = if self.inflight_short.is_finite() { self.inflight_short } else { w };
        if self.loss_in_round && !probing {
            let bw = if self.bw_short.is_finite() { self.bw_short } else { max_bw };
            self.bw_short = self.bw_latest.max(beta * bw);
            self.inflight_short = self.inflight_latest.max(beta * flight);
        }
        if let Some(cut) = cut.filter(|_| !probing) {
            self.inflight_short = self.inflight_short.min(cut * flight);
        }
        self.loss_in_round = false;
    }

    /// At the end of an ACK: a new round resets the maxima.
    #[inline]
    pub fn advance(&mut self, ack_sample: &AckSample) {
        if self.round_started {
            (self.bw_latest, self.inflight_latest) = (ack_sample.bw, ack_sample.delivered);
            self.loss_events = 0;
        }
    }

    /// Resets the signals of the round, after a probe.
    pub fn reset_signals(&mut self) {
        self.loss_in_round = false;
        (self.bw_latest, self.inflight_latest) = (0.0, 0.0);
    }

    /// Removes the short-term bounds.
    pub fn reset_short_term(&mut self) {
        (self.bw_short, self.inflight_short) = (f64::INFINITY, f64::INFINITY);
    }

    /// Saves the bounds before a loss.
    pub fn save(&mut self) {
        self.undo = (self.bw_short, self.inflight_short, self.inflight_long);
    }

    /// Restores the saved bounds after a spurious loss detection.
    pub fn undo(&mut self) {
        self.loss_in_round = false;
        self.bw_short = self.bw_short.max(self.undo.0);
        self.inflight_short = self.inflight_short.max(self.undo.1);
        self.inflight_long = self.inflight_long.max(self.undo.2);
    }

    /// (9): the long-term bound less the headroom, at least `floor`.
    #[must_use]
    pub fn with_headroom(&self, headroom: f64, floor: f64) -> f64 {
        if self.inflight_long.is_infinite() {
            return self.inflight_long;
        }
        (self.inflight_long - (headroom * self.inflight_long).max(1.0)).max(floor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reference values: 3 lost of 100 in flight exceed the threshold, 2 do not.
    #[test]
    fn losses_above_two_percent_exceed_the_threshold() {
        let ack_sample = |lost| AckSample { lost, tx_in_flight: 100.0, ..AckSample::default() };
        assert!(ack_sample(3.0).too_high(0.02) && !ack_sample(2.0).too_high(0.02));
    }

    /// Reference values: 85 of 100 segments remain.
    #[test]
    fn headroom_is_fifteen_percent() {
        let bounds = Bounds { inflight_long: 100.0, ..Bounds::default() };
        assert_eq!(bounds.with_headroom(0.15, 4.0), 85.0);
    }

    /// By hand: losses at 10, 20 and 30 kB.
    #[test]
    fn the_history_gives_the_losses_since_an_amount_delivered() {
        let mut history = History::default();
        for (at, lost) in [(10, 1.0), (20, 2.0), (30, 3.0)] {
            history.note(at * 1000, lost);
        }
        assert_eq!([0, 10_000, 19_999, 30_000].map(|prior| history.since(prior)), [6.0, 5.0, 5.0, 0.0]);
    }

    /// By hand: a thousand ACKs of a round trip, each with one loss.
    #[test]
    fn the_history_holds_the_losses_of_a_large_window() {
        let mut history = History::default();
        (1..=1000).for_each(|at| history.note(at * 1000, 1.0));
        assert_eq!([0, 400_000].map(|prior| history.since(prior)), [1000.0, 600.0]);
    }

    /// By hand: two rounds with losses reduce bounds of 100 to 70 and 49, where less was delivered.
    #[test]
    fn a_round_with_losses_reduces_the_bounds_once() {
        let mut bounds = Bounds::default();
        let ack_sample = AckSample { valid: true, losses: 1.0, bw: 10.0, delivered: 10.0, ..AckSample::default() };
        for (round, bound) in [(1, 70.0), (2, 49.0)] {
            bounds.observe(&ack_sample, 0, 1000 * round);
            bounds.observe(&AckSample { losses: 0.0, ..ack_sample }, 1000 * round, 1000 * round + 500);
            bounds.adapt(false, 100.0, 100.0, 0.7, None);
            bounds.advance(&ack_sample);
            assert!((bounds.bw_short - bound).abs() < 1e-9 && (bounds.inflight_short - bound).abs() < 1e-9);
        }
    }

    /// By hand, `bbr_ecn_lower_bounds`: marks alone reduce the inflight, by 1 - alpha/3, and not the bandwidth. With
    /// losses, after which 100 segments would be 70, the lower value counts. In a probe neither does.
    #[test]
    fn a_round_with_marks_reduces_the_inflight() {
        for (lost, probing, cut, inflight) in [
            (0.0, false, 2.0 / 3.0, 200.0 / 3.0),
            (1.0, false, 0.9, 70.0),
            (1.0, false, 2.0 / 3.0, 200.0 / 3.0),
            (1.0, true, 2.0 / 3.0, f64::INFINITY),
        ] {
            let mut bounds = Bounds::default();
            let ack_sample = AckSample { valid: true, losses: lost, bw: 10.0, delivered: 10.0, ..AckSample::default() };
            bounds.observe(&ack_sample, 0, 1000);
            bounds.observe(&AckSample { losses: 0.0, ..ack_sample }, 1000, 1500);
            bounds.adapt(probing, 100.0, 100.0, 0.7, Some(cut));
            assert!((bounds.inflight_short - inflight).abs() < 1e-9 || bounds.inflight_short == inflight);
            assert_eq!(bounds.bw_short.is_finite(), lost > 0.0 && !probing);
        }
    }

    /// By hand, `bbr_is_inflight_too_high`: 51 marks of 100 segments exceed the threshold, 50 do not.
    #[test]
    fn marks_of_more_than_half_exceed_the_threshold() {
        let ack_sample = |marked| AckSample { marked, delivered: 100.0, tx_in_flight: 100.0, ..AckSample::default() };
        assert!(ack_sample(51.0).too_high(0.02) && !ack_sample(50.0).too_high(0.02));
    }

    proptest! {
        /// (7): losses of exactly the threshold do not exceed it.
        #[test]
        fn losses_of_two_percent_do_not_exceed_the_threshold(lost in 1u32..10_000) {
            let ack_sample = |lost: f64| AckSample { lost, tx_in_flight: lost * 50.0, ..AckSample::default() };
            prop_assert!(!ack_sample(f64::from(lost)).too_high(0.02));
        }
    }
}
