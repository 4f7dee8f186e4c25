//! The emulator's own endpoints: kernel TCP connections that carry a flow's workload, and their sampling.
//!
//! As in the simulator, the state machines of [`cwndlab_traffic`] decide which data are sent when. Threads execute
//! their decisions on sockets.
//!
//! - [`connection`]: the state that the threads of a flow share, connecting;
//! - `writer`: writing what the application has written by then;
//! - [`stream`]: senders and receivers of one-way data;
//! - [`dialogue`]: both endpoints of a dialogue;
//! - [`arrivals`]: transfers that arrive at random times, each over its own connection;
//! - [`application`]: selects one of these by the workload;
//! - [`tcp_sampler`]: samples and events from `TCP_INFO`.

pub mod application;
pub mod arrivals;
pub mod connection;
pub mod dialogue;
pub mod stream;
pub mod tcp_sampler;
mod writer;
