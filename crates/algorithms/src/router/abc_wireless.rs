//! ABC (Accel-Brake Control): a window controlled by marks of wireless routers; the sender's part.
//!
//! Source: P. Goyal, A. Agarwal, R. Netravali, M. Alizadeh, H. Balakrishnan, "ABC: A simple explicit congestion
//! controller for wireless networks", NSDI 2020.
//!
//! ```text
//! each ack of n segments, a of them "accelerate": w_abc += a − (n − a) + n / w_abc    (1)
//! cwnd = min(w_abc, w_cubic)                                                         (2)
//! ```
//!
//! w_cubic is CUBIC with standard slow start, which receives every ACK and every loss. It limits the window where the
//! bottleneck is not an ABC router, and is the window where a router of the path has no agent.
//! Units: segments. The router's part is in the network crate.

use cwndlab_control::{
    Ack, Build, Change, Composed, Confidence, Congestion, CongestionControl, Event, Extra, Kind, Need, Path, Spec,
    State, Window,
};
use cwndlab_units::Bytes;

use crate::congestion_avoidance::{cubic, reno::segments};
use crate::slow_start::standard;

/// The entry.
pub static SPEC: Spec = Spec {
    name: "abc-wireless",
    title: "Accel-Brake Control",
    kind: Kind::Router,
    source: "P. Goyal et al., NSDI 2020",
    year: 2020,
    confidence: Confidence::Medium,
    summary: "The router marks each packet 'accelerate' or 'brake' so that the rate one round trip later meets a target: 98 % of the line rate less the rate that drains the standing queue. The sender increases or decreases the window by one segment per ACK.",
    parameters: &[],
    choices: &[
        "the dequeue rate is measured over 40 ms",
        "the parallel window, for bottlenecks without agent, is that of CUBIC (RFC 9438)",
        "on a path with a router without agent the algorithm is CUBIC, recorded as 'fallback'",
    ],
    pitfalls: &[
        "not Appropriate Byte Counting (RFC 3465), which is reno(abc=1), and not ABE (RFC 8511), which is abe-ecn",
        "one accelerate per token: the window of a single flow on an idle line doubles per round trip, without slow start",
    ],
    companion: "",
    needs: &[Need::EveryAck, Need::Agent("abc")],
    incompatible: &[],
    model_based: true,
    build: Build::Whole(|path, _| Box::new(AbcWireless::new(path))),
};

/// The sender.
#[derive(Clone, Debug)]
pub struct AbcWireless {
    cubic: Composed,
    mss: f64,
    /// w_abc, segments.
    w: f64,
    /// The routers returned feedback on the handshake.
    has_feedback: bool,
}

impl AbcWireless {
    fn new(path: &Path) -> Self {
        let start = standard::make(standard::Options::default());
        let avoidance = cubic::make(cubic::Options::default());
        let cubic = Composed::new(path, Some(Box::new(start)), Box::new(avoidance));
        let mss = path.mss.0 as f64;
        Self { cubic, mss, w: path.initial_cwnd.0 as f64 / mss, has_feedback: false }
    }
}

impl CongestionControl for AbcWireless {
    fn on_ack(&mut self, ack: &Ack) -> Option<Event> {
        let event = self.cubic.on_ack(ack);
        if let Some(feedback) = ack.feedback.filter(|_| self.has_feedback) {
            let n = segments(ack);
            let accelerate = (feedback.accelerated.0 as f64 / self.mss).min(n);
            // (1). Increases only while the window limits the sender; decreases always.
            let step = 2.0 * accelerate - n + n / self.w;
            if step < 0.0 || ack.cwnd_limited {
                self.w = (self.w + step).clamp(1.0, 1e7);
            }
        }
        event
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.cubic.on_congestion(event);
        if self.has_feedback && event.restart {
            self.w = 1.0;
        }
    }

    fn cwnd(&self) -> Bytes {
        if !self.has_feedback {
            return self.cubic.cwnd();
        }
        self.cubic.cwnd().min(Bytes(((self.w + 1e-9) * self.mss) as u64)) // (2)
    }

    fn on_window(&mut self, window: &Window) {
        if window.change == Change::Established {
            self.has_feedback = window.feedback.is_some();
        }
        self.cubic.on_window(window);
    }

    fn state(&self, extra: Option<Extra<'_>>) -> State {
        match extra {
            Some(put) => {
                if self.has_feedback {
                    put("w_abc_segments", self.w);
                }
                self.cubic.state(Some(put))
            }
            None => self.cubic.state(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack, established, path};
    use cwndlab_control::Feedback;
    use cwndlab_units::{Duration, Rate};

    fn marked(accelerated: u64) -> Ack {
        Ack { feedback: Some(Feedback { rate: Rate(1), accelerated: Bytes(accelerated) }), ..ack(1) }
    }

    /// By hand from w = 10: 10 + 1 + 1/10 after accelerate, then 11.1 − 1 + 1/11.1 after brake.
    #[test]
    fn accelerate_adds_a_segment_and_brake_removes_one() {
        let mut flow = AbcWireless::new(&path(10));
        flow.on_window(&established(Duration::from_millis(100), Some(Rate(1))));
        let _ = flow.on_ack(&marked(1000));
        assert!((flow.w - 11.1).abs() < 1e-12);
        let _ = flow.on_ack(&marked(0));
        assert!((flow.w - (10.1 + 1.0 / 11.1)).abs() < 1e-12);
    }

    /// Reference values: tr = 0 marks every packet 'brake', so w decreases by one per ACK, down to one segment.
    #[test]
    fn brakes_reduce_the_window_to_one_segment() {
        let mut flow = AbcWireless::new(&path(10));
        flow.on_window(&established(Duration::from_millis(100), Some(Rate(1))));
        for _ in 0..30 {
            let _ = flow.on_ack(&marked(0));
        }
        assert!(flow.cwnd() >= Bytes(1000) && flow.w < 2.1, "{}", flow.w);
    }

    #[test]
    fn without_feedback_it_is_cubic() {
        let mut flow = AbcWireless::new(&path(10));
        flow.on_window(&established(Duration::from_millis(100), None));
        let _ = flow.on_ack(&marked(1000));
        assert_eq!(flow.cwnd(), Bytes(11_000));
    }
}
