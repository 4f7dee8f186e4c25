//! CCM-SS (Congestion Control Module for Slow Start): HyStart with bounds on the window at the exit.
//!
//! Source: M. Ahmad et al., "End-to-End Loss Based TCP Congestion Control Mechanism as a Secured Communication
//! Technology for Smart Healthcare Enterprises", IEEE Access 6, 2018. It replaces HyStart in CUBIC.
//!
//! ```text
//! each ack: w += n                                                                        (1)
//! train of ACKs at most 2 ms apart: b = (bytes but the first) / (t_last − t_first)        (2)   Eqs. 10–12
//! B = the maximum b of the last two rounds;  D = RTT_min / 2                               (3)   Eqs. 15, 16
//! S = B max(0, RTT_max − RTT_min)                                                         (4)
//! L = μ β B D,  U = B D + S,  μ = 1.5, β = 0.2                                            (5)
//! w < L: no exit;  L ≤ w < U: exit when a detector of HyStart fires;  w ≥ U: exit         (6)
//!   edges = strict: w ≤ L, L < w ≤ U, w > U
//! bound = hold: w within [L, U] too                                                      (7)
//! ```
//!
//! Units: bytes, seconds; windows in segments. Confidence: medium for the intent, low for the details.
//! Differs from the source, which is inconsistent: its Eq. 17 (B = minD/cwnd) is inverted; the bounds restrict the exit
//! point, since it gives no rule for the initial window; S, which a sender cannot measure, is estimated from the
//! maximum RTT (`s = oracle` takes the value of the simulator); congestion avoidance is the selected one, not the Reno
//! of its Algorithm 1.

use cwndlab_control::{
    options, Ack, Build, Change, Confidence, Congestion, Extra, Kind, Path, Reason, SlowStart, Spec, Step, Window,
};

use crate::congestion_avoidance::reno::segments;
use crate::shared::exit;
use crate::shared::hybrid::{Hybrid, GAP};
use crate::shared::train::Train;

options! {
    struct Options {
        /// μ, scale of the lower bound; 1 gives HyStart with a bound that scales with the bandwidth, the proper
        /// baseline
        mu: f64 = 1.5 in 0.5..=10.0,
        /// β, lower bound as a fraction of B*D
        beta: f64 = 0.2 in 0.0..=1.0,
        /// D: half of the minimum RTT (half: the paper) or the minimum RTT (full)
        delay: DelayPart { Half = "half", Full = "full" } = Half,
        /// the buffer S: estimated from the maximum RTT, or the value of the simulator (oracle)
        s: BufferSource { Estimate = "estimate", Oracle = "oracle" } = Estimate,
        /// bounds on the exit (both, or the lower one alone); none: HyStart with its low window of 16 segments; hold: both
        /// also hold the window between them, as Eqs. 19 and 20 say of it
        bound: Bound { Both = "both", Lower = "lower", None = "none", Hold = "hold" } = Both,
        /// comparison of the window with the bounds: an exit at a bound or beyond (inclusive), or beyond it, as Eqs. 9,
        /// 19 and 20 print it (strict)
        edges: Edges { Inclusive = "inclusive", Strict = "strict" } = Inclusive,
        /// repaired: B from the train; literal: B = D/cwnd as printed, which gives bounds close to 0
        eq17: Eq17 { Repaired = "repaired", Literal = "literal" } = Repaired,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "ccm-ss",
    title: "Congestion Control Module for Slow Start (CCM-SS)",
    kind: Kind::SlowStart,
    source: "Ahmad et al., IEEE Access 2018",
    year: 2018,
    confidence: Confidence::Medium,
    summary: "HyStart with bounds on the window at the exit: no exit below mu*beta*B*D, immediate exit above B*D + S. B is the bandwidth from ACK trains, D half the minimum RTT, S the buffer.",
    parameters: Options::PARAMETERS,
    choices: &[
        "Eq. 17 is inverted; B comes from the train (Eqs. 10-12)",
        "the bounds restrict the exit point; they are not a floor or clamp of the window",
        "S is estimated from the observed backlog, which is a lower bound of the buffer",
        "while B is unknown the lower bound is HyStart's low window of 16 segments and there is no upper bound",
        "recommended reading, in which most claims of the paper hold together (docs/reproductions.md): eq17=literal as printed, over Reno with a decrease of 0.3, beside CUBIC with HyStart and 0.2. No default here, since the sides differ in more than the slow start",
    ],
    pitfalls: &[
        "with D = RTT_min/2 and a small S the upper bound is below the BDP: slow start ends early, and congestion avoidance fills the path slowly",
        "mu has an effect only on exits between 0.2 and 0.3 of B*D",
    ],
    companion: "",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::SlowStart(|path, arguments| Box::new(CcmSs::new(path, arguments.into()))),
};

/// HyStart's low window, the lower bound while B is unknown, segments.
const LOW_WINDOW: f64 = 16.0;

/// Slow start of CCM-SS.
#[derive(Clone, Debug)]
pub struct CcmSs {
    share: f64,
    full: bool,
    oracle: Option<f64>,
    lower: bool,
    upper: bool,
    literal: bool,
    holds: bool,
    strict: bool,
    hybrid: Hybrid,
    rtt_max: u64,
    round: u64,
    train: Train,
    /// Maximum rates of this round and the last, bytes/s.
    rates: [f64; 2],
    mss: f64,
}

impl CcmSs {
    fn new(path: &Path, options: Options) -> Self {
        Self {
            share: options.mu * options.beta,
            full: options.delay == DelayPart::Full,
            oracle: path.oracle_buffer.filter(|_| options.s == BufferSource::Oracle).map(|bytes| bytes.0 as f64),
            lower: options.bound != Bound::None,
            upper: matches!(options.bound, Bound::Both | Bound::Hold),
            literal: options.eq17 == Eq17::Literal,
            holds: options.bound == Bound::Hold,
            strict: options.edges == Edges::Strict,
            hybrid: Hybrid::default(),
            rtt_max: 0,
            round: u64::MAX,
            train: Train::default(),
            rates: [0.0; 2],
            mss: path.mss.0 as f64,
        }
    }

    fn observe(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.rtt_max = self.rtt_max.max(rtt.as_nanos());
        }
        if self.round != ack.round {
            self.end_train();
            self.round = ack.round;
            self.rates = [0.0, self.rates[0]];
        }
        if let Some(ended) = self.train.push(ack, GAP) {
            self.rates[0] = self.rates[0].max(ended.rate());
        }
    }

    /// Ends the train and takes its rate as a sample.
    fn end_train(&mut self) {
        self.rates[0] = self.rates[0].max(self.train.rate());
        self.train = Train::default();
    }

    /// B, D, S of (3) and (4): bytes/s, s, bytes. B is 0 while unknown.
    fn path(&self, w: f64) -> (f64, f64, f64) {
        let rtt_min = self.hybrid.rtt_min as f64 * 1e-9;
        let d = if self.full { rtt_min } else { rtt_min / 2.0 };
        let b = if self.literal { d / w } else { self.rates[0].max(self.rates[1]) };
        let estimate = b * (self.rtt_max.saturating_sub(self.hybrid.rtt_min)) as f64 * 1e-9;
        (b, d, self.oracle.unwrap_or(estimate))
    }

    /// L and U of (5), segments.
    fn bounds(&self, w: f64) -> (f64, f64) {
        let (b, d, s) = self.path(w);
        if b == 0.0 {
            return (LOW_WINDOW, f64::INFINITY);
        }
        let lower = if self.lower { self.share * b * d / self.mss } else { LOW_WINDOW };
        let upper = if self.upper { (b * d + s) / self.mss } else { f64::INFINITY };
        (lower, upper)
    }
}

impl SlowStart for CcmSs {
    fn on_ack(&mut self, ack: &Ack, w: f64, _: f64) -> Step {
        self.hybrid.observe(ack);
        self.observe(ack);
        let signal = self.hybrid.detect(ack, self.hybrid.rtt_min / 2);
        let (lower, upper) = self.bounds(w);
        // No margins: the window rises with every ACK.
        let beyond = |bound: f64| if self.strict { w > bound } else { w >= bound };
        let reason = if beyond(upper) { Some(Reason::Cap) } else { signal.filter(|_| beyond(lower)) }; // (6)
        let exit = reason.map(|reason| {
            let (b, d, _) = self.path(w);
            exit::now(reason, w, b * d / self.mss)
        });
        let n = segments(ack); // (1)
        let growth = if self.holds { n.max(lower - w).min((upper - w).max(0.0)) } else { n }; // (7)
        Step::with_exit(growth, exit)
    }

    fn on_congestion(&mut self, event: &Congestion, _: f64, ssthresh: f64) -> f64 {
        if event.restart {
            self.restart();
        }
        ssthresh
    }

    fn on_window(&mut self, window: &Window) {
        if window.change == Change::Idle {
            self.restart();
        }
    }

    fn extra(&self, put: Extra<'_>) {
        let (b, _, s) = self.path(1.0);
        put("b_bps", b * 8.0);
        put("s_bytes", s);
        let (lower, upper) = self.bounds(1.0);
        put("lower_segments", lower);
        put("upper_segments", upper);
    }
}

impl CcmSs {
    fn restart(&mut self) {
        self.hybrid.restart();
        (self.rtt_max, self.round, self.train, self.rates) = (0, u64::MAX, Train::default(), [0.0; 2]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::path;

    fn module(mu: &str, oracle: Option<u64>) -> CcmSs {
        let text = format!("reno+ccm-ss(mu={mu}{})", if oracle.is_some() { ", s=oracle" } else { "" });
        let algorithm = crate::catalogue().parse(&text).unwrap();
        let mut path = path(10);
        path.mss = cwndlab_units::Bytes(1460);
        path.oracle_buffer = oracle.map(cwndlab_units::Bytes);
        let mut module = CcmSs::new(&path, (&algorithm.slow_start.unwrap().arguments).into());
        module.rates = [100e6 / 8.0, 0.0];
        module.hybrid.rtt_min = 100_000_000;
        module
    }

    /// `known-answers.csv`: B = 100 Mbit/s, RTT_min = 100 ms, MSS 1460.
    #[test]
    fn the_bounds_match_the_known_answers() {
        assert!((module("1", None).bounds(1.0).0 - 85.616_438_356_164_38).abs() < 1e-9);
        assert!((module("1.5", None).bounds(1.0).0 - 128.424_657_534_246_6).abs() < 1e-9);
        let bdp = 1_250_000;
        assert!((module("1.5", Some(bdp)).bounds(1.0).1 - 1_284.246_575_342_465_8).abs() < 1e-9);
        assert!((module("1.5", Some(bdp / 10)).bounds(1.0).1 - 513.698_630_136_986_3).abs() < 1e-9);
    }

    /// By hand, with the bounds of the known answers, 128.4 and 1284.2 segments: a window of 10 rises to the lower bound
    /// at once where the bounds hold it, and by the acknowledged segment otherwise; one of 1284 rises no further than to
    /// the upper bound. Equal to the upper bound it ends slow start, unless the comparison is strict.
    #[test]
    fn bounds_can_hold_the_window() {
        use cwndlab_control::testing::ack;
        let grown = |options: &str, w: f64| {
            let algorithm = crate::catalogue().parse(&format!("reno+ccm-ss(s=oracle{options})")).unwrap();
            let mut path = path(10);
            path.mss = cwndlab_units::Bytes(1460);
            path.oracle_buffer = Some(cwndlab_units::Bytes(1_250_000));
            let mut module = CcmSs::new(&path, (&algorithm.slow_start.unwrap().arguments).into());
            (module.rates, module.round) = ([100e6 / 8.0, 100e6 / 8.0], ack(1).round);
            module.hybrid.rtt_min = 100_000_000;
            let upper = module.bounds(1.0).1;
            let step = module.on_ack(&ack(1), if w == 0.0 { upper } else { w }, f64::INFINITY);
            (step.grow, step.exit.is_some())
        };
        assert_eq!(grown("", 10.0), (1.0, false));
        assert!((grown(", bound=hold", 10.0).0 - 118.424_657_534_246_6).abs() < 1e-9);
        assert!((grown(", bound=hold", 1284.0).0 - 0.246_575_342_465_8).abs() < 1e-9);
        assert_eq!((grown("", 0.0).1, grown(", edges=strict", 0.0).1), (true, false));
    }
}
