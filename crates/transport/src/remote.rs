//! An algorithm that is asked from afar: reports are coalesced, answers come late, as on the kernel path.

use std::collections::VecDeque;

use cwndlab_control::{Ack, Congestion, CongestionControl, Event, Extra, Sent, State, Window};
use cwndlab_units::{Bytes, Duration, Rate, Time};

/// Wraps an algorithm so that it hears of ACKs at most once per `interval` (congestion is told at once), and what
/// it answers takes effect with the first ACK that comes `delay` later.
#[derive(Clone, Debug)]
pub struct Remote {
    inner: Box<dyn CongestionControl>,
    delay: Duration,
    interval: Duration,
    pending: Option<Ack>,
    reported: Time,
    answers: VecDeque<(Time, Answer)>,
    /// The answer in force.
    answer: Answer,
}

/// What the algorithm wants.
#[derive(Clone, Copy, Debug)]
struct Answer {
    cwnd: Bytes,
    state: State,
    pacing: Option<Rate>,
}

impl Answer {
    fn of(control: &dyn CongestionControl) -> Self {
        Self { cwnd: control.cwnd(), state: control.state(None), pacing: control.pacing_rate() }
    }
}

impl Remote {
    /// Asks `inner` from afar.
    #[must_use]
    pub fn new(inner: Box<dyn CongestionControl>, delay: Duration, interval: Duration) -> Self {
        let answer = Answer::of(&*inner);
        Self { inner, delay, interval, pending: None, reported: Time::ZERO, answers: VecDeque::new(), answer }
    }

    fn report(&mut self, now: Time) {
        if let Some(ack) = self.pending.take() {
            // The congestion that hurries the report makes a row of its own.
            let _ = self.inner.on_ack(&ack);
            self.reported = now;
            self.queue_answer(now);
        }
    }

    fn queue_answer(&mut self, now: Time) {
        self.answers.push_back((now + self.delay, Answer::of(&*self.inner)));
    }

    fn apply(&mut self, now: Time) {
        while let Some(&(due, answer)) = self.answers.front() {
            if due > now {
                break;
            }
            self.answer = answer;
            self.answers.pop_front();
        }
    }
}

impl CongestionControl for Remote {
    fn on_ack(&mut self, ack: &Ack) -> Option<Event> {
        self.apply(ack.now);
        self.pending = Some(match self.pending.take() {
            Some(first) => first.joined(ack),
            None => ack.clone(),
        });
        let mut event = None;
        if ack.now.saturating_since(self.reported) >= self.interval {
            if let Some(pending) = self.pending.take() {
                event = self.inner.on_ack(&pending);
                self.reported = ack.now;
                self.queue_answer(ack.now);
            }
        }
        self.apply(ack.now);
        event
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.report(event.now);
        self.inner.on_congestion(event);
        if event.restart {
            // A timeout is the datapath's own: it does not wait for an answer.
            self.answers.clear();
            self.answer = Answer::of(&*self.inner);
        } else {
            self.queue_answer(event.now);
            self.apply(event.now);
        }
    }

    fn cwnd(&self) -> Bytes {
        self.answer.cwnd
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.inner.on_sent(sent);
    }

    fn on_window(&mut self, window: &Window) {
        self.report(window.now);
        self.inner.on_window(window);
        self.answers.clear();
        self.answer = Answer::of(&*self.inner);
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.answer.pacing
    }

    fn state(&self, extra: Option<Extra<'_>>) -> State {
        if extra.is_some() {
            let _ = self.inner.state(extra);
        }
        self.answer.state
    }
}
