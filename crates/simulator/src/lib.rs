//! The simulator: a plan and a seed in, records out; a pure function.
//!
//! - [`agenda`]: the event queue, whose size is the number of things that wait, not of packets in flight;
//! - [`world`]: links and what is on them;
//! - [`flow`]: a sender, a receiver and the application above them;
//! - [`datagrams`]: a flow without a connection;
//! - [`pool`]: connections beside the plan's flows; [`talk`]: conversations, both ways; [`draw`]: chance;
//! - [`port`]: what they send, as packets;
//! - `ties`: the order of events at the same moment;
//! - [`engine`]: the loop.

pub mod agenda;
mod air;
pub mod datagrams;
pub mod draw;
pub mod engine;
pub mod flow;
mod fuse;
mod lines;
pub mod packet;
pub mod pool;
pub mod port;
pub mod recorder;
pub mod service;
pub mod talk;
mod ties;
pub mod world;

pub use cwndlab_algorithms::catalogue;
pub use engine::{run, run_counted, run_within, RunError, Statistics};

/// When a timer expires that does not run.
pub(crate) const NEVER: u64 = u64::MAX;
