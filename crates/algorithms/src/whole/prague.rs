//! Prague: the scalable congestion control of TCP for L4S, with a rate that does not depend on short RTTs.
//!
//! Source: De Schepper, Tilmans, Briscoe, Goel, "Prague Congestion Control", draft-briscoe-iccrg-prague-congestion-control-04
//! (2024); the Linux module `tcp_prague.c`, version 0.7, which this file follows; requirements: RFC 9331, section 4.3.
//!
//! ```text
//! V = max(srtt, target)                                  virtual RTT                                          (1)
//! each round trip, not more often than target: F = marked / delivered, alpha += g (F - alpha)                (2)
//! each ack, a = acked - marked: w += s a / w,  s = (srtt / target)^2 below target, otherwise 1              (3)
//! mark, once per round trip and not more often than target: w -= w alpha / 2                                (4)
//! first mark: w = ssthresh = w / 2, the end of slow start                                                   (5)
//! loss: w = w / 2, and no increase until the end of recovery                                                (6)
//! pacing: rate = max(w, flight) / srtt, twice this below ssthresh / 2                                       (7)
//! at w <= transit, after a mark: the rate is the state, r += a / V / ceil(r V), mark: r -= r alpha / 2      (8)
//!     pacing: r (1 + 1/32) in the first half of V after (2), r (1 - 1/32) in the second; w = r srtt
//! window: one segment per ack towards max(2, ceil w)                                                        (9)
//! ```
//!
//! Units: w in segments, r in segments per second, times in seconds; "target" in (2) to (4) applies from the fourth round after
//! slow start. Steady state with a marking probability p: 2 (1 - p) / p segments per V.
//! Differs from the source: Linux also shrinks segments at low rates, and raises slow start past (5) while an ACK reports
//! unmarked packets.

use cwndlab_control::{
    options, Ack, Build, Cause, Change, Confidence, Congestion, CongestionControl, Event, EventKind, Extra, Kind, Need,
    Path, Phase, Reason, Spec, Ssthresh, State, Window,
};
use cwndlab_units::{Bytes, Duration, Rate, Time};

use classic_queue::ClassicQueue;

mod classic_queue;

options! {
    struct Options {
        /// weight of the last round trip in alpha
        g: f64 = 0.0625 in 0.001..=1.0,
        /// RTT below which the rate does not depend on the RTT
        target: f64["ms"] = 25.0 in 0.0..=1000.0,
        /// round trips after slow start until the rate becomes independent of the RTT
        transition: f64 = 4.0 in 0.0..=1000.0,
        /// window at which, and below, the rate is the state
        transit: f64["segments"] = 4.0 in 0.0..=100.0,
        /// smallest rate
        min_rate: f64["bit/s"] = 100_000.0 in 1.0..=1e9,
        /// on: detects a shared queue with classic ECN by the variation of the RTT, and reduces more there (arXiv 1911.00710;
        /// an option of Linux until 0.6)
        fallback: bool = false,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "prague",
    title: "Prague",
    kind: Kind::Whole,
    source: "draft-briscoe-iccrg-prague; Linux, tcp_prague.c 0.7; RFC 9331",
    year: 2024,
    confidence: Confidence::Medium,
    summary: "The scalable sender of L4S. Estimates alpha, the fraction of marked packets, and reduces the window by w*alpha/2 once per round trip with marks. Unmarked packets increase the window by a segment per virtual RTT of at least 25 ms, so that flows with shorter RTTs get equal rates. Always paced; below two segments the pacing rate limits it. A loss halves the window, and so does an echo of classic ECN.",
    parameters: Options::PARAMETERS,
    choices: &[
        "the first mark halves the window and ends slow start; in Linux the halving lasts only if the ACK covers no unmarked packet",
        "segments keep their size at low rates; Linux shrinks them to 150 bytes, so that two are sent per virtual RTT",
        "paced segments are sent one by one; Linux sends bursts of 1/4096 s of the rate",
        "the window counts as used while half of it is in flight and the application has data: packets that wait for the pacer are not in flight, where Linux' fq counts them",
        "without Accurate ECN it continues with the response (6) to each echo, where Linux replaces it by Reno",
        "a timeout halves w and restarts the window at one segment, which grows by one per ACK up to w",
    ],
    pitfalls: &[
        "needs stack.ecn = \"accecn\", its default, and a queue that marks ECT(1) at a low delay (dualpi2, step-ecn)",
        "in a shared queue with classic ECN it takes more than its share from CUBIC and Reno; `fallback` detects such a queue (RFC 9331, section 4.3.1)",
        "beside a flow without ECN in the same queue it gets little",
    ],
    companion: "",
    needs: &[Need::L4s, Need::Pacing, Need::Spacing, Need::EveryAck],
    incompatible: &[],
    model_based: true,
    build: Build::Whole(|path, arguments| Box::new(Prague::new(path, arguments.into()))),
};

/// Smallest window, segments.
const MIN_WINDOW: f64 = 2.0;
/// Deviation of the pacing rate in each half of a virtual RTT (8).
const RATE_OFFSET: f64 = 1.0 / 32.0;
/// Largest window, segments, and rate, segments per second.
const MOST: f64 = 1e8;
/// Above this RTT the increase is not scaled (Linux, `MAX_SCALED_RTT`).
const MAX_SCALED_RTT: f64 = 0.1;

/// The estimate of the marking probability (2).
#[derive(Clone, Copy, Debug, Default)]
struct Marking {
    alpha: f64,
    /// Data of the current round trip, bytes.
    delivered: u64,
    marked: u64,
    /// A packet was marked.
    seen: bool,
    updated: Time,
    round: u64,
}

/// The congestion control of Prague.
#[derive(Clone, Debug)]
pub struct Prague {
    options: Options,
    target: Duration,
    mss: f64,
    /// Smallest rate, segments per second.
    min_rate: f64,
    classic: bool,
    /// With `fallback`.
    classic_queue: Option<ClassicQueue>,
    /// w.
    w: f64,
    /// r, segments per second.
    rate: f64,
    /// The rate is the state (8).
    by_rate: bool,
    /// The window of the transport, segments.
    cwnd: f64,
    ssthresh: f64,
    marking: Marking,
    reduced: Option<Time>,
    /// Round trips since slow start.
    rounds: u32,
    in_loss: bool,
    /// w and r before the last loss.
    before_loss: (f64, f64),
    pacing: Option<f64>,
}

impl Prague {
    fn new(path: &Path, options: Options) -> Self {
        let mss = path.mss.0 as f64;
        let w = path.initial_cwnd.0 as f64 / mss;
        let min_rate = options.min_rate / 8.0 / mss;
        Self {
            target: Duration::from_nanos((options.target * 1e6) as u64),
            options,
            mss,
            min_rate,
            classic: path.classic_ecn,
            classic_queue: options.fallback.then(ClassicQueue::default),
            w,
            rate: min_rate,
            by_rate: false,
            cwnd: w,
            ssthresh: path.initial_ssthresh.map_or(f64::INFINITY, |bytes| bytes.0 as f64 / mss),
            marking: Marking::default(),
            reduced: None,
            rounds: 0,
            in_loss: false,
            before_loss: (0.0, 0.0),
            pacing: None,
        }
    }

    fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Whether the rate is independent of RTTs below the target.
    fn is_independent(&self) -> bool {
        !self.in_slow_start() && f64::from(self.rounds) >= self.options.transition
    }

    /// (1), seconds.
    fn virtual_rtt(&self, srtt: Duration) -> f64 {
        srtt.max(self.target).as_secs()
    }

    /// s of (3).
    fn scale(&self, srtt: f64) -> f64 {
        let target = self.target.as_secs();
        if f64::from(self.rounds) < self.options.transition || srtt >= target || srtt > MAX_SCALED_RTT {
            return 1.0;
        }
        (srtt / target) * (srtt / target)
    }

    /// (3), (5), (8) and (9). Returns the event of the end of slow start.
    fn update_window(&mut self, ack: &Ack) -> Option<Event> {
        let marked = ack.ce.0 as f64 / self.mss;
        let a = ack.acked.0 as f64 / self.mss - marked;
        let mut event = None;
        if marked > 0.0 && !self.classic && !std::mem::replace(&mut self.marking.seen, true) {
            self.w = (self.w / 2.0).max(MIN_WINDOW); // (5)
            if self.in_slow_start() {
                self.cwnd = self.w.ceil().max(MIN_WINDOW);
                self.ssthresh = self.cwnd;
                event = Some(Event::new(EventKind::SlowStartExit, Reason::Named("ecn"), self.cwnd));
            }
        }
        // The pacer holds packets back that Linux' fq has taken from the window.
        let flight = ack.prior_in_flight.0 as f64 / self.mss;
        let used = ack.cwnd_limited || (!ack.app_limited && 2.0 * flight >= self.w);
        if a > 0.0 && !self.in_loss && used {
            self.increase(a, ack.srtt);
        }
        let goal = self.w.ceil().max(MIN_WINDOW);
        if self.cwnd > goal {
            self.cwnd = (self.cwnd - 1.0).max(goal);
            self.ssthresh = self.cwnd;
        } else if self.cwnd < goal {
            self.cwnd = (self.cwnd + 1.0).min(goal);
        }
        event
    }

    /// The increase by `a` unmarked segments.
    fn increase(&mut self, a: f64, srtt: Duration) {
        if self.in_slow_start() {
            self.cwnd = (self.cwnd + a).min(self.ssthresh);
            self.w = self.cwnd;
        } else if self.by_rate && self.is_independent() {
            let v = self.virtual_rtt(srtt);
            self.rate += a / v / (self.rate * v).ceil().max(1.0);
            self.w = self.w.max(self.rate * srtt.as_secs());
        } else {
            // In state rate w may be less than a segment.
            self.w += self.scale(srtt.as_secs()) * a / self.w.max(1.0);
            self.rate = self.rate.max(self.rate_of_window(srtt));
        }
    }

    fn rate_of_window(&self, srtt: Duration) -> f64 {
        if srtt == Duration::ZERO {
            self.min_rate
        } else {
            (self.w / srtt.as_secs()).max(self.min_rate)
        }
    }

    /// (2).
    fn update_alpha(&mut self, ack: &Ack) {
        let marking = &mut self.marking;
        marking.delivered += ack.acked.0;
        marking.marked += ack.ce.0;
        let independent = self.is_independent();
        let marking = &mut self.marking;
        let early = independent && ack.now.saturating_since(marking.updated) < self.target;
        if ack.round <= marking.round || early {
            return;
        }
        if marking.seen {
            let fraction = marking.marked as f64 / marking.delivered.max(1) as f64;
            marking.alpha = (marking.alpha + self.options.g * (fraction.min(1.0) - marking.alpha)).clamp(0.0, 1.0);
            marking.updated = ack.now;
            if let Some(queue) = &mut self.classic_queue {
                queue.on_round(ack.min_rtt);
            }
        }
        (marking.delivered, marking.marked, marking.round) = (0, 0, ack.round);
        if !self.in_slow_start() {
            self.rounds = self.rounds.saturating_add(1);
        }
    }

    /// (7), (8).
    fn update_pacing(&mut self, ack: &Ack) {
        let rate = if self.by_rate && self.is_independent() {
            let half = Duration::from_nanos((self.virtual_rtt(ack.srtt) * 0.5e9) as u64);
            let late = ack.now.saturating_since(self.marking.updated) >= half;
            self.rate * if late { 1.0 - RATE_OFFSET } else { 1.0 + RATE_OFFSET }
        } else {
            let flight = (ack.in_flight.0 as f64 / self.mss).max(self.w.floor());
            if ack.srtt > Duration::ZERO {
                self.rate = (flight / ack.srtt.as_secs()).max(self.min_rate);
            }
            self.rate
        };
        let gain = if self.cwnd < (self.ssthresh / 2.0).floor() { 2.0 } else { 1.0 };
        self.pacing = (ack.srtt > Duration::ZERO).then_some(rate.min(MOST) * gain);
    }

    /// Selects window or rate as the state (8).
    fn switch_state(&mut self, srtt: Duration) {
        // With an RTT that changes by orders of magnitude rate and window would multiply each other.
        (self.w, self.rate) = (self.w.min(MOST), self.rate.min(MOST));
        let by_rate = self.marking.seen && self.cwnd <= self.options.transit;
        self.by_rate = by_rate;
        if by_rate {
            self.w = self.rate * srtt.as_secs();
        } else {
            self.rate = self.rate_of_window(srtt);
        }
    }

    /// Multiplies window and rate by `factor`.
    fn reduce(&mut self, factor: f64, srtt: Duration) {
        if self.by_rate && self.is_independent() {
            self.rate = (self.rate * factor).max(self.min_rate);
            self.w = self.rate * srtt.as_secs();
        } else {
            self.w = (self.w * factor).max(MIN_WINDOW);
            self.rate = self.rate_of_window(srtt);
        }
    }

    /// (6).
    fn on_loss(&mut self, srtt: Duration) {
        self.before_loss = (self.w, self.rate);
        self.reduce(0.5, srtt);
        self.in_loss = true;
        if self.in_slow_start() {
            self.ssthresh = self.w.ceil().max(MIN_WINDOW);
            self.cwnd = self.cwnd.min(self.ssthresh);
        }
    }
}

impl CongestionControl for Prague {
    fn on_ack(&mut self, ack: &Ack) -> Option<Event> {
        if !ack.recovering {
            self.in_loss = false;
        } else if ack.lost > Bytes::ZERO && !self.in_loss {
            self.on_loss(ack.srtt); // during the reduction for a mark, which the transport reported alone
        }
        if let Some(queue) = &mut self.classic_queue {
            queue.on_ack(ack);
        }
        let event = self.update_window(ack);
        self.update_alpha(ack);
        self.update_pacing(ack);
        self.switch_state(ack.srtt);
        event
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if let Some(queue) = &mut self.classic_queue {
            queue.on_reduction(self.ssthresh);
        }
        if event.restart {
            if !event.repeated {
                self.on_loss(event.srtt);
                self.ssthresh = self.w.ceil().max(MIN_WINDOW);
            }
            self.cwnd = 1.0;
            return;
        }
        if event.cause != Cause::Ecn || self.classic {
            self.on_loss(event.srtt);
            return;
        }
        let early = self.reduced.is_some_and(|last| event.now.saturating_since(last) < self.target);
        if self.is_independent() && early {
            return;
        }
        self.reduced = Some(event.now);
        let alpha = self.classic_queue.map_or(0.0, |queue| queue.least_alpha()).max(self.marking.alpha);
        self.reduce(1.0 - alpha / 2.0, event.srtt); // (4)
    }

    fn cwnd(&self) -> Bytes {
        Bytes((self.cwnd * self.mss) as u64)
    }

    fn on_window(&mut self, window: &Window) {
        match window.change {
            Change::Undo => {
                self.in_loss = false;
                self.w = self.w.max(self.before_loss.0);
                self.rate = self.rate.max(self.before_loss.1);
            }
            Change::Recovered => self.in_loss = false,
            Change::Idle => self.cwnd = (window.cwnd.0 as f64 / self.mss).min(self.cwnd),
            Change::Established => {
                self.cwnd = self.cwnd.min(window.cwnd.0 as f64 / self.mss);
                self.w = self.w.min(self.cwnd);
            }
        }
    }

    fn state(&self, extra: Option<Extra<'_>>) -> State {
        if let Some(put) = extra {
            put("alpha", self.marking.alpha);
            put("w_segments", self.w);
            put("rate_segments_per_s", self.rate);
            if let Some(queue) = &self.classic_queue {
                put("classic_score", queue.score());
            }
        }
        let phase = if self.in_slow_start() { Phase::SlowStart } else { Phase::CongestionAvoidance };
        State { ssthresh: Ssthresh::of(self.ssthresh, self.mss), phase }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing.map(|segments| Rate((segments * self.mss * 8.0) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack, loss, path, timeout};

    fn flow(window: f64) -> Prague {
        let algorithm = crate::catalogue().parse("prague").unwrap();
        let mut flow = Prague::new(&path(window as u64), (&algorithm.growth.arguments).into());
        (flow.ssthresh, flow.rounds, flow.marking.seen) = (window, 4, true);
        flow
    }

    fn at(ms: u64, acked: u64, marked: u64, srtt_ms: u64) -> Ack {
        let srtt = Duration::from_millis(srtt_ms);
        let now = Time::from_nanos(ms * 1_000_000);
        Ack { now, ce: Bytes(1000 * marked), srtt, round: ms, in_flight: Bytes::ZERO, ..ack(acked) }
    }

    fn mark(ms: u64) -> Congestion {
        Congestion {
            now: Time::from_nanos(ms * 1_000_000),
            cause: Cause::Ecn,
            srtt: Duration::from_millis(50),
            ..loss(100)
        }
    }

    /// (2) by hand, g = 1/16: α from 0 with F = 1 is .0625, .1211, .1760; from 1 with F = 0 after ten rounds .5245.
    #[test]
    fn alpha_moves_by_a_sixteenth_of_the_difference_per_virtual_rtt() {
        let mut up = flow(100.0);
        let alphas = [30, 60, 90].map(|ms| {
            up.update_alpha(&at(ms, 10, 10, 25));
            (up.marking.alpha * 1e4).round()
        });
        assert_eq!(alphas, [625.0, 1211.0, 1760.0]);
        let mut down = flow(100.0);
        down.marking.alpha = 1.0;
        (1..=10).for_each(|n| down.update_alpha(&at(30 * n, 10, 0, 25)));
        assert_eq!((down.marking.alpha * 1e4).round(), 5245.0);
    }

    /// (2): with an RTT of 5 ms, α changes once per 25 ms, with all marks since the last change.
    #[test]
    fn alpha_changes_once_per_target_rtt() {
        let mut flow = flow(100.0);
        for (ms, marked) in [(5, 10), (10, 0), (15, 10), (20, 0)] {
            flow.update_alpha(&at(ms, 10, marked, 5));
            assert_eq!(flow.marking.alpha, 0.0);
        }
        flow.update_alpha(&at(25, 10, 5, 5));
        assert_eq!(flow.marking.alpha, 0.5 / 16.0);
    }

    /// s of (3) by hand: (5/25)² = .04, (12.5/25)² = .25, and 1 from 25 ms and in the first rounds.
    #[test]
    fn the_increase_is_scaled_below_the_target_rtt() {
        let mut flow = flow(10.0);
        let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-12, "{value} {expected}");
        near(flow.scale(0.005), 0.04);
        near(flow.scale(0.0125), 0.25);
        near(flow.scale(0.025), 1.0);
        flow.increase(1.0, Duration::from_millis(5));
        near(flow.w, 10.004);
        flow.rounds = 3;
        near(flow.scale(0.005), 1.0);
    }

    /// (3) by hand: of ten segments four are marked, and w = 10 grows by 6/10.
    #[test]
    fn marked_packets_give_no_increase() {
        let mut flow = flow(10.0);
        flow.update_window(&at(1, 10, 4, 50));
        assert_eq!((flow.w, flow.cwnd), (10.6, 11.0));
        flow.update_window(&at(1, 3, 3, 50));
        assert_eq!(flow.w, 10.6);
    }

    /// (4) by hand: α = 1/4 reduces 100 to 87.5; a second mark within 25 ms has no effect; the window follows by a segment
    /// per ACK.
    #[test]
    fn a_mark_reduces_the_window_by_half_of_alpha_once_per_target_rtt() {
        let mut flow = flow(100.0);
        flow.marking.alpha = 0.25;
        flow.on_congestion(&mark(100));
        flow.on_congestion(&mark(124));
        assert_eq!(flow.w, 87.5);
        flow.update_window(&at(125, 1, 1, 50));
        assert_eq!((flow.cwnd, flow.ssthresh), (99.0, 99.0));
        flow.on_congestion(&mark(125));
        assert_eq!(flow.w, 87.5 * 0.875);
    }

    /// With the detection, `classic_queue` (4): 1 - 5/16 = 0.6875 of w remains in a classic queue, whatever α is.
    #[test]
    fn a_mark_of_a_classic_queue_reduces_the_window_by_five_sixteenths() {
        let algorithm = crate::catalogue().parse("prague(fallback=on)").unwrap();
        let mut flow = Prague::new(&path(100), (&algorithm.growth.arguments).into());
        (flow.ssthresh, flow.marking.seen, flow.marking.alpha) = (100.0, true, 0.1);
        for n in 1..=1000 {
            let rtt = Some(Duration::from_millis(if n % 2 == 0 { 10 } else { 30 }));
            let ack = Ack { rtt, min_rtt: Duration::from_millis(10), ..at(n, 10, 1, 20) };
            flow.classic_queue.as_mut().unwrap().on_reduction(100.0);
            flow.on_ack(&ack);
        }
        flow.w = 100.0;
        flow.on_congestion(&mark(2000));
        assert_eq!(flow.w, 68.75);
    }

    /// (5) by hand: w = 40 becomes 20.
    #[test]
    fn the_first_mark_halves_the_window_and_ends_slow_start() {
        let mut flow = flow(40.0);
        (flow.ssthresh, flow.marking.seen, flow.rounds) = (f64::INFINITY, false, 0);
        let event = flow.update_window(&at(1, 1, 1, 50)).unwrap();
        assert_eq!((event.kind, flow.w, flow.cwnd, flow.ssthresh), (EventKind::SlowStartExit, 20.0, 20.0, 20.0));
        assert!(flow.update_window(&at(2, 1, 1, 50)).is_none());
        assert_eq!(flow.w, 20.0);
    }

    /// (6) by hand; RFC 9331, section 4.3: a loss is answered as by Reno, and no increase follows until recovery ends.
    #[test]
    fn a_loss_halves_the_window() {
        let mut flow = flow(100.0);
        flow.on_congestion(&loss(100));
        flow.on_ack(&Ack { recovering: true, ..at(1, 10, 0, 50) });
        assert_eq!((flow.w, flow.cwnd), (50.0, 99.0));
        flow.on_window(&Window::new(Time::ZERO, Change::Recovered, Bytes(50_000)));
        flow.on_ack(&at(2, 10, 0, 50));
        assert_eq!(flow.w, 50.2);
        flow.on_congestion(&timeout(100));
        assert_eq!((flow.w, flow.cwnd), (25.1, 1.0));
        // Slow start ends at half of the window, and not at the threshold of before.
        assert_eq!(flow.ssthresh, 26.0);
    }

    /// A loss during the reduction for a mark halves the window too: the transport does not report it as an event.
    #[test]
    fn a_loss_after_a_mark_in_one_round_trip_counts_too() {
        let mut flow = flow(100.0);
        flow.marking.alpha = 0.25;
        flow.on_congestion(&mark(100));
        let lossy = Ack { recovering: true, lost: Bytes(1000), ..at(101, 1, 0, 50) };
        flow.on_ack(&lossy);
        flow.on_ack(&lossy);
        assert_eq!(flow.w, 43.75);
    }

    /// RFC 9331, section 4.3: with classic ECN an echo counts as a loss.
    #[test]
    fn an_echo_of_classic_ecn_halves_the_window() {
        let mut flow = flow(100.0);
        flow.classic = true;
        flow.on_congestion(&mark(100));
        assert_eq!(flow.w, 50.0);
    }

    /// (7), (8) by hand, segments of 1000 bytes: w = 10 at 50 ms is 1.6 Mbit/s. At 4 segments the rate is the state: 80/s, ±1/32,
    /// and below 2 segments it is not rounded up.
    #[test]
    fn pacing_spreads_the_window_and_small_windows_are_rates() {
        let mut flow = flow(10.0);
        flow.update_pacing(&at(1, 1, 0, 50));
        assert_eq!(flow.pacing_rate(), Some(Rate(1_600_000)));
        (flow.w, flow.cwnd, flow.ssthresh, flow.rate) = (1.0, 2.0, 2.0, 20.0);
        flow.switch_state(Duration::from_millis(50));
        assert!(flow.by_rate);
        flow.marking.updated = Time::from_nanos(0);
        flow.update_pacing(&at(1, 1, 0, 50));
        assert_eq!(flow.pacing_rate(), Some(Rate(165_000)));
        flow.update_pacing(&at(30, 1, 0, 50));
        assert_eq!(flow.pacing_rate(), Some(Rate(155_000)));
        flow.increase(1.0, Duration::from_millis(50));
        assert_eq!(flow.rate, 40.0); // ⌈20 · .05⌉ = 1: r + 1 / .05
    }

    /// Balance of (3) and (4): w = 2 (1 - p) / p = 198 segments per virtual RTT at p = 0.01, and 99 at half of it (fact of the
    /// rate law, 95 Mbit/s of 1500 bytes at any RTT up to 25 ms). By hand: the increase per target RTT is 1 - p times
    /// the segments per RTT over w, and the reduction w p / 2.
    #[test]
    fn the_balance_of_increase_and_reduction_is_independent_of_short_rtts() {
        for (rtt, expected) in [(25.0, 198.0), (12.5, 99.0), (5.0, 39.6)] {
            let (p, target) = (0.01, 25.0);
            let flow = flow(expected);
            let scale = flow.scale(rtt / 1e3);
            let increase = scale * (1.0 - p) * (target / rtt); // per target RTT, at one segment per RTT
            let reduction = expected * p / 2.0;
            assert!((increase - reduction).abs() < 1e-9, "{rtt} ms: {increase} {reduction}");
        }
    }
}
