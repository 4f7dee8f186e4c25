//! TCP Veno: Reno that distinguishes random losses from congestion by the queueing delay.
//!
//! Source: C. P. Fu, S. C. Liew, "TCP Veno: TCP Enhancement for Transmission over Wireless Access Networks", IEEE JSAC
//! 21(2), 2003.
//!
//! ```text
//! N = w (1 − base / R)                                 (1)   backlog in segments
//! each ack:         N < β: w += n / w;  else w += n / (2 w)     (2)   one segment in two round trips
//! congestion event: N < β: w = 0.8 w;   else w = w / 2          (3)
//! timeout:          w = w / 2
//! ```
//!
//! Units: segments; R is the minimum RTT of the last round, base that of the connection; β = 3.
//! Differs from the source: the half segment per round trip is added by fractions. `rtt = last` takes the last sample
//! as R, as Linux and ns-3 do, where every ACK resets the minimum. `counter = linux-4` and `linux-6` are Linux' modules: N in
//! whole halves of a segment, rounded up, so that a path with N > 2.5 is congested; the counter of Reno below, and that of
//! w + 1 with every second increment omitted above.

use cwndlab_control::{
    options, Ack, Build, Cause, Change, Confidence, Congestion, CongestionAvoidance, Extra, Kind, Spec, Window,
};

use cwndlab_units::maths::floor;

use super::reno::{acked_count, segments};
use crate::shared::linux_counter::LinuxCounter;
use crate::shared::margin::below;
use crate::shared::round_rtt::{Round, RoundRtt};

options! {
    struct Options {
        /// backlog from which on the path counts as congested
        beta: f64["segments"] = 3.0 in 0.0..=1000.0,
        /// R: the minimum of the last round, or the last sample (Linux and ns-3, where every ACK resets the minimum)
        rtt: Rtt { Round = "round", Last = "last" } = Round,
        /// linux: whole segments, one per w + 1 ACKs (2.6); linux-4: on a path without congestion one per w ACKs (4 to 5.6);
        /// linux-6: the same with acknowledged segments in place of ACKs (5.7 and later)
        counter: Counter { Real = "real", Linux = "linux", Linux4 = "linux-4", Linux6 = "linux-6" } = Real,
        /// delay: 1/w or 1/(2w) per segment, by the backlog; ns3: 1/w per ACK at any backlog, since ns-3 resets its
        /// samples at every ACK and then has too few
        increase: Increase { Delay = "delay", Ns3 = "ns3" } = Delay,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "veno",
    title: "TCP Veno",
    kind: Kind::CongestionAvoidance,
    source: "doi:10.1109/JSAC.2002.807336",
    year: 2003,
    confidence: Confidence::High,
    summary: "Reno with a backlog estimate. From three queued segments on the increase is half of Reno's; a loss with a smaller backlog counts as random and reduces the window only to 0.8.",
    parameters: Options::PARAMETERS,
    choices: &[
        "R is the minimum of a round with at least three samples",
        "the reduction applies to the window, not to FlightSize",
    ],
    pitfalls: &["with an overestimated base RTT every loss counts as random"],
    companion: "standard",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| Box::new(Veno::new(arguments.into()))),
};

/// Multiplicative decrease factor of a random loss.
const RANDOM_LOSS_FACTOR: f64 = 0.8;

/// Congestion avoidance of Veno.
#[derive(Clone, Debug)]
pub struct Veno {
    options: Options,
    rtts: RoundRtt,
    /// (R − base) / R; `None` before the first round with enough samples.
    queued: Option<f64>,
    counter: LinuxCounter,
    /// Alternates with the increments while the path is congested (Linux): the next one is applied.
    apply_next: bool,
}

impl Veno {
    fn new(options: Options) -> Self {
        Self { options, rtts: RoundRtt::default(), queued: None, counter: LinuxCounter::default(), apply_next: true }
    }

    /// (1): the backlog is below β.
    #[inline]
    fn is_uncongested(&self, w: f64) -> bool {
        self.queued.is_none_or(|queued| {
            if self.is_whole() {
                // diff = 2 cwnd − ⌊2 cwnd base / R⌋, in halves of a segment
                let halves = 2.0 * floor(w);
                return halves - floor(halves * (1.0 - queued)) < 2.0 * self.options.beta;
            }
            below(w * queued, self.options.beta)
        })
    }

    /// Whether it is a module of Linux since 4, with windows of whole segments.
    #[inline]
    fn is_whole(&self) -> bool {
        matches!(self.options.counter, Counter::Linux4 | Counter::Linux6)
    }

    /// Linux' increments for `n` ACKs or segments: while the path is congested every second one is omitted.
    fn add(&mut self, n: f64, w: f64) -> f64 {
        let (whole, uncongested) = (self.is_whole(), self.is_uncongested(w));
        let cnt = if whole { floor(w) } else { w };
        if whole && uncongested {
            return w + self.counter.add(n, cnt);
        }
        if !self.counter.takes(n, cnt) {
            return w;
        }
        let applied = uncongested || self.apply_next;
        self.apply_next ^= !uncongested;
        w + f64::from(u8::from(applied))
    }
}

impl CongestionAvoidance for Veno {
    #[inline]
    fn observe(&mut self, ack: &Ack, _: f64) {
        let over = self.rtts.observe(ack);
        let base = self.rtts.base as f64;
        if self.options.rtt == Rtt::Last {
            if let Some(rtt) = ack.rtt {
                self.queued = Some(1.0 - base / rtt.as_nanos().max(1) as f64);
            }
        } else if let Some(round) = over.filter(Round::decides) {
            self.queued = Some(1.0 - base / round.min as f64);
        }
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64 {
        let n = segments(ack);
        match self.options.counter {
            Counter::Real => {}
            Counter::Linux | Counter::Linux4 => return self.add(f64::from(ack.acks), w),
            Counter::Linux6 => return self.add(n, w),
        }
        if self.options.increase == Increase::Ns3 {
            return w + acked_count(ack, true) / w;
        }
        if self.is_uncongested(w) {
            w + n / w
        } else {
            w + n / (2.0 * w)
        } // (2)
    }

    fn on_congestion(&mut self, event: &Congestion, w: f64) -> f64 {
        if self.is_whole() {
            self.counter.reset();
        }
        // Linux has no exception for a timeout.
        let random = (event.cause != Cause::Timeout || self.is_whole()) && self.is_uncongested(w);
        let reduced = w * if random { RANDOM_LOSS_FACTOR } else { 0.5 }; // (3)
        (if self.is_whole() { floor(reduced) } else { reduced }).max(2.0)
    }

    fn on_window(&mut self, window: &Window) {
        if window.change == Change::Idle {
            // Measurements from before the idle period do not describe the present queue.
            self.queued = None;
            self.rtts.restart();
        }
    }

    fn extra(&self, put: Extra<'_>) {
        put("queued_share", self.queued.unwrap_or(0.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack, loss, timeout};
    use cwndlab_units::Duration;

    /// A flow after a round with an RTT of 100 ms and one of `ms`.
    fn at(ms: f64) -> Veno {
        let mut flow = Veno::new(Options::default());
        for (round, rtt) in [(1, 100.0), (2, ms), (3, ms)] {
            for _ in 0..3 {
                flow.observe(&Ack { round, rtt: Some(Duration::from_nanos((rtt * 1e6) as u64)), ..ack(1) }, 30.0);
            }
        }
        flow
    }

    /// Reference values: w = 30, base 100 ms; R = 105: N = 1.43, 24 after a loss; R = 115: N = 3.91, 15 after a loss,
    /// and half the increment.
    #[test]
    fn increment_and_reduction_depend_on_the_backlog() {
        let mut flow = at(105.0);
        assert!((30.0 * flow.queued.unwrap() - 1.43).abs() < 0.005);
        assert_eq!(flow.on_ack(&ack(1), 30.0), 30.0 + 1.0 / 30.0);
        assert_eq!(flow.on_congestion(&loss(30), 30.0), 24.0);
        let mut flow = at(115.0);
        assert!((30.0 * flow.queued.unwrap() - 3.91).abs() < 0.005);
        assert_eq!(flow.on_ack(&ack(1), 30.0), 30.0 + 1.0 / 60.0);
        assert_eq!(flow.on_congestion(&loss(30), 30.0), 15.0);
    }

    /// Reference values: R = 111.11 ms gives N = 3, which is congestion; slightly less is not. A timeout halves the
    /// window at any backlog.
    #[test]
    fn a_backlog_of_three_segments_is_congestion() {
        assert_eq!(at(111.112).on_congestion(&loss(30), 30.0), 15.0);
        assert_eq!(at(111.110).on_congestion(&loss(30), 30.0), 24.0);
        assert_eq!(at(105.0).on_congestion(&timeout(30), 30.0), 15.0);
    }

    /// ns-3: 1/w per ACK of two segments, also with a backlog.
    #[test]
    fn the_increase_of_ns_3_is_that_of_reno_per_ack() {
        let mut flow = at(115.0);
        flow.options.increase = Increase::Ns3;
        assert_eq!(flow.on_ack(&ack(2), 30.0), 30.0 + 1.0 / 30.0);
    }

    /// Linux 4 to 5.6 by hand: without a backlog of 2.5 segments w ACKs add a segment, of however many segments they are;
    /// with one the (w + 1)th of every second count does. Linux 6 counts segments. At 30 segments R = 109 ms is
    /// 60 − ⌊55.05⌋ = 5 halves, below 6; R = 110 ms is 60 − ⌊54.5⌋ = 6: congestion.
    #[test]
    fn linux_counts_acks_and_later_segments() {
        let first = |counter, ms, n, least: f64| {
            let mut flow = at(ms);
            flow.options.counter = counter;
            let mut w = 30.0;
            (1..=200).find(|_| {
                w = flow.on_ack(&ack(n), w);
                w >= least
            })
        };
        assert_eq!(first(Counter::Linux4, 109.0, 2, 31.0), Some(30));
        assert_eq!(first(Counter::Linux6, 109.0, 2, 31.0), Some(15));
        assert_eq!(first(Counter::Linux4, 110.0, 2, 31.0), Some(31));
        assert_eq!(first(Counter::Linux4, 110.0, 2, 32.0), Some(31 + 2 * 32));
        assert_eq!(first(Counter::Linux6, 110.0, 2, 31.0), Some(16));
        let mut flow = at(109.0);
        flow.options.counter = Counter::Linux4;
        assert_eq!((flow.on_congestion(&loss(29), 29.0), flow.on_congestion(&timeout(31), 31.0)), (23.0, 15.0));
    }

    /// Linux' counter by hand: with a backlog one segment per two rounds of w + 1 ACKs.
    #[test]
    fn with_a_backlog_every_second_increment_is_omitted() {
        let mut flow = at(115.0);
        flow.options.counter = Counter::Linux;
        let mut w = 30.0;
        for _ in 0..62 {
            w = flow.on_ack(&ack(1), w);
        }
        assert_eq!(w, 31.0);
    }
}
