//! Compares the congestion window in somebody's log with a reference algorithm, ACK by ACK.
//!
//! - [`qlog`] and [`capture`] read the log; [`event`] is its common form.
//! - The reconstruction (`quic.rs`, `tcp.rs`) derives the events that the sender's algorithm received: ACKs with their
//!   newly acknowledged data, congestion events, RTT and rate samples, and whether the window limited the sender
//!   (`limit.rs`). Where the log does not say what happened, or the standards permit several answers, it yields
//!   alternatives.
//! - [`transfer`] summarises a capture: progress, RTT, retransmissions.
//! - [`judge`] replays the events to the reference, keeps the alternative that is nearest to the next logged window,
//!   and reports a [`departure`] where none is within the tolerance. It then continues from the logged window.

pub mod capture;
pub mod comparison;
pub mod departure;
pub mod event;
pub mod item;
pub mod judge;
mod limit;
pub mod qlog;
mod quic;
mod replay;
pub mod report;
mod samples;
mod spurious;
pub mod surprise;
mod tcp;
pub mod transfer;

pub use replay::{audit, Audit, Options, Unknown};
