//! Samples of the sender and the receiver of a connection.
//!
//! An endpoint that runs ahead of the clock passes the time of a sample before the clock does. It takes the sample at
//! that point and stores it here for the sampler.

use std::collections::VecDeque;

use cwndlab_records::stall::{SenderProgress, StallWatch};
use cwndlab_traffic::NEVER;
use cwndlab_transport::sender::{Counters, Sender, State};
use cwndlab_units::{Bytes, Duration, Rate, Time};

use crate::value_recorder::ValueRecorder;

/// Counters in a sample, of one or more senders.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SampleCounters {
    /// Payload sent, retransmissions included, bytes.
    pub(crate) sent_bytes: u64,
    /// Payload retransmitted, bytes.
    pub(crate) retransmitted_bytes: u64,
    /// Segments retransmitted.
    pub(crate) retransmitted_packets: u64,
    /// Entries into recovery, timeouts and ECN reductions.
    pub(crate) congestion_events: u64,
    /// Expiries of the retransmission timer.
    pub(crate) timeouts: u64,
    /// Sum of the RTT samples, ns.
    pub(crate) rtt_sum: u128,
    /// Number of RTT samples.
    pub(crate) rtt_count: u64,
}

impl SampleCounters {
    /// The counters of a sender and of its RTT samples.
    #[inline]
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

    /// Adds the counters of other senders.
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

/// The values of a sender in a sample.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SenderSample {
    /// The congestion window, segments.
    pub(crate) cwnd: u32,
    /// The slow-start threshold; `None` if there is none.
    pub(crate) ssthresh: Option<Bytes>,
    /// Data in flight.
    pub(crate) in_flight: Bytes,
    /// Smoothed RTT; zero before the first sample.
    pub(crate) srtt: Duration,
    /// Last RTT sample; zero before the first.
    pub(crate) rtt: Duration,
    /// The pacing rate; `None` if the sender does not pace.
    pub(crate) pacing_rate: Option<Rate>,
    /// Last delivery-rate sample; zero before the first.
    pub(crate) delivery_rate: Rate,
    /// The congestion state.
    pub(crate) state: State,
    /// There is data to send or to acknowledge.
    waiting: bool,
    /// The counters.
    pub(crate) counts: SampleCounters,
    /// Payload acknowledged, bytes.
    acked_bytes: u64,
    /// Segments sent.
    sent_packets: u64,
    /// ACKs that brought no progress.
    idle_acks: u64,
    /// The retransmission timeout; `Duration::MAX` while it is backed off.
    rto: Duration,
}

impl SenderSample {
    /// The progress of the sender, for its watch. The caller knows the number of the connection and its losses.
    pub(crate) fn progress(&self) -> SenderProgress {
        SenderProgress {
            connection: 0,
            waiting: self.waiting,
            acked_bytes: self.acked_bytes,
            sent_packets: self.sent_packets,
            timeouts: self.counts.timeouts,
            idle_acks: self.idle_acks,
            lost_packets: 0,
            rto: (self.rto < Duration::MAX).then_some(self.rto),
        }
    }

    /// The current values of a sender.
    #[allow(clippy::inline_always)] // most samples become a row at once
    #[inline(always)]
    pub(crate) fn of(sender: &Sender) -> Self {
        let rtt = sender.rtt();
        let counters = sender.counters();
        Self {
            cwnd: sender.cwnd(),
            ssthresh: sender.algorithm().state(None).ssthresh.bytes(),
            in_flight: sender.in_flight(),
            srtt: rtt.srtt(),
            rtt: rtt.last(),
            pacing_rate: sender.pacing_rate(),
            delivery_rate: sender.delivery_rate(),
            state: sender.state(),
            waiting: sender.is_established() && !sender.is_closed() && !sender.is_drained(),
            counts: SampleCounters::of(counters, rtt.totals()),
            acked_bytes: counters.acked_bytes,
            sent_packets: counters.sent_packets,
            idle_acks: sender.idle_acks(),
            rto: if rtt.backoff() == 0 { rtt.rto() } else { Duration::MAX },
        }
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
}
