//! TCP Veno: Reno that asks the delay whether a loss was congestion.
//!
//! Source: C. P. Fu, S. C. Liew, "TCP Veno: TCP Enhancement for Transmission over Wireless Access Networks", IEEE JSAC
//! 21(2), 2003.
//!
//! ```text
//! N = w (1 − base / R)                                 (1)   segments that queue
//! each ack:         N < β: w += n / w;  else w += n / (2 w)     (2)   one segment per second round trip
//! each congestion:  N < β: w = 0.8 w;   else w = w / 2          (3)
//! a timeout:        w / 2
//! ```
//!
//! Units: segments; R is the smallest RTT of the last round, base the smallest of the connection; β = 3.
//! Differs from the source: the half segment per round trip is added by fractions. `rtt = last` takes the last sample as R,
//! as Linux and ns-3 do, whose minimum is reset by every ACK.

use cwndlab_control::{
    Ack, Arguments, Build, Cause, Change, Confidence, Congestion, CongestionAvoidance, Domain, Extra, Kind, Parameter,
    Spec, Value, Window,
};

use super::reno::{counted, segments};
use crate::shared::round_rtt::{Round, RoundRtt};

/// The entry.
pub static SPEC: Spec = Spec {
    name: "veno",
    title: "TCP Veno",
    kind: Kind::CongestionAvoidance,
    source: "doi:10.1109/JSAC.2002.807336",
    year: 2003,
    confidence: Confidence::High,
    summary: "Reno that grows half as fast once three segments queue, and keeps 0.8 of the window after a loss without a queue.",
    parameters: &[
        Parameter {
            name: "beta",
            unit: "segments",
            default: Value::Number(3.0),
            domain: Domain::Range(0.0, 1000.0),
            doc: "queue that counts as congestion",
        },
        Parameter {
            name: "rtt",
            unit: "",
            default: Value::Word("round"),
            domain: Domain::Words(&["round", "last"]),
            doc: "R is the smallest sample of the last round, or the last sample (Linux, ns-3, whose minimum every ACK resets)",
        },
        Parameter {
            name: "counter",
            unit: "",
            default: Value::Word("real"),
            domain: Domain::Words(&["real", "linux"]),
            doc: "linux: whole segments, one per w + 1 ACKs",
        },
        Parameter {
            name: "increase",
            unit: "",
            default: Value::Word("delay"),
            domain: Domain::Words(&["delay", "ns3"]),
            doc: "delay: (2); ns3: 1/w per ACK whatever the queue, since ns-3 forgets its samples at every ACK and then has too few",
        },
    ],
    choices: &["the minimum of a round, and decisions from the third sample on", "the window, not FlightSize, is cut"],
    pitfalls: &["a base RTT that is too high takes every loss for a random one"],
    companion: "standard",
    needs: &[],
    refuses: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| Box::new(Veno::new(arguments))),
};

/// What a random loss leaves.
const RANDOM: f64 = 0.8;

/// Veno's avoidance.
#[derive(Clone, Debug)]
pub struct Veno {
    beta: f64,
    last: bool,
    counted: bool,
    reno: bool,
    rtts: RoundRtt,
    /// (R − base) / R; `None` until a round had enough samples.
    queued: Option<f64>,
    acks: f64,
    /// The next whole segment is due.
    turn: bool,
}

impl Veno {
    fn new(arguments: &Arguments) -> Self {
        Self {
            beta: arguments.number("beta"),
            last: arguments.word("rtt") == "last",
            counted: arguments.word("counter") == "linux",
            reno: arguments.word("increase") == "ns3",
            rtts: RoundRtt::default(),
            queued: None,
            acks: 0.0,
            turn: true,
        }
    }

    /// (1): the queue is shorter than β.
    #[inline]
    fn idle(&self, w: f64) -> bool {
        self.queued.is_none_or(|queued| w * queued < self.beta)
    }

    /// Linux' counter: an increment is due when more ACKs than the window came; every second one is left out with a queue.
    fn count(&mut self, n: f64, w: f64) -> f64 {
        if self.acks < w {
            self.acks += n;
            return w;
        }
        self.acks = 0.0;
        if self.idle(w) {
            return w + 1.0;
        }
        self.turn = !self.turn;
        if self.turn {
            w
        } else {
            w + 1.0
        }
    }
}

impl CongestionAvoidance for Veno {
    #[inline]
    fn observe(&mut self, ack: &Ack, _: f64) {
        let over = self.rtts.observe(ack);
        let base = self.rtts.base as f64;
        if self.last {
            if let Some(rtt) = ack.rtt {
                self.queued = Some(1.0 - base / rtt.0.max(1) as f64);
            }
        } else if let Some(round) = over.filter(Round::decides) {
            self.queued = Some(1.0 - base / round.min as f64);
        }
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64 {
        let n = segments(ack);
        if self.counted {
            return self.count(n, w);
        }
        if self.reno {
            return w + counted(ack, true) / w;
        }
        if self.idle(w) {
            w + n / w
        } else {
            w + n / (2.0 * w)
        } // (2)
    }

    fn on_congestion(&mut self, event: &Congestion, w: f64) -> f64 {
        let random = event.cause != Cause::Timeout && self.idle(w);
        (w * if random { RANDOM } else { 0.5 }).max(2.0) // (3)
    }

    fn on_window(&mut self, window: &Window) {
        if window.change == Change::Idle {
            // What was measured before the pause says nothing of the queue now.
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

    /// After a round of 100 ms and one of `ms`.
    fn at(ms: f64) -> Veno {
        let mut flow = Veno::new(&Arguments::defaults(SPEC.parameters));
        for (round, rtt) in [(1, 100.0), (2, ms), (3, ms)] {
            for _ in 0..3 {
                flow.observe(&Ack { round, rtt: Some(Duration((rtt * 1e6) as u64)), ..ack(1) }, 30.0);
            }
        }
        flow
    }

    /// The sheet: w = 30, base 100 ms; R = 105: N = 1.43, a loss gives 24; R = 115: N = 3.91, 15 and half the growth.
    #[test]
    fn the_queue_decides_what_a_loss_costs() {
        let mut flow = at(105.0);
        assert!((30.0 * flow.queued.unwrap() - 1.43).abs() < 0.005);
        assert_eq!(flow.on_ack(&ack(1), 30.0), 30.0 + 1.0 / 30.0);
        assert_eq!(flow.on_congestion(&loss(30), 30.0), 24.0);
        let mut flow = at(115.0);
        assert!((30.0 * flow.queued.unwrap() - 3.91).abs() < 0.005);
        assert_eq!(flow.on_ack(&ack(1), 30.0), 30.0 + 1.0 / 60.0);
        assert_eq!(flow.on_congestion(&loss(30), 30.0), 15.0);
    }

    /// The sheet: R = 111.11 ms is N = 3, which is congestion; a hair less is not. A timeout halves whatever the queue.
    #[test]
    fn three_segments_are_congestion() {
        assert_eq!(at(111.112).on_congestion(&loss(30), 30.0), 15.0);
        assert_eq!(at(111.110).on_congestion(&loss(30), 30.0), 24.0);
        assert_eq!(at(105.0).on_congestion(&timeout(30), 30.0), 15.0);
    }

    /// ns-3: 1/w per ACK of two segments, with a queue too.
    #[test]
    fn ns_3_grows_as_reno_per_ack() {
        let mut flow = Veno { reno: true, ..at(115.0) };
        assert_eq!(flow.on_ack(&ack(2), 30.0), 30.0 + 1.0 / 30.0);
    }

    /// Linux' counter by hand: with a queue one segment per two rounds of w + 1 ACKs.
    #[test]
    fn with_a_queue_every_second_round_adds_one() {
        let mut flow = Veno { counted: true, ..at(115.0) };
        let mut w = 30.0;
        for _ in 0..62 {
            w = flow.on_ack(&ack(1), w);
        }
        assert_eq!(w, 31.0);
    }
}
