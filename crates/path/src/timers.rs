//! The timers of a connection, by their offset among its event sources.

/// Number of timers per connection.
pub const TIMERS: usize = 4;
/// The sender's timer: retransmission, tail loss probe, reordering, persist.
pub const SENDER: usize = 0;
/// The pacing timer.
pub const PACE: usize = 1;
/// The receiver's timer: delayed ACK, window update.
pub const RECEIVER: usize = 2;
/// The application's timer: starts, stops, pauses.
pub const APPLICATION: usize = 3;
