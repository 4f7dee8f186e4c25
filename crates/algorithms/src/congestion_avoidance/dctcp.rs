//! DCTCP: Data Center TCP, whose reduction is proportional to the fraction of marked bytes.
//!
//! Source: M. Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010; S. Bensley et al., RFC 8257, 2017.
//!
//! ```text
//! once per window of data: F = marked / acked, α ← (1 − g) α + g F        (1)
//! each ack:                w += n / w                                    (2)   as Reno
//! mark, once per window:   w = ssthresh = max(w (1 − α/2), 2)            (3)
//! loss:                    w = ssthresh = max(F/2, 2), F: FlightSize     (4)   as Reno, for any α
//! Linux: α in 1/1024, α −= α >> g' (α = 0 where the shift gives 0), α += (marked << (10 − g')) / acked   (5)
//!        ssthresh = max(w − (w α >> 11), 2), whole segments                                          (6)
//! ```
//!
//! Units: windows in segments, counters in bytes; α and g are ratios, g' = log2(1/g).
//! Differs from the source: the transport reports a mark before the ACK that carries it, so (3) uses the α of the
//! windows that ended before that ACK. Losses, timeouts and idle periods do not change α.

use cwndlab_control::{
    options, Ack, Build, Cause, Confidence, Congestion, CongestionAvoidance, Extra, Kind, Need, Spec,
};

use super::reno::{flight, segments};

options! {
    struct Options {
        /// weight of the last window in alpha; rounding=linux takes the next smaller power of two
        g: f64 = 0.0625 in 0.001..=1.0,
        /// initial alpha; with 1 (RFC 8257, Linux) the response to the first mark is that to a loss
        alpha0: f64 = 1.0 in 0.0..=1.0,
        /// linux: alpha in 1/1024, windows in whole segments, and half the window after a loss
        rounding: Rounding { Exact = "exact", Linux = "linux" } = Exact,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "dctcp",
    title: "Data Center TCP",
    kind: Kind::CongestionAvoidance,
    source: "doi:10.1145/1851182.1851192; RFC 8257",
    year: 2010,
    confidence: Confidence::High,
    summary: "Estimates alpha, the fraction of marked bytes per window, and reduces the window by w*alpha/2 once per window with marks. The increase and the response to losses are Reno's.",
    parameters: Options::PARAMETERS,
    choices: &[
        "a loss halves FlightSize, since RFC 8257 refers to RFC 5681; rounding=linux halves the window, as Linux does",
        "a second mark in the window after a reduction takes effect in the next window",
        "a loss in the window after a mark reduces once more, by half of the window chosen at the mark (Linux, dctcp_state: of the one reached), since RFC 8257, 3.5, answers losses as without marks; in QUIC a window of data is reduced once (RFC 9002, 7.3.2)",
        "with rounding=linux alpha becomes 0 after a window without marks once it is below 16/1024",
    ],
    pitfalls: &[
        "needs stack.ecn = \"accurate\" and a queue that marks by its instantaneous length (step-ecn); with stack.ecn = \"off\" it is Reno",
        "in competition with CUBIC or Reno on the same marks it takes nearly all bandwidth; in competition with a flow without ECN, whose queue stays above the threshold, it gets nearly none",
        "of two flows the one with the shorter RTT takes much more than its share, as with Reno",
        "with a threshold below a seventh of the BDP the queue empties after reductions",
        "a sender's bursts (stack.tso_burst, up to 64 kB on fast links) must fit below the threshold, or the window collapses: K of RFC 8257 assumes smooth arrivals",
        "the minimum window is two segments: flows more numerous than half the segments of BDP plus threshold keep the queue above the threshold",
    ],
    companion: "standard",
    needs: &[Need::Ecn, Need::LossInReduction],
    incompatible: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| Box::new(Dctcp::new(arguments.into()))),
};

/// The value 1 of α in Linux.
const ONE: u64 = 1024;

/// Congestion avoidance of DCTCP.
#[derive(Clone, Debug)]
pub struct Dctcp {
    g: f64,
    alpha: f64,
    /// log2(1/g) for `rounding=linux`; otherwise `None`.
    shift: Option<u32>,
    alpha_1024: u64,
    acked: u64,
    marked: u64,
    round: u64,
    /// Acknowledged segments not yet turned into window (Linux).
    credit: f64,
}

impl Dctcp {
    fn new(options: Options) -> Self {
        let g = options.g;
        let alpha = options.alpha0;
        Self {
            g,
            alpha,
            shift: (options.rounding == Rounding::Linux).then(|| (1.0 / g).ceil().clamp(1.0, 1024.0) as u32).map(
                // The smallest power of two that is at least 1/g.
                |inverse| inverse.next_power_of_two().trailing_zeros(),
            ),
            alpha_1024: (alpha * ONE as f64) as u64,
            acked: 0,
            marked: 0,
            round: 0,
            credit: 0.0,
        }
    }

    /// Updates α at the end of a window of data.
    fn end_window(&mut self) {
        if self.acked == 0 {
            return;
        }
        let marked = self.marked.min(self.acked);
        if let Some(shift) = self.shift {
            let alpha = self.alpha_1024;
            let decay = if alpha >> shift == 0 { alpha } else { alpha >> shift };
            let gain = (marked << (10 - shift)) / self.acked;
            self.alpha_1024 = (alpha - decay + gain).min(ONE); // (5)
            self.alpha = self.alpha_1024 as f64 / ONE as f64;
        } else {
            let share = marked as f64 / self.acked as f64;
            self.alpha = (1.0 - self.g) * self.alpha + self.g * share; // (1)
        }
        (self.acked, self.marked) = (0, 0);
    }
}

impl CongestionAvoidance for Dctcp {
    #[inline]
    fn observe(&mut self, ack: &Ack, _: f64) {
        self.acked += ack.acked.0;
        self.marked += ack.ce.0;
        if ack.round > self.round {
            self.round = ack.round;
            self.end_window();
        }
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64 {
        if self.shift.is_none() {
            return w + segments(ack) / w; // (2)
        }
        self.credit += segments(ack);
        if self.credit < w {
            return w;
        }
        self.credit -= w;
        w + 1.0
    }

    fn on_congestion(&mut self, event: &Congestion, w: f64) -> f64 {
        self.credit = 0.0;
        let window = match (event.cause, self.shift) {
            (Cause::Ecn, None) => w * (1.0 - self.alpha / 2.0), // (3)
            (Cause::Ecn, Some(_)) => {
                let whole = w as u64;
                (whole - ((whole * self.alpha_1024) >> 11)) as f64 // (6)
            }
            (_, None) => flight(event).min(w) / 2.0, // (4)
            (_, Some(_)) => (w / 2.0).floor(),
        };
        window.max(2.0)
    }

    fn extra(&self, put: Extra<'_>) {
        put("alpha", self.alpha);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack, loss, MSS};

    fn flow(rounding: &str) -> Dctcp {
        let algorithm = crate::catalogue().parse(&format!("dctcp(rounding={rounding})")).unwrap();
        Dctcp::new((&algorithm.growth.arguments).into())
    }

    /// Delivers a window of ten segments, of which `marked` carry a mark.
    fn window(flow: &mut Dctcp, round: u64, marked: u64) {
        let mut ack = ack(10);
        (ack.round, ack.ce) = (round, MSS * marked);
        flow.observe(&ack, 10.0);
    }

    fn mark() -> Congestion {
        Congestion { cause: Cause::Ecn, ..loss(100) }
    }

    /// `known-answers.csv`: α from 1 after ten windows without marks: 0.9375¹⁰, and Linux' 540/1024.
    #[test]
    fn alpha_decays_by_a_sixteenth_per_unmarked_window() {
        let mut exact = flow("exact");
        let mut linux = flow("linux");
        for round in 1..=10 {
            window(&mut exact, round, 0);
            window(&mut linux, round, 0);
        }
        assert!((exact.alpha - 0.524_460_475_048_727).abs() < 1e-15, "{}", exact.alpha);
        assert_eq!(linux.alpha_1024, 540);
    }

    /// RFC 8257, section 3.3, by hand: α = 1 halves the window, α = 1/4 reduces it to 7/8; a loss halves it for any α.
    #[test]
    fn a_mark_reduces_the_window_by_half_of_alpha_and_a_loss_by_half() {
        for (rounding, kept) in [("exact", 87.5), ("linux", 88.0)] {
            let mut flow = flow(rounding);
            window(&mut flow, 1, 10);
            assert_eq!(flow.on_congestion(&mark(), 100.0), 50.0);
            (flow.alpha, flow.alpha_1024) = (0.25, 256);
            assert_eq!(flow.on_congestion(&mark(), 100.0), kept);
            assert_eq!(flow.on_congestion(&loss(100), 100.0), 50.0);
            assert_eq!(flow.on_congestion(&mark(), 2.0), 2.0);
        }
    }

    /// (5), by hand: below 16/1024 Linux resets α to 0 in one step; exact arithmetic reaches 0 only in the limit.
    #[test]
    fn integer_alpha_reaches_zero() {
        let mut flow = flow("linux");
        flow.alpha_1024 = 16;
        window(&mut flow, 1, 0);
        assert_eq!(flow.alpha_1024, 15);
        window(&mut flow, 2, 0);
        assert_eq!(flow.alpha_1024, 0);
        window(&mut flow, 3, 5);
        assert_eq!(flow.alpha_1024, 32); // half marked: 64/2
    }

    /// (1): the fraction is of bytes, and a window ends with the transport's round.
    #[test]
    fn alpha_uses_the_marked_bytes_of_a_window() {
        let mut flow = flow("exact");
        flow.alpha = 0.0;
        let mut first = ack(3);
        (first.round, first.ce) = (0, MSS);
        flow.observe(&first, 10.0);
        assert_eq!(flow.alpha, 0.0);
        let mut last = ack(1);
        last.round = 1;
        flow.observe(&last, 10.0);
        assert_eq!(flow.alpha, 0.25 / 16.0);
    }
}
