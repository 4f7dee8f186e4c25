//! An algorithm that is asked from afar: reports are coalesced, answers come late, as on the kernel path.

use std::collections::VecDeque;

use cwndlab_control::{Ack, Congestion, CongestionControl, Sent, Window};
use cwndlab_units::{Bytes, Duration, Rate, Time};

/// Wraps an algorithm so that it hears of ACKs at most once per `interval` (congestion is told at once), and what
/// it answers takes effect with the first ACK that comes `delay` later.
#[derive(Debug)]
pub struct Remote {
    inner: Box<dyn CongestionControl>,
    delay: Duration,
    interval: Duration,
    pending: Option<Ack>,
    reported: Time,
    answers: VecDeque<(Time, Bytes, Option<Rate>)>,
    cwnd: Bytes,
    pacing: Option<Rate>,
}

impl Remote {
    /// Asks `inner` from afar.
    #[must_use]
    pub fn new(inner: Box<dyn CongestionControl>, delay: Duration, interval: Duration) -> Self {
        let (cwnd, pacing) = (inner.cwnd(), inner.pacing_rate());
        Self { inner, delay, interval, pending: None, reported: Time::ZERO, answers: VecDeque::new(), cwnd, pacing }
    }

    fn report(&mut self, now: Time) {
        if let Some(ack) = self.pending.take() {
            self.inner.on_ack(&ack);
            self.reported = now;
            self.answer(now);
        }
    }

    fn answer(&mut self, now: Time) {
        self.answers.push_back((now + self.delay, self.inner.cwnd(), self.inner.pacing_rate()));
    }

    fn apply(&mut self, now: Time) {
        while let Some(&(due, cwnd, pacing)) = self.answers.front() {
            if due > now {
                break;
            }
            (self.cwnd, self.pacing) = (cwnd, pacing);
            self.answers.pop_front();
        }
    }
}

impl CongestionControl for Remote {
    fn on_ack(&mut self, ack: &Ack) {
        self.apply(ack.now);
        self.pending = Some(match self.pending.take() {
            Some(first) => first.joined(ack),
            None => ack.clone(),
        });
        if ack.now.saturating_since(self.reported) >= self.interval {
            if let Some(pending) = self.pending.take() {
                self.inner.on_ack(&pending);
                ack.note.set(pending.note.get());
                self.reported = ack.now;
                self.answer(ack.now);
            }
        }
        self.apply(ack.now);
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.report(event.now);
        self.inner.on_congestion(event);
        if event.restart {
            // A timeout is the datapath's own: it does not wait for an answer.
            self.answers.clear();
            (self.cwnd, self.pacing) = (self.inner.cwnd(), self.inner.pacing_rate());
        } else {
            self.answer(event.now);
            self.apply(event.now);
        }
    }

    fn cwnd(&self) -> Bytes {
        self.cwnd
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.inner.on_sent(sent);
    }

    fn on_window(&mut self, window: &Window) {
        self.report(window.now);
        self.inner.on_window(window);
        self.answers.clear();
        (self.cwnd, self.pacing) = (self.inner.cwnd(), self.inner.pacing_rate());
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing
    }

    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        self.inner.trace(put);
    }
}
