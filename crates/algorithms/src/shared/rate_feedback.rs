//! A sender that is told its rate by the routers of the path: RCP and PERC.
//!
//! ```text
//! rate R as last told; w = R · srtt + 2 segments    (1)
//! loss: nothing; the routers are in charge          (2)
//! timeout: w = 1 until the next ACK, then (1)       (3)
//! ```
//!
//! The two segments more let a receiver hold an ACK back without stalling a paced sender. Where a router of the path has
//! no agent nothing is told, and the sender is Reno with standard slow start.

use cwndlab_control::{
    Ack, Arguments, Change, Composed, Congestion, CongestionControl, Event, Extra, Feedback, Path, Phase, Ssthresh,
    State, Window,
};
use cwndlab_units::{Bytes, Duration, Rate};

use crate::{congestion_avoidance, slow_start};

/// Segments beyond (1).
const SPARE: u64 = 2;

/// The sender.
#[derive(Clone, Debug)]
pub struct RateFeedback {
    fallback: Composed,
    mss: Bytes,
    /// The rate last told; `None` before the handshake, and where nobody tells.
    rate: Option<Rate>,
    srtt: Duration,
    restarted: bool,
}

impl RateFeedback {
    /// A sender before its handshake.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        let none = Arguments::defaults(slow_start::standard::SPEC.parameters);
        let start = slow_start::standard::make(&none);
        let fallback = Composed::new(path, Some(Box::new(start)), Box::new(congestion_avoidance::reno::plain(path)));
        Self { fallback, mss: path.mss, rate: None, srtt: Duration::ZERO, restarted: false }
    }

    fn hear(&mut self, feedback: Option<Feedback>) {
        if let Some(feedback) = feedback {
            self.rate = Some(Rate(feedback.rate.0.max(1)));
        }
    }

    /// The rate that holds.
    #[must_use]
    pub fn rate(&self) -> Option<Rate> {
        self.rate
    }
}

impl CongestionControl for RateFeedback {
    fn on_ack(&mut self, ack: &Ack) -> Option<Event> {
        self.srtt = ack.srtt;
        self.restarted = false;
        self.hear(ack.feedback);
        if self.rate.is_none() {
            return self.fallback.on_ack(ack);
        }
        None
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.restarted |= event.restart; // (2), (3): a loss before that ACK raises nothing
        if self.rate.is_none() {
            self.fallback.on_congestion(event);
        }
    }

    fn cwnd(&self) -> Bytes {
        match self.rate {
            None => self.fallback.cwnd(),
            Some(_) if self.restarted => self.mss,
            Some(rate) => {
                let pipe = rate.bytes_in(self.srtt).0.min(1 << 39);
                Bytes(pipe + SPARE * self.mss.0) // (1)
            }
        }
    }

    fn on_window(&mut self, window: &Window) {
        if window.change == Change::Established {
            self.srtt = window.rtt.unwrap_or(Duration::from_millis(100));
            self.hear(window.feedback);
        }
        self.fallback.on_window(window);
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.rate
    }

    /// At a rate of the routers there is no slow start: the threshold is the window.
    fn state(&self, extra: Option<Extra<'_>>) -> State {
        let Some(rate) = self.rate else { return self.fallback.state(extra) };
        if let Some(put) = extra {
            put("told_bps", rate.0 as f64);
        }
        State { ssthresh: Ssthresh::At(self.cwnd()), phase: Phase::RouterControlled }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack, established, loss, path, timeout};

    fn told(mbps: u64) -> RateFeedback {
        let mut flow = RateFeedback::new(&path(10));
        flow.on_window(&established(Duration::from_millis(100), Some(Rate(mbps * 1_000_000))));
        flow
    }

    /// By hand: 8 Mbit/s over 100 ms are 100 segments of 1000 bytes, and two more.
    #[test]
    fn the_window_is_the_rate_over_a_round_trip() {
        let mut flow = told(8);
        assert_eq!((flow.cwnd(), flow.pacing_rate()), (Bytes(102_000), Some(Rate(8_000_000))));
        let feedback = Some(Feedback { rate: Rate(4_000_000), accelerated: Bytes::ZERO });
        let _ = flow.on_ack(&Ack { feedback, ..ack(1) });
        assert_eq!(flow.cwnd(), Bytes(52_000));
    }

    #[test]
    fn a_loss_changes_nothing_and_a_timeout_until_the_next_ack() {
        let mut flow = told(8);
        flow.on_congestion(&loss(100));
        assert_eq!(flow.cwnd(), Bytes(102_000));
        flow.on_congestion(&timeout(100));
        assert_eq!(flow.cwnd(), Bytes(1000));
        flow.on_congestion(&loss(100));
        assert_eq!(flow.cwnd(), Bytes(1000));
        let _ = flow.on_ack(&ack(1));
        assert_eq!(flow.cwnd(), Bytes(102_000));
    }

    /// A router without an agent: Reno from its initial window.
    #[test]
    fn without_answers_it_is_reno() {
        let mut flow = RateFeedback::new(&path(10));
        flow.on_window(&established(Duration::from_millis(100), None));
        assert_eq!((flow.cwnd(), flow.pacing_rate()), (Bytes(10_000), None));
        let _ = flow.on_ack(&ack(1));
        assert_eq!(flow.cwnd(), Bytes(11_000));
        flow.on_congestion(&loss(10));
        assert_eq!(flow.cwnd(), Bytes(5_000));
    }
}
