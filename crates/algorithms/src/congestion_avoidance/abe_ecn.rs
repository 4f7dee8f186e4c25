//! ABE: Alternative Backoff with ECN, for Reno and CUBIC.
//!
//! Source: N. Khademi, M. Welzl, G. Armitage, G. Fairhurst, "TCP Alternative Backoff with ECN (ABE)", RFC 8511, 2018.
//!
//! ```text
//! mark:             ssthresh = max(β_ecn F, 2)    β_ecn = 0.8 (Reno), 0.85 (CUBIC)    (1)
//! loss, increase:   as the base algorithm                                             (2)
//! ```
//!
//! Units: segments; F is FlightSize, at most the window.
//! Differs from the source: nothing. A mark updates CUBIC's W_max and epoch as any congestion event does; K follows
//! from the window after (1).

use cwndlab_control::{
    options, Ack, Build, Cause, Confidence, Congestion, CongestionAvoidance, Extra, Kind, Need, Path, Spec, Window,
};

use super::reno::flight;
use super::{cubic, reno};

options! {
    struct Options {
        /// base algorithm: the increase of the window and the response to losses
        base: Base { Reno = "reno", Cubic = "cubic" } = Reno,
        /// multiplicative decrease factor of FlightSize for a mark with base=reno (RFC 8511, section 3)
        beta_reno: f64 = 0.8 in 0.5..=0.99,
        /// multiplicative decrease factor of FlightSize for a mark with base=cubic (section 4.1)
        beta_cubic: f64 = 0.85 in 0.5..=0.99,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "abe-ecn",
    title: "Alternative Backoff with ECN",
    kind: Kind::CongestionAvoidance,
    source: "RFC 8511",
    year: 2018,
    confidence: Confidence::High,
    summary: "Reno or CUBIC with a smaller reduction for an ECN mark than for a loss. Marks come from short queues, which the usual reduction would drain.",
    parameters: Options::PARAMETERS,
    choices: &["the decrease applies to FlightSize, as in RFC 8511, but to no more than the window"],
    pitfalls: &[
        "only the response to marks differs: with stack.ecn = \"off\" it equals its base; \"classic\" is enough",
        "in competition with its base, on the same marks, it takes two to three times the share of Reno, 1.6 times that of CUBIC",
        "where the marking threshold is high the standing queue is longer than with the base",
        "not to be confused with the slow start ABE TCP (`abe-tcp`)",
    ],
    companion: "standard",
    needs: &[Need::Ecn],
    incompatible: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|path, arguments| Box::new(AbeEcn::new(path, arguments.into()))),
};

/// Congestion avoidance of ABE: a base algorithm with its own response to marks.
#[derive(Clone, Debug)]
pub struct AbeEcn {
    base: Box<dyn CongestionAvoidance>,
    beta: f64,
}

impl AbeEcn {
    fn new(path: &Path, options: Options) -> Self {
        let (base, beta): (Box<dyn CongestionAvoidance>, f64) = match options.base {
            Base::Cubic => (Box::new(cubic::make(cubic::Options::default())), options.beta_cubic),
            Base::Reno => (Box::new(reno::plain(path)), options.beta_reno),
        };
        Self { base, beta }
    }
}

impl CongestionAvoidance for AbeEcn {
    #[inline]
    fn observe(&mut self, ack: &Ack, w: f64) {
        self.base.observe(ack, w);
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64 {
        self.base.on_ack(ack, w) // (2)
    }

    fn on_congestion(&mut self, event: &Congestion, w: f64) -> f64 {
        let after_loss = self.base.on_congestion(event, w);
        if event.cause == Cause::Ecn {
            (self.beta * flight(event).min(w)).max(2.0) // (1)
        } else {
            after_loss // (2)
        }
    }

    fn on_window(&mut self, window: &Window) {
        self.base.on_window(window);
    }

    fn extra(&self, put: Extra<'_>) {
        self.base.extra(put);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack_at, loss, path};
    use cwndlab_control::Arguments;
    use cwndlab_units::Time;

    fn flow(base: &str) -> AbeEcn {
        let algorithm = crate::catalogue().parse(&format!("abe(base={base})")).unwrap();
        AbeEcn::new(&path(10), (&algorithm.growth.arguments).into())
    }

    /// RFC 8511 by hand: a mark reduces 100 segments to 80 (Reno) or 85 (CUBIC), a loss to 50 or 70.
    #[test]
    fn a_mark_reduces_the_window_less_than_a_loss() {
        for (base, marked, lost) in [("reno", 80.0, 50.0), ("cubic", 85.0, 70.0)] {
            let mark = Congestion { cause: Cause::Ecn, ..loss(100) };
            assert_eq!(flow(base).on_congestion(&mark, 100.0), marked);
            assert_eq!(flow(base).on_congestion(&loss(100), 100.0), lost);
        }
    }

    /// (2): between congestion events every window equals that of the base.
    #[test]
    fn the_increase_equals_that_of_the_base() {
        for (base, spec) in [("reno", &reno::SPEC), ("cubic", &cubic::SPEC)] {
            let Build::CongestionAvoidance(make) = spec.build else { unreachable!() };
            let mut ours = flow(base);
            let mut theirs = make(&path(10), &Arguments::defaults(spec.parameters));
            let mut w = ours.on_congestion(&loss(100), 100.0);
            let mut v = theirs.on_congestion(&loss(100), 100.0);
            for step in 0..500 {
                let ack = ack_at(Time::from_nanos(step * 10_000_000), 1);
                (w, v) = (ours.on_ack(&ack, w), theirs.on_ack(&ack, v));
                assert_eq!(w, v, "{base}, step {step}");
            }
            assert!(w > 51.0);
        }
    }
}
