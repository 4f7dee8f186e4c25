//! The state of a sender, and its totals.

/// What the sender is doing, numbered as Linux numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// All is well.
    Open = 0,
    /// Duplicates arrive.
    Disorder = 1,
    /// The window falls after an ECN echo.
    Cwr = 2,
    /// A loss is being repaired.
    Recovery = 3,
    /// The retransmission timer expired.
    Loss = 4,
}

/// What the sender counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// Segments sent, retransmissions included.
    pub sent_packets: u64,
    /// Payload sent, retransmissions included.
    pub sent_bytes: u64,
    /// Payload acknowledged cumulatively.
    pub acked_bytes: u64,
    /// Segments sent again.
    pub retransmitted_packets: u64,
    /// Payload sent again.
    pub retransmitted_bytes: u64,
    /// Expired retransmission timers.
    pub timeouts: u64,
    /// Entries into recovery.
    pub recoveries: u64,
    /// Reductions by ECN.
    pub ecn_reductions: u64,
    /// Reductions taken back.
    pub undos: u64,
    /// Tail loss probes.
    pub loss_probes: u64,
}
