//! What samples need of the two ends of a connection.
//!
//! An end that runs ahead of the clock passes the time of a sample before the clock does. It takes its sample then, and the
//! sampler finds it here.

use std::collections::VecDeque;

use cwndlab_traffic::NEVER;
use cwndlab_transport::sender::{Counters, Sender, State};
use cwndlab_units::{Bytes, Duration, Rate, Time};

/// What a sample needs of a sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SenderSample {
    /// The window in force, segments.
    pub(crate) cwnd: u32,
    /// The slow-start threshold; `None` without one.
    pub(crate) ssthresh: Option<Bytes>,
    /// Data in flight.
    pub(crate) in_flight: Bytes,
    /// Smoothed RTT; zero before the first sample.
    pub(crate) srtt: Duration,
    /// Last RTT sample; zero before the first.
    pub(crate) rtt: Duration,
    /// Sum and number of the RTT samples.
    pub(crate) rtts: (Duration, u64),
    /// The smallest RTT; `Duration::MAX` without a sample.
    pub(crate) min_rtt: Duration,
    /// The pacing rate; `None` where it does not pace.
    pub(crate) pacing_rate: Option<Rate>,
    /// Last delivery-rate sample; zero before the first.
    pub(crate) delivery_rate: Rate,
    /// The congestion state.
    pub(crate) state: State,
    /// Its totals.
    pub(crate) counters: Counters,
}

impl SenderSample {
    /// The sender as it is.
    pub(crate) fn of(sender: &Sender) -> Self {
        let rtt = sender.rtt();
        Self {
            cwnd: sender.cwnd(),
            ssthresh: sender.algorithm().state(None).ssthresh.bytes(),
            in_flight: sender.in_flight(),
            srtt: rtt.srtt(),
            rtt: rtt.last(),
            rtts: rtt.totals(),
            min_rtt: rtt.min_ever(),
            pacing_rate: sender.pacing_rate(),
            delivery_rate: sender.delivery_rate(),
            state: sender.state(),
            counters: *sender.counters(),
        }
    }
}

/// When samples are taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SampleTimes {
    /// The next one by the clock.
    pub(crate) next: Time,
    /// From one to the next.
    pub(crate) interval: Duration,
}

/// The samples that one end has taken ahead of the clock.
#[derive(Debug)]
pub(crate) struct EndSamples<T> {
    /// The end has not passed this time; `NEVER` if it keeps to the clock.
    pub(crate) next: Time,
    taken: VecDeque<T>,
}

impl<T> EndSamples<T> {
    /// Of an end that keeps to the clock.
    pub(crate) fn new() -> Self {
        Self { next: NEVER, taken: VecDeque::new() }
    }

    /// The end may run ahead of the clock from now on.
    pub(crate) fn run_ahead(&mut self) {
        self.next = Time::ZERO;
    }

    /// When the first sample is due that was not taken yet, by the end or by the clock.
    pub(crate) fn due(&self, times: SampleTimes) -> Time {
        self.next.max(times.next)
    }

    /// The end has not passed the sample that is due.
    pub(crate) fn wait(&mut self, times: SampleTimes) {
        self.next = self.due(times);
    }

    /// Keeps the sample that is due.
    pub(crate) fn keep(&mut self, sample: T, times: SampleTimes) {
        self.taken.push_back(sample);
        self.next = self.due(times) + times.interval;
    }

    /// The sample that the clock has reached; `None` where the end has not passed it.
    pub(crate) fn take(&mut self) -> Option<T> {
        self.taken.pop_front()
    }
}

/// The samples that the two ends of a connection have taken ahead of the clock.
#[derive(Debug)]
pub(crate) struct Samples {
    /// Of the sender.
    pub(crate) sender: EndSamples<SenderSample>,
    /// Of the receiver: payload delivered in order.
    pub(crate) receiver: EndSamples<Bytes>,
}

impl Samples {
    /// Of two ends that keep to the clock.
    pub(crate) fn new() -> Self {
        Self { sender: EndSamples::new(), receiver: EndSamples::new() }
    }

    /// Both ends may run ahead of the clock from now on.
    pub(crate) fn run_ahead(&mut self) {
        self.sender.run_ahead();
        self.receiver.run_ahead();
    }
}
