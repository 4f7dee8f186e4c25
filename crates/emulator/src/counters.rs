//! Counters of the path: traffic and drops of each flow, lateness of deliveries.

use std::sync::atomic::{AtomicU64, Ordering};

use cwndlab_path::losses::Losses;
use cwndlab_records::rows::{LinkSampleRow, SampleRow};
use cwndlab_units::{Duration, FlowId, IndexVec, Time};

use crate::lateness::Lateness;

/// Counters and samples of the path's thread.
#[derive(Debug, Default)]
pub struct PathCounters {
    /// Lateness of deliveries.
    pub lateness: Lateness,
    /// Packets that belong to no flow (neighbour discovery, stray resets).
    pub unmatched: u64,
    /// Packets that the receiving kernel rejected.
    pub refused: u64,
    /// Samples of the links.
    pub link_samples: Vec<LinkSampleRow>,
    /// Traffic of each flow.
    pub traffic: IndexVec<FlowId, FlowTraffic>,
    /// Samples of the flows that the path samples itself.
    pub flow_samples: Vec<SampleRow>,
    /// The thread had real-time priority.
    pub real_time: bool,
}

impl PathCounters {
    /// Zero counters for `flows` flows.
    #[must_use]
    pub fn new(flows: usize) -> Self {
        Self { traffic: vec![FlowTraffic::default(); flows].into(), ..Self::default() }
    }
}

/// One-way delays to the receivers' side.
#[derive(Clone, Copy, Debug, Default)]
pub struct DelayCounters {
    /// Number of packets.
    pub count: u64,
    /// Sum of their delays.
    pub sum: Duration,
    /// Minimum delay.
    pub min: Duration,
    /// Maximum delay.
    pub max: Duration,
    /// Delay of the last packet.
    pub last: Duration,
}

impl DelayCounters {
    fn add(&mut self, delay: Duration) {
        self.min = if self.count == 0 { delay } else { self.min.min(delay) };
        self.max = self.max.max(delay);
        self.count += 1;
        self.sum += delay;
        self.last = delay;
    }
}

/// Traffic of a flow on the path. A program's flow has no other records.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowTraffic {
    /// Packets from the senders' side.
    pub sent_packets: u64,
    /// Bytes of these packets, headers included.
    pub sent_bytes: u64,
    /// Payload of these packets, bytes.
    pub sent_payload: u64,
    /// Packets from the receivers' side.
    pub reverse_packets: u64,
    /// Payload delivered to the receivers' side, bytes.
    pub delivered_payload: u64,
    /// Arrival of the first packet from either side.
    pub first: Option<Time>,
    /// Arrival of the last packet from either side.
    pub last: Time,
    /// One-way delays to the receivers' side.
    pub delay: DelayCounters,
}

impl FlowTraffic {
    /// Counts a packet from the senders' side.
    pub fn on_sent(&mut self, bytes: u64, payload: u64) {
        self.sent_packets += 1;
        self.sent_bytes += bytes;
        self.sent_payload += payload;
    }

    /// Counts a delivery to the receivers' side.
    pub fn on_delivered(&mut self, payload: u64, delay: Duration) {
        self.delivered_payload += payload;
        self.delay.add(delay);
    }

    /// A sample of the flow.
    #[must_use]
    pub fn sample(&self, time: Time, flow: FlowId, losses: Losses) -> SampleRow {
        SampleRow {
            time_ns: time.as_nanos(),
            flow: flow.into(),
            delivered_bytes: self.delivered_payload,
            sent_bytes: self.sent_payload,
            queue_drops: losses.queue,
            wire_losses: losses.wire,
            delay_ns: (self.delay.count > 0).then_some(self.delay.last.as_nanos()),
            ..SampleRow::default()
        }
    }
}

/// Data packets of each flow that queues dropped or wires lost, shared with the threads that sample the flows.
#[derive(Debug)]
pub struct DropCounters {
    queue: IndexVec<FlowId, AtomicU64>,
    wire: IndexVec<FlowId, AtomicU64>,
}

impl DropCounters {
    /// Zero counters for `flows` flows.
    #[must_use]
    pub fn new(flows: usize) -> Self {
        let zeros = || (0..flows).map(|_| AtomicU64::new(0)).collect();
        Self { queue: zeros(), wire: zeros() }
    }

    /// The current losses of a flow.
    #[must_use]
    pub fn get(&self, flow: FlowId) -> Losses {
        Losses { queue: self.queue[flow].load(Ordering::Relaxed), wire: self.wire[flow].load(Ordering::Relaxed) }
    }

    /// Publishes the losses of all flows.
    pub fn set(&self, losses: &[Losses]) {
        for ((queue, wire), one) in self.queue.iter().zip(&self.wire).zip(losses) {
            queue.store(one.queue, Ordering::Relaxed);
            wire.store(one.wire, Ordering::Relaxed);
        }
    }

    /// Sets all counters to zero.
    pub fn reset(&self) {
        for count in self.queue.iter().chain(&self.wire) {
            count.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: two deliveries after 30 and 10 ns.
    #[test]
    fn delays_are_summed_with_their_extremes() {
        let mut traffic = FlowTraffic::default();
        traffic.on_delivered(1_000, Duration::from_nanos(30));
        traffic.on_delivered(500, Duration::from_nanos(10));
        let delay = traffic.delay;
        assert_eq!(
            (delay.count, delay.sum, delay.min, delay.max, delay.last),
            (2, Duration::from_nanos(40), Duration::from_nanos(10), Duration::from_nanos(30), Duration::from_nanos(10))
        );
        assert_eq!(traffic.sample(Time::from_nanos(7), 0.into(), Losses::default()).delivered_bytes, 1_500);
    }
}
