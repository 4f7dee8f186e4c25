//! Scalable TCP: multiplicative increase, multiplicative decrease.
//!
//! Source: T. Kelly, "Scalable TCP: improving performance in highspeed wide area networks", ACM CCR 33(2), 2003,
//! doi:10.1145/956981.956989.
//!
//! ```text
//! each ack:         w += a n,  a = 1/100                            (1)
//! congestion event: w −= b w,  b = 1/8                              (2)
//! recovery time:    ln(1/(1 − b)) / ln(1 + a) = 13.4 round trips    (3)
//! below the legacy window of 16 segments: Reno                      (4)
//! ```
//!
//! Units: segments.
//! Differs from the source: `ai_cnt = 50` or 100 selects Linux' counter instead of (1) and (4): one segment per
//! min(w, ai_cnt) + 1 ACKs, with `counter = linux-4` per min(w, ai_cnt) ACKs (Linux 4 to 5.6, which has 50), or with
//! `counter = linux-6` per min(w, ai_cnt) acknowledged segments (5.7 and later, 100).

use cwndlab_control::{options, Ack, Build, Change, Confidence, Congestion, CongestionAvoidance, Kind, Spec, Window};
use cwndlab_units::maths::floor;

use super::reno::{flight, segments};
use crate::shared::linux_counter::LinuxCounter;

options! {
    struct Options {
        /// increment per acknowledged segment
        a: f64 = 0.01 in 0.0001..=1.0,
        /// decrease fraction
        b: f64 = 0.125 in 0.01..=0.9,
        /// 0: the rule of the paper; 50 or 100: Linux' counter with this number of ACKs, or of acknowledged segments, for
        /// a segment of window
        ai_cnt: f64["ACKs"] = 0.0 in 0.0..=1000.0,
        /// Linux' counter: one segment per ai_cnt + 1 ACKs (2.6), per ai_cnt ACKs (4 to 5.6), or per ai_cnt acknowledged
        /// segments (5.7 and later)
        counter: Counter { Linux = "linux", Linux4 = "linux-4", Linux6 = "linux-6" } = Linux,
        /// half: in recovery the window may fall to half of ssthresh, as in the Linux modules of ns-2.35 (needs fack)
        min_cwnd: MinCwnd { Ssthresh = "ssthresh", Half = "half" } = Ssthresh,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "scalable",
    title: "Scalable TCP",
    kind: Kind::CongestionAvoidance,
    source: "doi:10.1145/956981.956989",
    year: 2003,
    confidence: Confidence::High,
    summary: "Increase by 1 % of the window per round trip, decrease by 1/8: the time from a loss until the window has recovered does not depend on the rate.",
    parameters: Options::PARAMETERS,
    choices: &["a = 1/100 as in the paper; Linux 2.6 and ns-2.35 have 1/50, which compensates delayed ACKs"],
    pitfalls: &["with synchronised losses the ratio of two flows' windows never changes: they do not converge to fairness"],
    companion: "standard",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| Box::new(Scalable::new(arguments.into()))),
};

const LEGACY_WINDOW: f64 = 16.0;

/// Congestion avoidance of Scalable TCP.
#[derive(Clone, Debug)]
pub struct Scalable {
    a: f64,
    b: f64,
    ai_cnt: f64,
    counts: Counter,
    /// ACKs or acknowledged segments not yet turned into window (Linux).
    counter: LinuxCounter,
}

impl Scalable {
    fn new(options: Options) -> Self {
        Self {
            a: options.a,
            b: options.b,
            ai_cnt: options.ai_cnt,
            counts: options.counter,
            counter: LinuxCounter::default(),
        }
    }
}

impl CongestionAvoidance for Scalable {
    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64 {
        let n = segments(ack);
        if self.ai_cnt > 0.0 {
            let (acks, cnt) = (f64::from(ack.acks), floor(w.min(self.ai_cnt)));
            // `tcp_scalable.c` halves ai_cnt for ACKs that are delayed.
            return w + match self.counts {
                Counter::Linux => f64::from(u8::from(self.counter.exceeds(acks, cnt))),
                Counter::Linux4 => self.counter.add(acks, cnt),
                Counter::Linux6 => self.counter.add(n, cnt),
            };
        }
        // No margins: the window rises on both branches.
        if w <= LEGACY_WINDOW {
            w + n / w
        } else {
            w + self.a * n
        } // (4), (1)
    }

    fn on_congestion(&mut self, event: &Congestion, w: f64) -> f64 {
        if self.counts != Counter::Linux {
            self.counter.reset();
        }
        if self.ai_cnt == 0.0 && w <= LEGACY_WINDOW {
            return (flight(event) / 2.0).max(2.0);
        }
        if self.counts != Counter::Linux {
            return (floor(w) - floor(self.b * floor(w))).max(2.0);
        }
        (w - self.b * w).max(2.0) // (2)
    }

    fn on_window(&mut self, window: &Window) {
        if window.change == Change::Undo && self.counts != Counter::Linux {
            self.counter.reset(); // tcp_init_cwnd_reduction reset snd_cwnd_cnt
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack, loss};

    /// (2) by hand: a loss reduces 800 segments by one eighth, to 700.
    #[test]
    fn a_loss_reduces_the_window_by_one_eighth() {
        let mut flow = Scalable::new(Options::default());
        assert_eq!(flow.on_congestion(&loss(800), 800.0), 700.0);
    }

    /// (3) and `known-answers.csv`: 13.419794235485892 round trips, so the window has recovered in the 14th, at any
    /// window.
    #[test]
    fn recovery_takes_fourteen_rounds_at_any_window() {
        for segments in [100.0, 1_000.0, 100_000.0] {
            let mut flow = Scalable::new(Options::default());
            let mut w = flow.on_congestion(&loss(1), segments);
            let mut rounds = 0;
            while w < segments {
                w = flow.on_ack(&ack(floor(w) as u64), w);
                rounds += 1;
            }
            assert_eq!(rounds, 14, "window of {segments} segments");
        }
    }

    /// `tcp_scalable.c` of 2.6 counts ACKs (`snd_cwnd_cnt++`), and takes 50 of them since receivers delay: by hand, the
    /// 51st adds a segment, of however many segments they are.
    #[test]
    fn linux_2_6_counts_acks() {
        for segments in [1, 2] {
            let mut flow = Scalable::new(Options { ai_cnt: 50.0, counter: Counter::Linux, ..Options::default() });
            assert_eq!((1..=60).find(|_| flow.on_ack(&ack(segments), 200.0) > 200.0), Some(51));
        }
    }

    /// Linux 4 to 5.6, by hand: at 200 segments the 50th ACK adds one, of however many segments they are. A loss reduces 201
    /// by 201 >> 3 = 25.
    #[test]
    fn linux_4_adds_a_segment_for_fifty_acks() {
        let mut flow = Scalable::new(Options { ai_cnt: 50.0, counter: Counter::Linux4, ..Options::default() });
        assert_eq!((1..=60).find(|_| flow.on_ack(&ack(2), 200.0) > 200.0), Some(50));
        assert_eq!(flow.on_congestion(&loss(201), 201.0), 176.0);
    }

    /// Linux 6, by hand: at 200 segments, 100 of them add one; at 50, 50 do.
    #[test]
    fn linux_6_adds_a_segment_for_a_hundred() {
        let options = Options { ai_cnt: 100.0, counter: Counter::Linux6, ..Options::default() };
        let mut flow = Scalable::new(options);
        assert_eq!([99, 1, 50].map(|n| flow.on_ack(&ack(n), 200.0)), [200.0, 201.0, 200.0]);
        assert_eq!(flow.on_ack(&ack(1), 50.0), 51.0);
    }
}
