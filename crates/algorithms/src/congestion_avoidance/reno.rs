//! Reno: additive increase, multiplicative decrease.
//!
//! Source: M. Allman, V. Paxson, E. Blanton, "TCP Congestion Control", RFC 5681, 2009.
//!
//! ```text
//! each ack:         w += n / w                 (1)   one segment per round trip
//! congestion event: ssthresh = max(β F, 2)     (2)   F: FlightSize, β = 1/2
//! ```
//!
//! Units: w, n, F in segments.
//! Differs from the source: nothing. `abc = 1` counts bytes and has whole segments, as RFC 3465 and Linux;
//! `base = cwnd` halves the window instead of FlightSize, as Linux does (`reno(abc=1, base=cwnd)` is Linux' Reno);
//! `per_ack` counts ACKs, as ns-3's `TcpNewReno`.

use cwndlab_control::{
    options, Ack, Build, Change, Confidence, Congestion, CongestionAvoidance, Kind, Path, Spec, Window,
};
use cwndlab_units::maths::float;

use crate::shared::linux_counter::LinuxCounter;
use crate::shared::margin::whole_down;

options! {
    pub(crate) struct Options {
        /// 1: counts acknowledged bytes and has whole segments, rounded down where it is reduced (RFC 3465, Linux); 0:
        /// fractions of segments
        abc: f64 = 0.0 in 0.0..=1.0,
        /// quantity that a congestion event reduces: FlightSize (RFC 5681) or the window (Linux)
        base: Base { Flight = "flight", Cwnd = "cwnd" } = Flight,
        /// multiplicative decrease factor of FlightSize, or of the window
        beta: f64 = 0.5 in 0.1..=0.99,
        /// true: 1/w per ACK, regardless of the bytes that it acknowledges (ns-3)
        per_ack: PerAck { False = "false", True = "true" } = False,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "reno",
    title: "Reno",
    kind: Kind::CongestionAvoidance,
    source: "RFC 5681",
    year: 2009,
    confidence: Confidence::High,
    summary: "Additive increase of one segment per round trip (w += n/w); a congestion event halves FlightSize.",
    parameters: Options::PARAMETERS,
    choices: &["RFC 5681 halves FlightSize and adds fractions of a segment, Linux halves the window and adds whole segments; the default is that of the RFC"],
    pitfalls: &["an increment of one segment per round trip takes hours to fill a path with a large BDP"],
    companion: "standard",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| Box::new(Reno::new(arguments.into()))),
};

/// Congestion avoidance of Reno.
#[derive(Clone, Debug)]
pub struct Reno {
    options: Options,
    byte_counting: bool,
    counter: LinuxCounter,
}

impl Reno {
    fn new(options: Options) -> Self {
        Self { byte_counting: options.abc >= 1.0, options, counter: LinuxCounter::default() }
    }
}

/// Segments that an ACK acknowledges.
#[inline]
pub(crate) fn segments(ack: &Ack) -> f64 {
    float(ack.acked.0) / float(ack.mss.0)
}

/// The n of the increase n/w: acknowledged segments, or the number of ACKs with `per_ack`.
#[inline]
pub(crate) fn acked_count(ack: &Ack, per_ack: bool) -> f64 {
    if per_ack {
        f64::from(ack.acks)
    } else {
        segments(ack)
    }
}

/// FlightSize in segments.
pub(crate) fn flight(event: &Congestion) -> f64 {
    event.in_flight.0 as f64 / event.mss.0 as f64
}

impl CongestionAvoidance for Reno {
    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64 {
        let n = acked_count(ack, self.options.per_ack == PerAck::True);
        if !self.byte_counting {
            return w + n / w; // (1)
        }
        w + self.counter.add(n, w)
    }

    fn on_congestion(&mut self, event: &Congestion, w: f64) -> f64 {
        self.counter.reset();
        let base = if self.options.base == Base::Cwnd { w } else { flight(event) };
        // (2); RFC 3465 and Linux count whole segments (tcp_reno_ssthresh).
        let reduced = base * self.options.beta;
        (if self.byte_counting { whole_down(reduced) } else { reduced }).max(2.0)
    }

    fn on_window(&mut self, window: &Window) {
        // Linux restores window and threshold; tcp_init_cwnd_reduction has reset snd_cwnd_cnt.
        if window.change == Change::Undo && self.byte_counting && self.options.base == Base::Cwnd {
            self.counter.reset();
        }
    }
}

/// Reno with default parameters, for tests and for algorithms that fall back to Reno.
#[must_use]
pub fn plain(_: &Path) -> Reno {
    Reno::new(Options::default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack, loss, undo};

    fn reno() -> Reno {
        Reno::new(Options::default())
    }

    /// RFC 5681, equation (4), by hand: F = 20 gives 10, F = 3 gives the floor of 2.
    #[test]
    fn ssthresh_is_half_of_flight_size_and_at_least_two() {
        assert_eq!(reno().on_congestion(&loss(20), 99.0), 10.0);
        assert_eq!(reno().on_congestion(&loss(3), 99.0), 2.0);
    }

    /// By hand: β = 0.7 reduces 20 segments to 14.
    #[test]
    fn beta_scales_flight_size() {
        assert_eq!(Reno::new(Options { beta: 0.7, ..Options::default() }).on_congestion(&loss(20), 99.0), 14.0);
    }

    /// tcp_reno_ssthresh (max(cwnd >> 1, 2)) and tcp_cong_avoid_ai, by hand: 9 segments become 4, 3 become 2, whatever is in
    /// flight; the fourth ACK of one segment from 4 adds one, as does the third ACK of two from 5, with one left over.
    #[test]
    fn counting_bytes_and_halving_the_window_is_linux_arithmetic() {
        let mut flow = Reno::new(Options { abc: 1.0, base: Base::Cwnd, ..Options::default() });
        assert_eq!([9.0, 3.0].map(|w| flow.on_congestion(&loss(20), w)), [4.0, 2.0]);
        let mut windows = |acks: &[u64], w: f64| {
            acks.iter().scan(w, |w, n| (*w = flow.on_ack(&ack(*n), *w), Some(*w)).1).collect::<Vec<_>>()
        };
        assert_eq!(windows(&[1, 1, 1, 1], 4.0), [4.0, 4.0, 4.0, 5.0]);
        assert_eq!(windows(&[2, 2, 2], 5.0), [5.0, 5.0, 6.0]);
        assert_eq!(windows(&[2, 2, 1], 6.0), [6.0, 6.0, 7.0]);
    }

    /// tcp_init_cwnd_reduction and tcp_undo_cwnd_reduction, by hand: of four segments, three are acknowledged; after a
    /// reduction that is undone the window grows with the fourth ACK from there.
    #[test]
    fn an_undo_does_not_restore_the_counter_of_linux() {
        let mut flow = Reno::new(Options { abc: 1.0, base: Base::Cwnd, ..Options::default() });
        let grown = |flow: &mut Reno, acks: usize| (0..acks).fold(4.0, |w, _| flow.on_ack(&ack(1), w));
        assert_eq!(grown(&mut flow, 3), 4.0);
        flow.on_window(&undo()); // the transport has restored the copy from before the reduction
        assert_eq!(grown(&mut flow, 3), 4.0);
        assert_eq!(flow.on_ack(&ack(1), 4.0), 5.0);
    }

    /// By hand: ten ACKs from w = 10 add Σ 1/w, which is 0.96 with real arithmetic and exactly 1 when bytes are
    /// counted.
    #[test]
    fn a_round_trip_adds_one_segment() {
        let mut w = 10.0;
        let mut flow = reno();
        for _ in 0..10 {
            w = flow.on_ack(&ack(1), w);
        }
        assert!((w - 10.958).abs() < 0.002, "{w}");
        let mut counted = Reno::new(Options { abc: 1.0, ..Options::default() });
        w = 10.0;
        for _ in 0..10 {
            w = counted.on_ack(&ack(1), w);
        }
        assert_eq!(w, 11.0);
    }
}
