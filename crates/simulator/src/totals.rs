//! Totals of a flow over all its connections.

use cwndlab_transport::sender::Counters;

/// Totals of one or more connections.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Totals {
    /// Counters of the senders.
    pub counters: Counters,
    /// Payload delivered in order to the application, bytes.
    pub delivered: u64,
    /// ACKs sent by the receivers.
    pub acks_sent: u64,
    /// Sum of the RTT samples, ns.
    pub rtt_sum: u128,
    /// Number of RTT samples.
    pub rtt_count: u64,
    /// The minimum RTT, ns; `u64::MAX` without a sample.
    pub min_rtt: u64,
}

impl Default for Totals {
    fn default() -> Self {
        Self { counters: Counters::default(), delivered: 0, acks_sent: 0, rtt_sum: 0, rtt_count: 0, min_rtt: u64::MAX }
    }
}

impl Totals {
    /// Adds the totals of other connections.
    pub(crate) fn add(&mut self, other: &Self) {
        self.counters = sum(&self.counters, &other.counters);
        self.delivered += other.delivered;
        self.acks_sent += other.acks_sent;
        self.rtt_sum += other.rtt_sum;
        self.rtt_count += other.rtt_count;
        self.min_rtt = self.min_rtt.min(other.min_rtt);
    }
}

/// The sum of two senders' counters.
fn sum(past: &Counters, now: &Counters) -> Counters {
    Counters {
        sent_packets: past.sent_packets + now.sent_packets,
        sent_bytes: past.sent_bytes + now.sent_bytes,
        retransmitted_packets: past.retransmitted_packets + now.retransmitted_packets,
        retransmitted_bytes: past.retransmitted_bytes + now.retransmitted_bytes,
        acked_bytes: past.acked_bytes + now.acked_bytes,
        timeouts: past.timeouts + now.timeouts,
        recoveries: past.recoveries + now.recoveries,
        ecn_reductions: past.ecn_reductions + now.ecn_reductions,
        undos: past.undos + now.undos,
        loss_probes: past.loss_probes + now.loss_probes,
    }
}
