//! Samples of the sender and the receiver of a connection.
//!
//! An endpoint that runs ahead of the clock passes the time of a sample before the clock does. It takes the sample at
//! that point and stores it here for the sampler.

use std::collections::VecDeque;

use cwndlab_records::stall::{SenderProgress, StallWatch};
use cwndlab_traffic::NEVER;
use cwndlab_transport::sender::Sender;
use cwndlab_units::{Bytes, Duration, SenderCounters, SenderState, Time};

use crate::value_recorder::ValueRecorder;

/// Counters in a sample, of one or more senders.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SampleCounters {
    /// The counters of the senders.
    pub(crate) sender: SenderCounters,
    /// Sum of the RTT samples, ns.
    pub(crate) rtt_sum: u128,
    /// Number of RTT samples.
    pub(crate) rtt_count: u64,
}

impl SampleCounters {
    /// The counters of a sender and of its RTT samples.
    #[inline]
    pub(crate) fn of(sender: &Sender) -> Self {
        let (rtt_sum, rtt_count) = sender.rtt().totals();
        Self { sender: *sender.counters(), rtt_sum, rtt_count }
    }

    /// Adds the counters of other senders.
    pub(crate) fn add(&mut self, other: &Self) {
        self.sender = self.sender + other.sender;
        self.rtt_sum += other.rtt_sum;
        self.rtt_count += other.rtt_count;
    }
}

/// The values of a sender in a sample.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SenderSample {
    /// The state of the sender.
    pub(crate) state: SenderState,
    /// Sum of the RTT samples, ns, and their number.
    rtt_totals: (u128, u64),
    /// ACKs that brought no progress.
    idle_acks: u64,
}

impl SenderSample {
    /// The counters.
    pub(crate) fn counts(&self) -> SampleCounters {
        let (rtt_sum, rtt_count) = self.rtt_totals;
        SampleCounters { sender: self.state.counters, rtt_sum, rtt_count }
    }

    /// The progress of the sender, for its watch. The caller knows the number of the connection and its losses.
    pub(crate) fn progress(&self) -> SenderProgress {
        SenderProgress::of(&self.state, self.idle_acks)
    }

    /// The current values of a sender.
    #[allow(clippy::inline_always)] // most samples become a row at once
    #[inline(always)]
    pub(crate) fn of(sender: &Sender) -> Self {
        Self { state: sender.state(), rtt_totals: sender.rtt().totals(), idle_acks: sender.idle_acks() }
    }
}

/// The times of samples.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SampleTimes {
    /// The next sample by the clock.
    pub(crate) next: Time,
    /// The interval between samples.
    pub(crate) interval: Duration,
}

impl SampleTimes {
    /// The first sample at `start` or later.
    pub(crate) fn first_from(self, start: Time) -> Time {
        if self.next >= start {
            return self.next;
        }
        let intervals = (start - self.next).as_nanos().div_ceil(self.interval.as_nanos());
        self.next + self.interval * intervals
    }
}

/// The samples that an endpoint has taken ahead of the clock.
#[derive(Debug)]
pub(crate) struct EndSamples<T> {
    /// The endpoint has not passed this time; `NEVER` if it does not run ahead of the clock.
    pub(crate) next: Time,
    taken: VecDeque<T>,
}

impl<T> EndSamples<T> {
    /// The state of an endpoint that does not run ahead of the clock.
    pub(crate) fn new() -> Self {
        Self { next: NEVER, taken: VecDeque::new() }
    }

    /// Lets the endpoint run ahead of the clock.
    pub(crate) fn run_ahead(&mut self) {
        self.next = Time::ZERO;
    }

    /// Time of the next sample that neither the endpoint nor the clock has taken.
    pub(crate) fn due(&self, times: SampleTimes) -> Time {
        self.next.max(times.next)
    }

    /// Sets the time of the next sample, which the endpoint has not passed.
    pub(crate) fn advance_to_due(&mut self, times: SampleTimes) {
        self.next = self.due(times);
    }

    /// Stores the sample that is due.
    pub(crate) fn store(&mut self, sample: T, times: SampleTimes) {
        self.taken.push_back(sample);
        self.next = self.due(times) + times.interval;
    }

    /// The sample that the clock has reached; `None` if the endpoint has not passed it.
    pub(crate) fn take(&mut self) -> Option<T> {
        self.taken.pop_front()
    }
}

/// The samples that sender and receiver of a connection have taken ahead of the clock.
#[derive(Debug)]
pub(crate) struct Samples {
    /// Samples of the sender.
    pub(crate) sender: EndSamples<SenderSample>,
    /// Samples of the receiver: payload delivered in order.
    pub(crate) receiver: EndSamples<Bytes>,
    /// The recorder of named values, if the scenario has one.
    pub(crate) values: Option<Box<ValueRecorder>>,
    /// Watches the sender.
    pub(crate) watch: Option<Box<StallWatch>>,
}

impl Samples {
    /// The state of endpoints that do not run ahead of the clock.
    pub(crate) fn new() -> Self {
        Self { sender: EndSamples::new(), receiver: EndSamples::new(), values: None, watch: None }
    }

    /// Lets both endpoints run ahead of the clock.
    pub(crate) fn run_ahead(&mut self) {
        self.sender.run_ahead();
        self.receiver.run_ahead();
    }

    /// Sets the first sample of both endpoints, for a connection that starts ahead of the clock.
    pub(crate) fn begin_at(&mut self, first: Time) {
        (self.sender.next, self.receiver.next) = (first, first);
    }
}
