//! SUSS: up to fourfold growth per round trip, while the ACK train and the RTT show that doubling would not fill the path.
//!
//! Source: M. Arghavani, H. Zhang, D. Eyers, A. Arghavani, "SUSS: Improving TCP Performance by Speeding Up Slow-Start",
//! SIGCOMM 2024; `tcp_cubic.c` of its authors (SUSSdeveloper/SUSS, dc2a493, Linux 6.8).
//!
//! ```text
//! round r: the ACKs of data sent in round r − 1; blue: the first IW 2^(r−2) segments of it, red: the rest    (1)
//! Δ = duration of the blue ACKs, scaled to IW 2^(r−2) segments; at its end fourfold growth if                (2)
//!   r = 2:  RTT_min > 10 ms and Δ < RTT_min / 4                                                              (3)
//!   later:  r < jumps + 2,  2 μ Δ_r ≤ RTT_min,  Δ_r = Δ 2^(r−2),  μ = Δ_r / (2 Δ_(r−1))                       (4)
//!           and (k + 1) RTT_r ≤ (k + 1) RTT_min + k RTT_min / 8    k: rounds since RTT_min fell              (5)
//! then w rises to IW 4^(r−1); the added IW 2^(r−1) (2^(r−1) − 1) segments are paced over                     (6)
//!   RTT_min (1 − 2^(1−r)) after a guard of ½ (RTT_min 2^(1−r) − Δ), if that is above 0; red ACKs add nothing
//! other acks: w += n                                                                                         (7)
//! HyStart: the blue train, times 2^j, spans more than (RTT_min + 1 ms) / 2: exit at w + blue (2^j − 1)       (8)
//!   j: raised rounds; or the minimum of a round's samples exceeds RTT_min + η: exit                           (9)
//! at these exits and at a loss, w is no more than the data in flight                                        (10)
//! ```
//!
//! Units: segments, nanoseconds. Once (3), (4) or (5) fails, growth is that of HyStart.
//! Differs from the source: the guard of (6), which needs a timer, is part of the interval over which segments are
//! paced, so that the last one leaves at the same time.

use cwndlab_control::{
    options, Ack, Build, Capabilities, Confidence, Congestion, Exit, Extra, Kind, Need, Path, Reason, SlowStart, Spec,
    Step,
};
use cwndlab_units::{Rate, Time};

use crate::congestion_avoidance::reno::segments;
use crate::shared::hybrid::{Hybrid, GAP};
use crate::shared::{exit, pace};

options! {
    struct Options {
        /// maximum number of rounds with fourfold growth
        jumps: f64["rounds"] = 3.0 in 1.0..=6.0,
        /// minimum window at the exit
        low_window: f64["segments"] = 16.0 in 1.0..=1e6,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "suss",
    title: "SUSS",
    kind: Kind::SlowStart,
    source: "Arghavani et al., SIGCOMM 2024",
    year: 2024,
    confidence: Confidence::High,
    summary: "HyStart whose window may quadruple in the first rounds: if the ACKs of the doubled part of a round arrive within a fraction of the minimum RTT and the RTT has not risen, the rest is added at once and paced over the round trip.",
    parameters: Options::PARAMETERS,
    choices: &[
        "the initial window is that of the stack, where the source has 10",
        "a round in which the window does not limit the sender ends the fourfold growth",
        "the allowance of the train is the 1 ms of Linux",
    ],
    pitfalls: &[
        "below a minimum RTT of 10 ms it is HyStart",
        "with delayed ACKs of a receiver that waits for a second segment, an odd last blue segment lengthens the train",
        "a receive window that grows by auto-tuning limits the growth per round trip; the authors' kernel raises it",
    ],
    companion: "",
    needs: &[Need::Pacing],
    incompatible: &[],
    model_based: false,
    build: Build::SlowStart(|path, arguments| Box::new(Suss::new(path, arguments.into()))),
};

/// (3): least minimum RTT, ns.
const MIN_RTT: u64 = 10_000_000;
/// (8): Linux, hystart_ack_delay, ns.
const ALLOWANCE: u64 = 1_000_000;

/// (3): whether round 2 may quadruple.
#[must_use]
pub fn first_round_is_short(rtt_min: u64, train: u64) -> bool {
    rtt_min > MIN_RTT && train < rtt_min / 4
}

/// (4) without the limit of rounds: `train` and `before` are the durations of the blue ACKs of rounds `r` and r − 1.
#[must_use]
pub fn train_is_short(rtt_min: u64, r: u32, train: u64, before: u64) -> bool {
    let scaled = (train << (r - 2)) as f64;
    let mu = scaled / (2.0 * (before << (r - 3)).max(1) as f64);
    // No margin: the durations are measured.
    2.0 * mu * scaled <= rtt_min as f64
}

/// (5).
#[must_use]
pub fn rtt_is_low(rtt_min: u64, rtt: u64, k: u32) -> bool {
    let k = u64::from(k);
    rtt.saturating_mul(k + 1) <= rtt_min.saturating_mul(k + 1) + rtt_min * k / 8
}

/// (6): the interval of the paced segments, and the guard before it, ns; `None` without room for them.
#[must_use]
pub fn red_interval(rtt_min: u64, r: u32, train: u64) -> Option<(u64, u64)> {
    let rest = rtt_min >> (r - 1);
    (rest > train).then(|| (rtt_min - rest, (rest - train) / 2))
}

/// Rounds after which (6) cannot occur; a limit of the shifts.
const MAX_ROUND: u32 = 9;

/// The class of an ACK.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Colour {
    Blue,
    Red,
}

/// Slow start of SUSS.
#[derive(Clone, Debug)]
pub struct Suss {
    max_round: u32,
    low_window: f64,
    /// IW, segments.
    initial: f64,
    hybrid: Hybrid,
    round: u64,
    /// r of (1); 1 before the first ACK.
    r: u32,
    round_start: Time,
    last_ack: Time,
    colour: Colour,
    /// Segments of the blue ACKs of this round.
    blue: f64,
    /// Delivered bytes at the end of the blue part of this round's ACKs, and of the next round's.
    blue_end: u64,
    next_blue_end: u64,
    /// Duration of the blue ACKs of the last round, ns.
    train: u64,
    /// The round in which RTT_min fell last, and the minimum of this round's samples, ns.
    fell_in: u32,
    rtt: u64,
    /// Fourfold growth is possible; raised rounds; the window is above that of (7), so that red ACKs add nothing.
    may_jump: bool,
    jumps: u32,
    raised: bool,
    /// (8): the window of the exit.
    cap: Option<f64>,
    pace: Option<Rate>,
}

impl Suss {
    fn new(path: &Path, options: Options) -> Self {
        Self {
            max_round: (options.jumps as u32 + 2).min(MAX_ROUND),
            low_window: options.low_window,
            initial: path.initial_cwnd.0 as f64 / path.mss.0 as f64,
            hybrid: Hybrid::default(),
            round: u64::MAX,
            r: 1,
            round_start: Time::ZERO,
            last_ack: Time::ZERO,
            colour: Colour::Blue,
            blue: 0.0,
            blue_end: 0,
            next_blue_end: path.initial_cwnd.0,
            train: 0,
            fell_in: 1,
            rtt: u64::MAX,
            may_jump: true,
            jumps: 0,
            raised: false,
            cap: None,
            pace: None,
        }
    }

    /// (1): starts a round with its first ACK.
    fn next_round(&mut self, ack: &Ack) {
        (self.round, self.r) = (ack.round, self.r + 1);
        (self.round_start, self.last_ack) = (ack.now, ack.now);
        (self.colour, self.blue, self.rtt) = (Colour::Blue, 0.0, u64::MAX);
        (self.raised, self.pace) = (false, None);
        let sent = ack.delivered.0 - ack.acked.0.min(ack.delivered.0) + ack.prior_in_flight.0;
        let blue = self.initial * f64::from(1u32 << (self.r - 1).min(MAX_ROUND));
        (self.blue_end, self.next_blue_end) = (self.next_blue_end, sent + (blue * ack.mss.0 as f64) as u64);
    }

    fn sample(&mut self, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        let rtt = rtt.as_nanos().max(1);
        if rtt < self.hybrid.rtt_min {
            self.fell_in = self.r;
        }
        self.rtt = self.rtt.min(rtt);
    }

    /// (3) to (5), at the end of the blue ACKs.
    fn quadruples(&self, train: u64) -> bool {
        let rtt_min = self.hybrid.rtt_min;
        if rtt_min == u64::MAX {
            return false;
        }
        if self.r == 2 {
            return first_round_is_short(rtt_min, train);
        }
        self.r < self.max_round
            && train_is_short(rtt_min, self.r, train, self.train)
            && rtt_is_low(rtt_min, self.rtt, self.r - self.fell_in)
    }

    /// (2), (6): the increase at the end of the blue ACKs, segments.
    fn end_blue(&mut self, ack: &Ack) -> f64 {
        self.colour = Colour::Red;
        let expected = self.initial * f64::from(1u32 << (self.r - 2).min(MAX_ROUND));
        let elapsed = (ack.now - self.round_start).as_nanos() as f64;
        // The first ACK begins the time, so the last one is not counted; a single ACK has no duration.
        let train = if self.blue > 0.0 { (elapsed * expected / self.blue) as u64 } else { u64::MAX };
        let grow = segments(ack);
        self.may_jump &= ack.cwnd_limited && !ack.app_limited && self.quadruples(train);
        if !self.may_jump {
            return grow;
        }
        self.train = train;
        let Some((interval, guard)) = red_interval(self.hybrid.rtt_min, self.r, train) else { return grow };
        let parts = f64::from(1u32 << (self.r - 1));
        let red = 2.0 * expected * (parts - 1.0);
        // The red ACKs still to come add nothing; their segments are part of the target.
        let red_acks = expected * (parts / 2.0 - 1.0);
        self.jumps += 1;
        self.raised = true;
        self.pace = pace::over(red, ack.mss.0 as f64, interval + guard);
        grow + red - red_acks
    }

    /// (8). Without a raised round it is HyStart's train, of all ACKs.
    fn train_signal(&mut self, ack: &Ack, w: f64) -> Option<Exit> {
        if let Some(cap) = self.cap {
            return (w > cap).then(|| self.leave(Reason::Train, ack, w, cap));
        }
        if (self.colour == Colour::Red && self.jumps > 0) || ack.now - self.last_ack > GAP {
            return None;
        }
        self.last_ack = ack.now;
        let span = (ack.now - self.round_start).as_nanos() << self.jumps;
        if span <= self.hybrid.rtt_min.saturating_add(ALLOWANCE) / 2 {
            return None;
        }
        self.may_jump = false;
        if self.jumps == 0 {
            return Some(exit::now(Reason::Train, w, f64::NAN));
        }
        self.cap = Some(w + self.blue * f64::from((1u32 << self.jumps) - 1));
        None
    }

    /// (10).
    fn leave(&self, reason: Reason, ack: &Ack, w: f64, pipe: f64) -> Exit {
        let in_flight = ack.in_flight.0 as f64 / ack.mss.0 as f64;
        exit::now(reason, if self.jumps > 1 { in_flight.min(w) } else { w }, pipe)
    }

    /// (8), (9).
    fn signal(&mut self, ack: &Ack, w: f64) -> Option<Exit> {
        // No margin: the window rises with every ACK.
        if w < self.low_window {
            return None;
        }
        let train = self.train_signal(ack, w);
        let delay = self.hybrid.detect(ack, u64::MAX);
        train.or_else(|| delay.map(|reason| self.leave(reason, ack, w, f64::NAN)))
    }

    /// What remains is HyStart.
    fn end(&mut self) {
        (self.may_jump, self.raised, self.pace, self.cap, self.jumps) = (false, false, None, None, 0);
    }
}

impl SlowStart for Suss {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, w: f64, _: f64) -> Step {
        if self.round != ack.round {
            self.next_round(ack);
        }
        self.sample(ack);
        self.hybrid.observe(ack);
        if let Some(exit) = self.signal(ack, w) {
            self.end();
            let grow = if exit.ssthresh < w { exit.ssthresh - w } else { segments(ack) };
            return Step::with_exit(grow, Some(exit));
        }
        if self.colour == Colour::Red {
            return Step::grow(if self.raised { 0.0 } else { segments(ack) });
        }
        let ends = ack.delivered.0 >= self.blue_end;
        let grow = if ends { self.end_blue(ack) } else { segments(ack) };
        self.blue += segments(ack);
        Step::grow(grow)
    }

    fn on_congestion(&mut self, event: &Congestion, w: f64, ssthresh: f64) -> f64 {
        let used = event.in_flight.0 as f64 / event.mss.0 as f64 / w;
        let raised = self.jumps > 0;
        self.end();
        if event.restart {
            self.hybrid.restart();
        }
        if raised {
            ssthresh * used.min(1.0) // (10)
        } else {
            ssthresh
        }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pace
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { pacing: true, outside: false }
    }

    fn extra(&self, put: Extra<'_>) {
        put("suss_round", f64::from(self.r));
        put("blue_train_s", self.train as f64 * 1e-9);
        put("raised_rounds", f64::from(self.jumps));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack_at, loss, path, MSS};
    use cwndlab_units::{Bytes, Duration};

    const MS: u64 = 1_000_000;

    /// `suss_speedup` in round 2, by hand for a minimum of 100 ms: a train of 24 ms is accepted, 25 ms is not; neither is
    /// any at 10 ms.
    #[test]
    fn round_two_needs_a_train_below_a_quarter_of_the_minimum_rtt() {
        assert_eq!([24, 25].map(|ms| first_round_is_short(100 * MS, ms * MS)), [true, false]);
        assert!(!first_round_is_short(10 * MS, 0));
    }

    /// `suss_speedup`, condition 2, by hand for a minimum of 100 ms and k = 1: 2 · 106 ≤ 212.5 is accepted, 2 · 107 is not.
    #[test]
    fn later_rounds_need_an_rtt_within_half_of_hystarts_margin() {
        assert_eq!([106, 107].map(|ms| rtt_is_low(100 * MS, ms * MS, 1)), [true, false]);
    }

    /// `suss_speedup`, condition 1, by hand in round 3: trains of 10 and 20 ms give μ = 40 / 20 = 2 and 2 μ Δ = 160 ms;
    /// with 10 and 15 ms μ = 1.5 and 2 μ Δ = 90 ms.
    #[test]
    fn later_rounds_extrapolate_the_train() {
        assert!(!train_is_short(100 * MS, 3, 20 * MS, 10 * MS));
        assert!(train_is_short(100 * MS, 3, 15 * MS, 10 * MS));
    }

    /// `suss_measurements`, by hand for a minimum of 100 ms: in round 2 the red segments take 50 ms, and after a train of
    /// 20 ms the guard is 15 ms; in round 3 75 ms, without room after a train of 25 ms.
    #[test]
    fn red_segments_are_paced_over_the_rest_of_the_round() {
        assert_eq!(red_interval(100 * MS, 2, 20 * MS), Some((50 * MS, 15 * MS)));
        assert_eq!(red_interval(100 * MS, 3, 25 * MS), None);
    }

    /// A flow whose rounds begin every 100 ms, with an ACK of one segment every `gap_us`.
    struct Feed {
        start: Suss,
        w: f64,
        delivered: u64,
        sent: u64,
        exit: Option<Exit>,
    }

    impl Feed {
        fn new() -> Self {
            Self { start: Suss::new(&path(10), Options::default()), w: 10.0, delivered: 0, sent: 10, exit: None }
        }

        fn round(&mut self, round: u64, segments: u64, gap_us: u64, rtt_ms: u64) {
            for n in 0..segments {
                let mut ack = ack_at(Time::from_nanos(round * 100 * MS + n * gap_us * 1000), 1);
                ack.prior_in_flight = MSS * (self.sent - self.delivered);
                self.delivered += 1;
                ack.in_flight = MSS * (self.sent - self.delivered);
                ack.delivered = MSS * self.delivered;
                (ack.round, ack.rtt) = (round, Some(Duration::from_millis(rtt_ms)));
                let step = self.start.on_ack(&ack, self.w, 1e9);
                self.w += step.grow;
                self.exit = self.exit.or(step.exit);
                self.sent = self.delivered + self.w as u64;
            }
        }
    }

    /// The paper's growth, by hand: 10, 40, 160, 640 while the trains are short; the fifth round doubles.
    #[test]
    fn the_window_quadruples_in_three_rounds() {
        let mut feed = Feed::new();
        let mut windows = Vec::new();
        for round in 2..6 {
            let segments = feed.sent - feed.delivered;
            feed.round(round, segments, 1, 100);
            windows.push(feed.w);
        }
        assert_eq!(windows, [40.0, 160.0, 640.0, 1280.0]);
    }

    /// By hand: ten ACKs 1 ms apart are a train of 10 ms: guard 20 ms, interval 50 ms, 20 segments in 70 ms are 2.285
    /// Mbit/s. ACKs of the next round are ACK-clocked.
    #[test]
    fn red_segments_are_paced_until_the_next_round() {
        let mut feed = Feed::new();
        feed.round(2, 10, 1000, 100);
        assert_eq!(feed.start.pacing_rate(), Some(Rate(2_285_714)));
        feed.round(3, 1, 1000, 100);
        assert_eq!(feed.start.pacing_rate(), None);
    }

    /// A train of 3 ms per ACK fails (3): doubling from there on, with the exit of HyStart.
    #[test]
    fn a_long_first_train_ends_it_for_good() {
        let mut feed = Feed::new();
        feed.round(2, 10, 3000, 100);
        assert_eq!((feed.w, feed.start.may_jump), (20.0, false));
        feed.round(3, 20, 1, 100);
        assert_eq!(feed.w, 40.0);
    }

    /// (9): the minimum of a round's samples above 112.5 ms ends slow start, with the window at the data in flight after
    /// two raised rounds.
    #[test]
    fn a_rise_of_the_rtt_ends_slow_start() {
        let mut feed = Feed::new();
        feed.round(2, 10, 1, 100);
        feed.round(3, 40, 1, 100);
        assert_eq!((feed.w, feed.start.jumps), (160.0, 2));
        feed.sent = feed.delivered + 120;
        let mut exits = Vec::new();
        for n in 0..9u64 {
            let mut ack = ack_at(Time::from_nanos(500 * MS + n), 1);
            ack.prior_in_flight = MSS * 120;
            ack.in_flight = MSS * 119;
            (ack.round, ack.rtt, ack.delivered) = (4, Some(Duration::from_millis(113)), MSS * (51 + n));
            exits.extend(feed.start.on_ack(&ack, 160.0, 1e9).exit.map(|exit| (n, exit.ssthresh, exit.event.reason)));
        }
        assert_eq!(exits, [(8, 119.0, Reason::Delay)]);
    }

    /// `suss_cap`, by hand: after one raised round the 18th blue ACK at a spacing of 1.5 ms ends a train of 25.5 ms, which
    /// counts as 51 ms, above 50.5 ms. The window is 57 then, and 17 blue segments were acknowledged before: exit at 74.
    #[test]
    fn the_train_counts_twice_after_a_raised_round() {
        let mut feed = Feed::new();
        feed.round(2, 10, 1, 100);
        feed.round(3, 17, 1500, 100);
        assert_eq!((feed.w, feed.start.cap), (57.0, None));
        let mut feed = Feed::new();
        feed.round(2, 10, 1, 100);
        feed.round(3, 18, 1500, 100);
        assert_eq!((feed.w, feed.start.cap), (58.0, Some(57.0 + 17.0)));
    }

    /// The source sets the window to the data in flight before the reduction.
    #[test]
    fn a_loss_reduces_from_the_data_in_flight() {
        let mut feed = Feed::new();
        feed.round(2, 10, 1, 100);
        assert_eq!(feed.start.on_congestion(&loss(20), 40.0, 28.0), 14.0);
        assert_eq!(feed.start.on_congestion(&loss(20), 40.0, 28.0), 28.0);
        assert_eq!(Bytes(1000), MSS);
    }
}
