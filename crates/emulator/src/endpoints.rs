//! The emulator's own endpoints: kernel TCP connections that carry a flow's workload, and what is sampled of them.
//!
//! The state machines of [`cwndlab_traffic`] decide what is sent and when, as in the simulator; here threads carry it out.
//!
//! - [`connection`]: the state that the threads of a flow share, connecting and sending;
//! - [`stream`]: senders and receivers of one-way data;
//! - [`dialogue`]: both ends of a dialogue;
//! - [`application`]: selects among them by the workload;
//! - [`tcp_sampler`]: samples and events from `TCP_INFO`.

pub mod application;
pub mod connection;
pub mod dialogue;
pub mod stream;
pub mod tcp_sampler;
