//! Totals of a flow over all its connections.

use cwndlab_units::SenderCounters;

/// Totals of one or more connections.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Totals {
    /// Counters of the senders.
    pub counters: SenderCounters,
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
        Self {
            counters: SenderCounters::default(),
            delivered: 0,
            acks_sent: 0,
            rtt_sum: 0,
            rtt_count: 0,
            min_rtt: u64::MAX,
        }
    }
}

impl Totals {
    /// Adds the totals of other connections.
    pub(crate) fn add(&mut self, other: &Self) {
        self.counters = self.counters + other.counters;
        self.delivered += other.delivered;
        self.acks_sent += other.acks_sent;
        self.rtt_sum += other.rtt_sum;
        self.rtt_count += other.rtt_count;
        self.min_rtt = self.min_rtt.min(other.min_rtt);
    }
}
