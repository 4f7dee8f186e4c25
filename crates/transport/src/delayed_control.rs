//! A congestion control with delayed decisions, as between kernel and user space: ACK reports are coalesced, and
//! decisions take effect later.

use std::collections::VecDeque;

use cwndlab_control::{Ack, Congestion, CongestionControl, Event, Extra, ReportSchedule, Sent, State, Window};
use cwndlab_units::{Bytes, Duration, Rate, Time};

/// Wraps an algorithm. The algorithm receives reports of ACKs by `schedule`, and congestion reports immediately. A
/// decision on ACKs takes effect with the first ACK at least `delay` later. A decision on congestion takes effect at
/// once: the datapath reduces the window itself, and corrects the threshold at an ACK of the recovery.
#[derive(Clone, Debug)]
pub struct DelayedControl {
    inner: Box<dyn CongestionControl>,
    delay: Duration,
    schedule: ReportSchedule,
    /// The round trip of the last ACK.
    round: u64,
    /// Half of the window at the last congestion event: the threshold of the datapath for an algorithm without one.
    halved: Option<Bytes>,
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
    /// Wraps `inner` with this delay and this schedule of reports.
    #[must_use]
    pub fn new(inner: Box<dyn CongestionControl>, delay: Duration, schedule: ReportSchedule) -> Self {
        let current = Decision::of(&*inner);
        let unreported = None;
        let queued = VecDeque::new();
        Self { inner, delay, schedule, round: 0, halved: None, unreported, last_report: Time::ZERO, queued, current }
    }

    /// Whether the window is below the slow-start threshold. Without one the flow is in slow start until the first
    /// congestion event.
    fn in_slow_start(&self) -> bool {
        self.current.state.ssthresh.bytes().or(self.halved).is_none_or(|threshold| self.current.cwnd < threshold)
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
        let new_round = ack.round > std::mem::replace(&mut self.round, ack.round);
        if self.schedule.is_due(ack.now, self.last_report, new_round, self.in_slow_start()) {
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
        self.halved = Some(Bytes(self.current.cwnd.0 / 2));
        self.inner.on_congestion(event);
        self.apply_immediately(); // the transport needs the threshold of the recovery at once
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

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack, loss};

    /// Counts its ACKs and acknowledged segments; its window is made of both. It has no slow-start threshold.
    #[derive(Clone, Debug, Default)]
    struct Counter {
        reports: u64,
        segments: u64,
    }

    impl CongestionControl for Counter {
        fn on_ack(&mut self, ack: &Ack) -> Option<Event> {
            self.reports += 1;
            self.segments += ack.acked.0 / ack.mss.0;
            None
        }
        fn on_congestion(&mut self, _: &Congestion) {}
        fn cwnd(&self) -> Bytes {
            Bytes(self.reports * 1_000 + self.segments)
        }
    }

    /// The threshold of a recovery is read at its start, so that a decision that took effect later would leave the window
    /// as it was for a whole recovery.
    #[test]
    fn a_reduction_takes_effect_at_once() {
        let mut control =
            DelayedControl::new(Box::new(Halving(Bytes(10_000))), Duration::from_nanos(1), ReportSchedule::Ack);
        control.on_congestion(&loss(10));
        assert_eq!(control.cwnd(), Bytes(5_000));
    }

    /// Halves its window at each congestion event.
    #[derive(Clone, Debug)]
    struct Halving(Bytes);

    impl CongestionControl for Halving {
        fn on_ack(&mut self, _: &Ack) -> Option<Event> {
            None
        }
        fn on_congestion(&mut self, _: &Congestion) {
            self.0 = Bytes(self.0 .0 / 2);
        }
        fn cwnd(&self) -> Bytes {
            self.0
        }
    }

    /// By hand: before the first congestion event the flow is in slow start, so that each of the 4 ACKs is reported.
    /// After it one report per round trip combines the ACKs: the first ACK of round 2, and at the first of round 3 this
    /// one and the four before it.
    #[test]
    fn a_round_trip_has_one_report_after_slow_start() {
        let mut control = DelayedControl::new(Box::new(Counter::default()), Duration::ZERO, ReportSchedule::Rtt);
        for _ in 0..4 {
            let _ = control.on_ack(&ack(1));
        }
        assert_eq!(control.cwnd(), Bytes(4_004));
        control.on_congestion(&loss(4));
        for round in [2, 2, 2, 2, 2, 3, 3, 3, 3, 3] {
            let _ = control.on_ack(&Ack { round, ..ack(1) });
        }
        assert_eq!(control.cwnd(), Bytes(6_010));
    }
}
