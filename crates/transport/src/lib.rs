//! The TCP endpoint without I/O: what a sender and a receiver do with segments, ACKs and time.
//!
//! - [`sender`]: handshake, loss detection, recovery, timers, pacing;
//! - [`receiver`]: reassembly, delayed ACKs, SACK blocks, the receive window;
//! - [`scoreboard`]: what became of every segment in flight, at O(1) amortised per ACK;
//! - [`stack`]: the values in which stacks differ.
//!
//! The sequence space counts whole segments; bytes appear at the edge (`docs/decisions/0001`).

pub mod receiver;
pub mod remote;
pub mod rtt;
pub mod scoreboard;
pub mod sender;
pub mod stack;
mod ticks;
pub mod wire;
