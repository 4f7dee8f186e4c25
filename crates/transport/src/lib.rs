//! The TCP endpoint without I/O: what a sender and a receiver do with segments, ACKs and time.
//!
//! - [`sender`]: handshake, loss detection, recovery, timers, pacing;
//! - [`receiver`]: reassembly, delayed ACKs, SACK blocks, the receive window;
//! - [`scoreboard`]: what became of every segment in flight, at O(1) amortised per ACK;
//! - [`stack`]: the values in which stacks differ.
//!
//! The sequence space counts whole segments; bytes appear at the edge (`docs/decisions/0001`).

mod ack_summary;
mod coarse_rto;
mod controller;
mod counters;
mod cwnd_validation;
mod delayed_ack;
pub mod delayed_control;
mod duplicate_acks;
mod ecn;
mod pacer;
mod prr;
mod rack;
mod rate_sample;
mod reassembly;
mod receive_window;
pub mod receiver;
pub mod recovery;
mod router_feedback;
pub mod rtt;
mod scoreboard;
mod send_buffer;
pub mod sender;
pub mod stack;
mod state;
mod tcb;
mod timers;
mod tso;
mod undo;
pub mod wire;
