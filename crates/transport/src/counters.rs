//! The counters of a connection's sender.

/// Counters of a sender since its start, or since the last reset.
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
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Entries into recovery.
    pub recoveries: u64,
    /// Reductions caused by ECN echoes.
    pub ecn_reductions: u64,
    /// Spurious reductions undone.
    pub undos: u64,
    /// Tail loss probes sent.
    pub loss_probes: u64,
}
