//! The simulator: runs a plan with a seed and returns its records. A run is a pure function of plan and seed.
//!
//! | module | purpose |
//! |---|---|
//! | `engine` | the event loop |
//! | `parallel` | a run on several threads |
//! | `stops` | times at which a run is suspended, and its state there |
//! | `simulation` | the state of a run: network and connections |
//! | `batches` | packets sorted by connection |
//! | `run_ahead` | endpoints that process packets ahead of the clock |
//! | `sampler`, `end_samples` | the tables of a run; samples taken ahead of the clock |
//! | `applications`, `run_arrivals`, `run_dialogues` | applications that span several connections |
//! | `connection`, `connections` | a connection with its transport and application; all connections |
//! | `value_recorder` | variables of algorithms and transport for the table `named_values` |
//! | `packet_sink` | conversion of segments and ACKs to packets |
//!
//! The network is in crate `path`, applications are in crate `traffic`, sender and receiver in crate `transport`.
//! docs/architecture.md follows a packet and its ACK through these crates.

mod applications;
mod arrival_connections;
mod batches;
mod connection;
mod connections;
mod dialogue;
mod end_samples;
pub mod engine;
mod message_rows;
mod no_control;
mod packet_sink;
mod parallel;
mod run_ahead;
mod run_arrivals;
mod run_dialogues;
mod run_exchanges;
mod sampler;
mod simulation;
pub mod stops;
mod syn_answers;
mod totals;
mod udp;
mod value_recorder;

pub use cwndlab_algorithms::catalogue;
pub use engine::{run, run_counted, run_stopping, run_within, Statistics};
pub use parallel::{run_parallel, schedule, Schedule};
pub use stops::{FlowState, RunState, Stop, Stops};
