//! BBR version 3's response to ECN marks, which the draft leaves open, as in Google's public branch. Numbers in
//! parentheses are the equations of [`crate::whole::bbr3`].

use cwndlab_control::{Ack, Path};
use cwndlab_units::Duration;

use crate::shared::margin::below;
use crate::whole::bbr3::bounds::History;

/// Weight of a round's fraction of marks in alpha (`bbr_ecn_alpha_gain`).
const ALPHA_GAIN: f64 = 1.0 / 16.0;
/// Largest reduction of inflight_short by a round with marks (`bbr_ecn_factor`).
const FACTOR: f64 = 1.0 / 3.0;
/// Fraction of marks above which a probe goes too far (`bbr_ecn_thresh`).
pub const THRESHOLD: f64 = 0.5;
/// Consecutive rounds with such a fraction that end Startup (`bbr_full_ecn_cnt`).
const FULL_ROUNDS: u32 = 2;
/// Growth of inflight_long in the first round of a probe that follows marks, as its fraction (`bbr_ecn_reprobe_gain`).
const REPROBE_GAIN: f64 = 0.5;

/// The state of the response.
#[derive(Clone, Debug)]
pub struct Ecn {
    /// The receiver echoes each mark: not so with classic ECN.
    accurate: bool,
    /// The minimum RTT was small enough once (`ecn_eligible`).
    pub eligible: bool,
    /// Moving average of the fraction of marks per round.
    pub alpha: f64,
    history: History,
    /// Bytes delivered, and those that were marked.
    delivered: u64,
    marked: u64,
    /// The same at the last update of alpha.
    updated: (u64, u64),
    /// Consecutive rounds of Startup with a large fraction of marks (`startup_ecn_rounds`).
    startup_rounds: u32,
    /// Marks in the loss round, and in the cycle.
    in_round: bool,
    in_cycle: bool,
    loss_in_cycle: bool,
    /// The amount delivered at which the reduction after the last mark ends (Linux: state CWR).
    cwr_end: u64,
}

impl Ecn {
    /// The state at the start of a flow.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        Self {
            accurate: !path.classic_ecn,
            eligible: false,
            alpha: 1.0,
            history: History::default(),
            delivered: 0,
            marked: 0,
            updated: (0, 0),
            startup_rounds: 0,
            in_round: false,
            in_cycle: false,
            loss_in_cycle: false,
            cwr_end: 0,
        }
    }

    /// Adds an ACK; `round`: a round began. Returns the segments that were delivered with a mark in the interval of the
    /// sample.
    pub fn on_ack(&mut self, ack: &Ack, round: bool, min_rtt: Option<Duration>, max_rtt: Option<Duration>) -> f64 {
        let mss = ack.mss.0 as f64;
        (self.delivered, self.marked) = (ack.delivered.0, self.marked + ack.ce.0);
        if round {
            let low = max_rtt.is_none_or(|max| min_rtt.is_some_and(|rtt| rtt <= max));
            self.eligible |= self.accurate && low;
            self.update_alpha();
        }
        if ack.ce.0 > 0 {
            self.history.note(ack.delivered.0, ack.ce.0 as f64 / mss);
            self.in_round |= self.eligible;
            if ack.delivered.0 >= self.cwr_end {
                self.cwr_end = ack.delivered.0 + ack.in_flight.0;
            }
        }
        match ack.delivery_rate {
            Some(sample) if self.eligible => self.history.since(sample.prior_delivered.0),
            _ => 0.0,
        }
    }

    /// (12), and the rounds of Startup with many marks.
    fn update_alpha(&mut self) {
        let delivered = self.delivered - self.updated.0;
        if !self.eligible || delivered == 0 {
            return;
        }
        let fraction = ((self.marked - self.updated.1) as f64 / delivered as f64).min(1.0);
        self.updated = (self.delivered, self.marked);
        self.alpha += ALPHA_GAIN * (fraction - self.alpha);
        self.startup_rounds = if below(fraction, THRESHOLD) { 0 } else { self.startup_rounds + 1 };
    }

    /// Two rounds of Startup had too many marks.
    #[must_use]
    pub fn ends_startup(&self) -> bool {
        self.startup_rounds >= FULL_ROUNDS
    }

    /// (13): the factor of inflight_short at the end of a loss round outside of probes, if packets were marked in it.
    #[must_use]
    pub fn cut(&self) -> Option<f64> {
        self.in_round.then_some(1.0 - self.alpha * FACTOR)
    }

    /// A loss round has ended.
    pub fn end_round(&mut self) {
        self.in_round = false;
    }

    /// At the end of an ACK, with the segments that were lost and marked in the interval of its sample.
    pub fn end_ack(&mut self, lost: f64, marked: f64) {
        self.loss_in_cycle |= lost > 0.0;
        self.in_cycle |= marked > 0.0;
    }

    /// Resets the signals, after a probe.
    pub fn reset_signals(&mut self) {
        (self.in_round, self.in_cycle, self.loss_in_cycle) = (false, false, false);
    }

    /// (14): the cycle had marks and no losses, and the marks have ceased. Returns the exponent of the first increase of
    /// `inflight_long`, segments, by powers of two per round.
    #[must_use]
    pub fn reprobes(&self, inflight_long: f64) -> Option<u32> {
        let ceased = self.delivered >= self.cwr_end;
        let due = self.eligible && self.in_cycle && !self.loss_in_cycle && ceased;
        due.then(|| ((inflight_long * REPROBE_GAIN).clamp(1.0, f64::from(1u32 << 30)) as u32).ilog2())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack_at, path};
    use cwndlab_units::{Bytes, Time};

    const MS: fn(u64) -> Option<Duration> = |ms| Some(Duration::from_millis(ms));

    /// An ACK of ten segments of 1000 bytes, `marked` of which have a mark.
    fn round(flow: &mut Ecn, count: u64, marked: u64, rtt: u64) {
        let mut ack = ack_at(Time::from_nanos(count * 1_000_000), 10);
        (ack.mss, ack.delivered, ack.ce) = (Bytes(1000), Bytes(count * 10_000), Bytes(marked * 1000));
        flow.on_ack(&ack, true, MS(rtt), MS(5));
    }

    /// By hand, `bbr_update_ecn_alpha`: from 1 without marks 15/16 and (15/16)²; with half of the packets marked
    /// 15/16 + 1/32 = 0.96875, then 0.93945.
    #[test]
    fn alpha_moves_by_a_sixteenth_per_round() {
        for (marked, expected) in [(0, [0.9375, 0.878_906_25]), (5, [0.968_75, 0.939_453_125])] {
            let mut flow = Ecn::new(&path(10));
            let alpha = [1, 2].map(|count| {
                round(&mut flow, count, marked, 5);
                flow.alpha
            });
            assert_eq!(alpha, expected);
        }
    }

    /// `bbr_ecn_max_rtt_us`: 5 ms make a flow eligible, 6 ms do not; what was eligible once remains so.
    #[test]
    fn marks_count_with_short_rtts_only() {
        let mut flow = Ecn::new(&path(10));
        let eligible = [6, 5, 50].map(|rtt| {
            round(&mut flow, rtt, 0, rtt);
            flow.eligible
        });
        assert_eq!(eligible, [false, true, true]);
    }

    /// The receiver's echoes of classic ECN do not count marks.
    #[test]
    fn classic_ecn_is_not_eligible() {
        let mut path = path(10);
        path.classic_ecn = true;
        let mut flow = Ecn::new(&path);
        round(&mut flow, 1, 10, 1);
        assert!(!flow.eligible && flow.cut().is_none());
    }

    /// By hand, `bbr_full_ecn_cnt` and `bbr_ecn_thresh`: two consecutive rounds with half of the packets marked.
    #[test]
    fn two_rounds_with_half_of_the_packets_marked_end_startup() {
        let mut flow = Ecn::new(&path(10));
        let ends = [5, 4, 5, 5].iter().zip(1..).map(|(&marked, count)| {
            round(&mut flow, count, marked, 1);
            flow.ends_startup()
        });
        assert_eq!(ends.collect::<Vec<_>>(), [false, false, false, true]);
    }

    /// By hand, `bbr_ecn_cut`: alpha 1 leaves two thirds, alpha 1/2 five sixths.
    #[test]
    fn the_reduction_is_a_third_of_alpha() {
        let mut flow = Ecn::new(&path(10));
        round(&mut flow, 1, 10, 1);
        assert!((flow.cut().unwrap() - 2.0 / 3.0).abs() < 1e-12);
        flow.alpha = 0.5;
        assert!((flow.cut().unwrap() - 5.0 / 6.0).abs() < 1e-12);
    }

    /// By hand, `bbr_check_time_to_probe_bw`: with inflight_long 100 the first increase is 2⁵ = 32, the power of two
    /// below 50; without a bound it is 2³⁰. Losses in the cycle prevent it, and marks until a round without them.
    #[test]
    fn after_marks_without_losses_the_next_probe_comes_at_once() {
        let mut flow = Ecn::new(&path(10));
        round(&mut flow, 1, 1, 1);
        flow.end_ack(0.0, 1.0);
        flow.cwr_end = 15_000;
        assert_eq!(flow.reprobes(100.0), None);
        round(&mut flow, 2, 0, 1);
        assert_eq!([100.0, f64::INFINITY].map(|long| flow.reprobes(long)), [Some(5), Some(30)]);
        flow.end_ack(1.0, 0.0);
        assert_eq!(flow.reprobes(100.0), None);
    }
}
