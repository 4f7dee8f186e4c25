//! The timers of a connection, by their place among the sources of events.

/// Timers of each connection.
pub const TIMERS: usize = 4;
/// Retransmission, tail loss probe, reordering, persist.
pub const SENDER: usize = 0;
/// The next paced burst.
pub const PACE: usize = 1;
/// Delayed ACK, window update.
pub const RECEIVER: usize = 2;
/// Starts, stops and pauses of the application.
pub const APPLICATION: usize = 3;
