//! What samples need of the two ends of a connection.
//!
//! An end that runs ahead of the clock passes the time of a sample before the clock does. It takes its sample then, and the
//! sampler finds it here.

use std::collections::VecDeque;

use cwndlab_traffic::NEVER;
use cwndlab_transport::sender::{Counters, Sender, State};
use cwndlab_units::{Bytes, Duration, Rate, Time};

/// What a sample counts, of one or more senders.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Payload sent, retransmissions included, bytes.
    pub(crate) sent_bytes: u64,
    /// Payload retransmitted, bytes.
    pub(crate) retransmitted_bytes: u64,
    /// Segments retransmitted.
    pub(crate) retransmitted_packets: u64,
    /// Entries into recovery, timeouts and ECN reductions.
    pub(crate) congestion_events: u64,
    /// Expirations of the retransmission timer.
    pub(crate) timeouts: u64,
    /// Sum of the RTT samples, ns.
    pub(crate) rtt_sum: u128,
    /// Their number.
    pub(crate) rtt_count: u64,
}

impl Counts {
    /// Those of a sender, and of its RTT samples.
    pub(crate) fn of(counters: &Counters, (rtt_sum, rtt_count): (u128, u64)) -> Self {
        Self {
            sent_bytes: counters.sent_bytes,
            retransmitted_bytes: counters.retransmitted_bytes,
            retransmitted_packets: counters.retransmitted_packets,
            congestion_events: counters.recoveries + counters.timeouts + counters.ecn_reductions,
            timeouts: counters.timeouts,
            rtt_sum,
            rtt_count,
        }
    }

    /// Adds those of others.
    pub(crate) fn add(&mut self, other: &Self) {
        self.sent_bytes += other.sent_bytes;
        self.retransmitted_bytes += other.retransmitted_bytes;
        self.retransmitted_packets += other.retransmitted_packets;
        self.congestion_events += other.congestion_events;
        self.timeouts += other.timeouts;
        self.rtt_sum += other.rtt_sum;
        self.rtt_count += other.rtt_count;
    }
}

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
    /// The pacing rate; `None` where it does not pace.
    pub(crate) pacing_rate: Option<Rate>,
    /// Last delivery-rate sample; zero before the first.
    pub(crate) delivery_rate: Rate,
    /// The congestion state.
    pub(crate) state: State,
    /// What it counted.
    pub(crate) counts: Counts,
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
            pacing_rate: sender.pacing_rate(),
            delivery_rate: sender.delivery_rate(),
            state: sender.state(),
            counts: Counts::of(sender.counters(), rtt.totals()),
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
