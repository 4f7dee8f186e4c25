//! The simulator: turns a plan and a seed into records. A run is a pure function of the two.
//!
//! | module | purpose |
//! |---|---|
//! | `engine` | the event loop |
//! | `simulation` | the state of a run: network and connections |
//! | `sampler` | writes the tables |
//! | `applications`, `run_arrivals`, `run_dialogues` | applications that span several connections |
//! | `connection` | one connection: transport and application |
//! | `packet_sink` | what the two ends send, as packets |
//! | [`network`] | carries packets along their routes |
//! | [`agenda`], `ties` | the event queue, and the order of events at the same time |
//! | `routes`, `link_fusion` | the links of each route, and which of them need no event |
//! | `wires` | packets on wires |
//! | `aqm_links`, `wifi` | links with a queue discipline, and 802.11 media |
//! | `build_links` | links from the plan |
//! | [`packet`], `packet_options` | packets, and what they carry |
//! | `taps` | packet records |
//! | [`losses`], [`link_snapshot`], `link_report` | counters of flows and links |
//!
//! docs/architecture.md follows a packet and its ACK through them.

pub mod agenda;
mod applications;
mod aqm_links;
mod arrival_connections;
mod build_links;
mod connection;
mod dialogue;
pub mod engine;
mod link_fusion;
mod link_report;
pub mod link_snapshot;
pub mod losses;
pub mod network;
mod no_control;
pub mod packet;
mod packet_options;
mod packet_sink;
mod routes;
mod run_arrivals;
mod run_dialogues;
mod sampler;
mod simulation;
mod taps;
mod ties;
mod timers;
mod totals;
mod wifi;
mod wires;

pub use cwndlab_algorithms::catalogue;
pub use engine::{run, run_counted, run_within, RunError, Statistics};
