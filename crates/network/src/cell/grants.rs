//! What the base station knows of the backlog of an uplink bearer.
//!
//! Backlogs are positions in the stream of bytes that the bearer has sent: a report states the position up to which the
//! device has data.

use std::collections::VecDeque;

use cwndlab_units::{Duration, Time};

/// Requests, reports and grants of an uplink bearer.
#[derive(Clone, Debug)]
pub(super) struct GrantState {
    interval: Duration,
    /// Offset of the opportunities for requests.
    phase: Duration,
    delay: Duration,
    first: u64,
    /// Position up to which the base station grants.
    granted: u64,
    /// Positions of requests and reports, and the times from which they are effective.
    reports: VecDeque<(Time, u64)>,
    request: Option<Time>,
    /// Scheduling requests sent.
    pub(super) requests: u64,
}

impl GrantState {
    pub(super) fn new(interval: Duration, phase: Duration, delay: Duration, first: u64) -> Self {
        let phase = Duration::from_nanos(phase.as_nanos() % interval.as_nanos());
        Self { interval, phase, delay, first, granted: 0, reports: VecDeque::new(), request: None, requests: 0 }
    }

    /// Advances to `now`: takes effective reports, and sends a request if data wait and no grant is due. `sent` is the
    /// position of the bearer.
    pub(super) fn advance(&mut self, now: Time, sent: u64, waits: bool) {
        while let Some(&(at, position)) = self.reports.front() {
            if at > now {
                break;
            }
            self.granted = position;
            self.reports.pop_front();
        }
        let known = self.reports.iter().map(|report| report.1).fold(self.granted, u64::max);
        if !waits || known > sent {
            self.request = None;
            return;
        }
        let at = *self.request.get_or_insert_with(|| {
            let since = now.as_nanos().saturating_sub(self.phase.as_nanos());
            Time::from_nanos(self.phase.as_nanos() + since.next_multiple_of(self.interval.as_nanos()))
        });
        if at <= now {
            self.request = None;
            self.requests += 1;
            self.reports.push_back((now + self.delay, sent + self.first));
        }
    }

    /// Bytes that the base station grants.
    pub(super) fn known(&self, sent: u64) -> u64 {
        self.granted.saturating_sub(sent)
    }

    /// A transmission up to the position `sent` reports a backlog. With `padded` it had room for more.
    pub(super) fn report(&mut self, now: Time, sent: u64, backlog: u64, padded: bool) {
        if padded {
            self.granted = sent;
        }
        self.reports.push_back((now + self.delay, sent + backlog));
    }

    /// A hand-over: the new base station knows nothing.
    pub(super) fn reset(&mut self, sent: u64) {
        self.granted = sent;
        self.reports.clear();
        self.request = None;
    }
}
