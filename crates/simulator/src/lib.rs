//! The simulator: turns a plan and a seed into records. A run is a pure function of the two.
//!
//! | module | purpose |
//! |---|---|
//! | `engine` | the event loop |
//! | `simulation` | the state of a run: network and connections |
//! | `run_ahead` | ends of connections that take packets ahead of the clock |
//! | `sampler`, `end_samples` | writes the tables; samples of ends ahead of the clock |
//! | `applications`, `run_arrivals`, `run_dialogues` | applications that span several connections |
//! | `connection`, `connections` | one connection: transport and application; all of them |
//! | `packet_sink` | what the two ends send, as packets |
//!
//! The network is in crate `path`, applications are in crate `traffic`, the two ends of a connection in crate `transport`.
//! docs/architecture.md follows a packet and its ACK through them.

mod applications;
mod arrival_connections;
mod connection;
mod connections;
mod dialogue;
mod end_samples;
pub mod engine;
mod no_control;
mod packet_sink;
mod run_ahead;
mod run_arrivals;
mod run_dialogues;
mod sampler;
mod simulation;
mod totals;

pub use cwndlab_algorithms::catalogue;
pub use engine::{run, run_counted, run_within, RunError, Statistics};
