//! The segments that may be sent after an ACK.

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
