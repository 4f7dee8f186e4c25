//! A sender whose rate the routers of the path set: RCP and PERC.
//!
//! ```text
//! R: last rate feedback; w = R · srtt + 2 segments  (1)
//! loss: no response; the routers control the rate   (2)
//! timeout: w = 1 until the next ACK, then (1)       (3)
//! ```
//!
//! With the two additional segments a delayed ACK does not stall a paced sender. Without an agent on every router of
//! the path there is no feedback, and the sender is Reno with standard slow start.

use cwndlab_control::{
    Ack, Change, Composed, Congestion, CongestionControl, Event, Extra, Feedback, Path, Phase, Ssthresh, State, Window,
};
use cwndlab_units::{Bytes, Duration, Rate};

use crate::{congestion_avoidance, slow_start};

/// Additional segments of (1).
const SPARE: u64 = 2;

/// A sender with rate feedback from routers.
#[derive(Clone, Debug)]
pub struct RateFeedback {
    fallback: Composed,
    mss: Bytes,
    /// The last rate feedback; `None` before the handshake, and without feedback.
    rate: Option<Rate>,
    srtt: Duration,
    restarted: bool,
}

impl RateFeedback {
    /// A sender before its handshake.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        let start = slow_start::standard::make(slow_start::standard::Options::default());
        let fallback = Composed::new(path, Some(Box::new(start)), Box::new(congestion_avoidance::reno::plain(path)));
        Self { fallback, mss: path.mss, rate: None, srtt: Duration::ZERO, restarted: false }
    }

    fn update_rate(&mut self, feedback: Option<Feedback>) {
        if let Some(feedback) = feedback {
            self.rate = Some(Rate(feedback.rate.0.max(1)));
        }
    }

    /// The current rate feedback.
    #[must_use]
    pub fn rate(&self) -> Option<Rate> {
        self.rate
    }
}

impl CongestionControl for RateFeedback {
    fn on_ack(&mut self, ack: &Ack) -> Option<Event> {
        self.srtt = ack.srtt;
        self.restarted = false;
        self.update_rate(ack.feedback);
        if self.rate.is_none() {
            return self.fallback.on_ack(ack);
        }
        None
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.restarted |= event.restart; // (2), (3): a loss before that ACK does not restore the window
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
            self.update_rate(window.feedback);
        }
        self.fallback.on_window(window);
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.rate
    }

    /// With rate feedback there is no slow start: ssthresh equals the window.
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

    fn with_feedback(mbps: u64) -> RateFeedback {
        let mut flow = RateFeedback::new(&path(10));
        flow.on_window(&established(Duration::from_millis(100), Some(Rate(mbps * 1_000_000))));
        flow
    }

    /// By hand: 8 Mbit/s over 100 ms are 100 segments of 1000 bytes, plus two.
    #[test]
    fn the_window_is_the_rate_over_a_round_trip() {
        let mut flow = with_feedback(8);
        assert_eq!((flow.cwnd(), flow.pacing_rate()), (Bytes(102_000), Some(Rate(8_000_000))));
        let feedback = Some(Feedback { rate: Rate(4_000_000), accelerated: Bytes::ZERO });
        let _ = flow.on_ack(&Ack { feedback, ..ack(1) });
        assert_eq!(flow.cwnd(), Bytes(52_000));
    }

    #[test]
    fn a_loss_does_not_change_the_window_and_a_timeout_does_until_the_next_ack() {
        let mut flow = with_feedback(8);
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
    fn without_feedback_it_is_reno() {
        let mut flow = RateFeedback::new(&path(10));
        flow.on_window(&established(Duration::from_millis(100), None));
        assert_eq!((flow.cwnd(), flow.pacing_rate()), (Bytes(10_000), None));
        let _ = flow.on_ack(&ack(1));
        assert_eq!(flow.cwnd(), Bytes(11_000));
        flow.on_congestion(&loss(10));
        assert_eq!(flow.cwnd(), Bytes(5_000));
    }
}
