//! The timers of a connection, by their place among the sources of events.

/// Timers of each connection.
pub(crate) const TIMERS: usize = 4;
/// Retransmission, tail loss probe, reordering, persist.
pub(crate) const SENDER: usize = 0;
/// The next paced burst.
pub(crate) const PACE: usize = 1;
/// Delayed ACK, window update.
pub(crate) const RECEIVER: usize = 2;
/// Starts, stops and pauses of the application.
pub(crate) const APPLICATION: usize = 3;
