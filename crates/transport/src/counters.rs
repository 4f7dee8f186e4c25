//! The totals of a connection's sender.

/// What the sender counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// Segments sent, retransmissions included.
    pub sent_packets: u64,
    /// Payload sent, retransmissions included.
    pub sent_bytes: u64,
    /// Payload acknowledged cumulatively.
    pub acked_bytes: u64,
    /// Segments retransmitted.
    pub retransmitted_packets: u64,
    /// Payload retransmitted.
    pub retransmitted_bytes: u64,
    /// Expired retransmission timers.
    pub timeouts: u64,
    /// Entries into recovery.
    pub recoveries: u64,
    /// Reductions upon ECN echoes.
    pub ecn_reductions: u64,
    /// Reductions undone.
    pub undos: u64,
    /// Tail loss probes sent.
    pub loss_probes: u64,
}
