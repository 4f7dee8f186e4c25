//! The congestion state of a sender, as Linux numbers it (`enum tcp_ca_state`).

/// The congestion state of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// No sign of congestion.
    Open = 0,
    /// Duplicate ACKs or SACKs arrive, but no segment is marked lost.
    Disorder = 1,
    /// Congestion window reduced: the sender reduces the window after an ECN echo.
    Cwr = 2,
    /// Fast recovery: lost segments are retransmitted.
    Recovery = 3,
    /// The retransmission timer expired.
    Loss = 4,
}

impl State {
    /// Whether the transport is reducing the window.
    #[inline]
    pub(crate) fn is_reducing(self) -> bool {
        matches!(self, Self::Cwr | Self::Recovery)
    }
}

/// The segments that may be sent after an ACK (Linux, `REXMIT_NONE`, `REXMIT_LOST`, `REXMIT_NEW` of tcp_input.c).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rexmit {
    /// Segments marked lost, before new data.
    Lost,
    /// New data first; segments marked lost only if there is no new data (RFC 5682, section 2.1, step 2b).
    New,
    /// No retransmission; new data only.
    None,
}
