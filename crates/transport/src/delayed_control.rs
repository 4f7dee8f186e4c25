//! A congestion control with delayed decisions, as between kernel and user space: ACK reports are coalesced, and
//! decisions take effect later.

use std::collections::VecDeque;

use cwndlab_control::{Ack, Congestion, CongestionControl, Event, Extra, Sent, State, Window};
use cwndlab_units::{Bytes, Duration, Rate, Time};

/// Wraps an algorithm. The algorithm receives at most one ACK report per `interval`, and congestion reports
/// immediately. A decision takes effect with the first ACK at least `delay` later.
#[derive(Clone, Debug)]
pub struct DelayedControl {
    inner: Box<dyn CongestionControl>,
    delay: Duration,
    interval: Duration,
    /// The coalesced ACKs not yet reported.
    unreported: Option<Ack>,
    last_report: Time,
    /// Pending decisions and the time at which each takes effect.
    queued: VecDeque<(Time, Decision)>,
    current: Decision,
}

/// A decision of the algorithm.
#[derive(Clone, Copy, Debug)]
struct Decision {
    cwnd: Bytes,
    state: State,
    pacing_rate: Option<Rate>,
}

impl Decision {
    fn of(control: &dyn CongestionControl) -> Self {
        Self { cwnd: control.cwnd(), state: control.state(None), pacing_rate: control.pacing_rate() }
    }
}

impl DelayedControl {
    /// Wraps `inner` with this delay and this report interval.
    #[must_use]
    pub fn new(inner: Box<dyn CongestionControl>, delay: Duration, interval: Duration) -> Self {
        let current = Decision::of(&*inner);
        Self { inner, delay, interval, unreported: None, last_report: Time::ZERO, queued: VecDeque::new(), current }
    }

    fn report(&mut self, now: Time) {
        if let Some(ack) = self.unreported.take() {
            let _ = self.inner.on_ack(&ack); // the congestion report that follows is an event itself
            self.last_report = now;
            self.queue_decision(now);
        }
    }

    fn queue_decision(&mut self, now: Time) {
        self.queued.push_back((now + self.delay, Decision::of(&*self.inner)));
    }

    fn apply_due(&mut self, now: Time) {
        while let Some(&(due, decision)) = self.queued.front() {
            if due > now {
                break;
            }
            self.current = decision;
            self.queued.pop_front();
        }
    }

    /// Applies the algorithm's current decision and discards pending ones.
    fn apply_immediately(&mut self) {
        self.queued.clear();
        self.current = Decision::of(&*self.inner);
    }
}

impl CongestionControl for DelayedControl {
    fn on_ack(&mut self, ack: &Ack) -> Option<Event> {
        self.apply_due(ack.now);
        self.unreported = Some(match self.unreported.take() {
            Some(first) => first.joined(ack),
            None => ack.clone(),
        });
        let mut event = None;
        if ack.now.saturating_since(self.last_report) >= self.interval {
            if let Some(joined) = self.unreported.take() {
                event = self.inner.on_ack(&joined);
                self.last_report = ack.now;
                self.queue_decision(ack.now);
            }
        }
        self.apply_due(ack.now);
        event
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.report(event.now);
        self.inner.on_congestion(event);
        if event.restart {
            self.apply_immediately(); // the datapath detects a timeout itself and applies it immediately
        } else {
            self.queue_decision(event.now);
            self.apply_due(event.now);
        }
    }

    fn cwnd(&self) -> Bytes {
        self.current.cwnd
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.inner.on_sent(sent);
    }

    fn on_window(&mut self, window: &Window) {
        self.report(window.now);
        self.inner.on_window(window);
        self.apply_immediately();
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.current.pacing_rate
    }

    fn state(&self, extra: Option<Extra<'_>>) -> State {
        if extra.is_some() {
            let _ = self.inner.state(extra);
        }
        self.current.state
    }
}
