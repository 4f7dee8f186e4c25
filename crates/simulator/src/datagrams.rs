//! A flow without a connection (UDP): a source that sends by its own clock, a sink that counts.

use cwndlab_control::{Ack, Congestion, CongestionControl};
use cwndlab_scenario::plan::{FlowPlan, Pattern, Workload};
use cwndlab_transport::sender::Counters;
use cwndlab_units::Bytes;

use crate::packet::{Packet, DATA};
use crate::world::World;

/// Stands where a flow has no congestion control; nobody asks it.
#[derive(Debug)]
pub struct Unheard(pub Bytes);

impl CongestionControl for Unheard {
    fn on_ack(&mut self, _ack: &Ack) {}

    fn on_congestion(&mut self, _event: &Congestion) {}

    fn cwnd(&self) -> Bytes {
        self.0
    }
}

/// One-way delays from the moment of sending to the sink, queues included.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delays {
    /// Packets received.
    pub count: u64,
    /// Sum.
    pub sum: u64,
    /// The last packet's.
    pub last: u64,
    /// The smallest.
    pub min: u64,
    /// The largest.
    pub max: u64,
}

impl Delays {
    fn add(&mut self, delay: u64) {
        self.min = if self.count == 0 { delay } else { self.min.min(delay) };
        self.max = self.max.max(delay);
        self.count += 1;
        self.sum += delay;
        self.last = delay;
    }

    /// Their mean.
    #[must_use]
    pub fn mean(&self) -> Option<u64> {
        self.sum.checked_div(self.count)
    }
}

/// Source and sink.
#[derive(Debug)]
pub struct Datagrams {
    pattern: Pattern,
    rate_bps: u64,
    packet: u32,
    header: u32,
    /// When the packets that are spaced evenly began, and how many of them left.
    since: Option<u64>,
    steps: u64,
    seq: u32,
    sent_bytes: u64,
    sent_packets: u64,
    /// Payload received.
    pub received_bytes: u64,
    /// Delays of what was received.
    pub delays: Delays,
}

impl Datagrams {
    /// Those of a flow; `None` where it is sent over a connection.
    #[must_use]
    pub fn of(plan: &FlowPlan) -> Option<Self> {
        let Workload::Datagrams { rate, packet, pattern } = &plan.workload else { return None };
        Some(Self {
            pattern: pattern.clone(),
            rate_bps: rate.0,
            packet: packet.0 as u32,
            header: plan.stack.header.0 as u32,
            since: None,
            steps: 0,
            seq: 0,
            sent_bytes: 0,
            sent_packets: 0,
            received_bytes: 0,
            delays: Delays::default(),
        })
    }

    /// Sends what is due; answers when more is.
    pub fn send(&mut self, now: u64, flow: u32, world: &mut World) -> u64 {
        match self.pattern {
            Pattern::Steady => {
                self.emit(now, self.packet, flow, world);
                self.next_step(now)
            }
        }
    }

    /// When the next of evenly spaced packets is due: step n at n packets' time after the first, rounded down, so that
    /// no error adds up.
    fn next_step(&mut self, now: u64) -> u64 {
        let since = *self.since.get_or_insert(now);
        self.steps += 1;
        let bits = u128::from(self.steps) * u128::from(self.packet) * 8_000_000_000;
        since + (bits / u128::from(self.rate_bps)) as u64
    }

    fn emit(&mut self, now: u64, size: u32, flow: u32, world: &mut World) {
        let len = size - self.header;
        self.sent_packets += 1;
        self.sent_bytes += u64::from(len);
        let packet =
            Packet { stamp: now, seq: self.seq, flow, aux: len, size: size as u16, flags: DATA, ..Packet::default() };
        self.seq = self.seq.wrapping_add(1);
        world.forward(now, packet);
    }

    /// A packet reaches the sink.
    pub fn receive(&mut self, now: u64, packet: &Packet) {
        self.received_bytes += u64::from(packet.aux);
        self.delays.add(now - packet.stamp);
    }

    /// What was sent.
    #[must_use]
    pub fn count(&self) -> Counters {
        Counters { sent_packets: self.sent_packets, sent_bytes: self.sent_bytes, ..Counters::default() }
    }
}
