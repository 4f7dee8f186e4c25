//! The TCP endpoint without I/O: a sender and a receiver as state machines over segments, ACKs and time.
//!
//! The crate uses no clock, socket or random number. The caller passes the time with every call, carries the packets
//! that [`wire::Output`] receives to the other endpoint, and calls `on_timer` and `on_pace` when
//! [`sender::Sender::timer`] and [`sender::Sender::pace_timer`] are due. The sequence space counts whole segments
//! (`docs/decisions/0001`).
//!
//! # How a segment is sent
//!
//! 1. `sender/mod.rs`: the application calls `supply`; `send_buffer.rs` keeps the unsent data and the receive window.
//! 2. `sender/transmit.rs` sends segments up to the first limit: the congestion window, the receive window, pacing
//!    (`pacer.rs`), or TSO deferral (`tso.rs`). Segments marked lost come before new data; limited transmit
//!    (`duplicate_acks.rs`) adds two. After an idle period the window restarts first (`cwnd_validation.rs`).
//! 3. `scoreboard.rs` records the segment with the connection's delivery state (`rate_sample.rs`).
//! 4. `controller.rs` reports the segment to the algorithm, and [`wire::Output`] receives it.
//! 5. `tcb/timing.rs` starts the retransmission or the probe timer; at most one timer runs (`timers.rs`).
//! 6. [`receiver`] acknowledges it: `reassembly.rs` stores out-of-order segments and builds SACK blocks,
//!    `delayed_ack.rs` decides when to acknowledge, `receive_window.rs` computes the advertised window.
//!
//! # How an ACK is processed
//!
//! 1. `sender/on_ack.rs` calls the following steps in this order. One `AckSummary` holds their results
//!    (`ack_summary.rs`).
//! 2. `tcb/delivery.rs`: the cumulative acknowledgement and the new SACK blocks (`sack_cache.rs`) mark segments
//!    delivered on `scoreboard.rs`; each delivery adds to the rate sample (`rate_sample.rs`) and advances RACK
//!    (`rack.rs`).
//! 3. [`rtt`]: the RTT sample updates SRTT, RTTVAR and the minimum; `RttEstimator::update_rto` computes the
//!    timeout with granularity and back-off (in clock ticks: `coarse_rto.rs`).
//! 4. `recovery/`, one file per kind: marks segments lost, enters and exits recovery, and sets the window during
//!    recovery, with `prr.rs` and `undo.rs`. Reductions are reported to the algorithm (`tcb/reduction.rs`).
//! 5. `controller.rs`: the algorithm receives the ACK; `cwnd_validation.rs` adds whether the window limited the sender,
//!    `ecn.rs` the number of marked bytes, `router_feedback.rs` the routers' feedback. Except during a reduction, the
//!    algorithm's window is `cwnd`.
//! 6. `tcb/timing.rs`: the retransmission or the probe timer restarts.
//! 7. `pacer.rs`: the pacing rate follows the algorithm or the stack's rule.
//! 8. `sender/transmit.rs`: sends the segments that the window now allows.
//!
//! Fast path: most ACKs only advance SND.UNA while every segment in flight was sent once (`Sender::fast_path`). They
//! take the same steps without recovery and without a summary, and the timer restarts once, after transmission
//! (`Sender::on_fast_path_ack`).
//!
//! Expired timers enter at `sender/on_timer.rs`; a retransmission timeout continues in `recovery/enter_loss.rs`, which
//! doubles the RTO (`RttEstimator::back_off`).
//!
//! # Layers
//!
//! Imports go in one direction: [`wire`], [`stack`] and the components (one file each, with its tests) ← `tcb`, the
//! transmission control block that holds them ← [`recovery`] ← [`sender`]. A new kind of recovery is a file in
//! `recovery/` and a variant in its `mod.rs`; a new stack parameter is a field in `stack.rs`.

pub mod accecn;
pub mod accecn_handshake;
pub mod accecn_option;
mod ack_summary;
mod coarse_rto;
mod controller;
pub mod cwnd_validation;
mod delayed_ack;
pub mod delayed_control;
pub mod duplicate_acks;
mod ecn;
mod pacer;
mod prr;
mod rack;
pub mod rate_sample;
mod reassembly;
mod receive_window;
pub mod receiver;
pub mod recovery;
mod rexmit;
mod router_feedback;
pub mod rtt;
mod sack_cache;
mod scoreboard;
pub mod segment;
mod send_buffer;
pub mod sender;
pub mod stack;
mod tcb;
mod ticks;
mod timers;
mod tso;
mod undo;
pub mod wire;

#[cfg(test)]
#[path = "../tests/script/linux_stack.rs"]
mod linux_stack;
