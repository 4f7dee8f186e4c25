//! The emulator's own endpoints: kernel TCP connections that carry a flow's workload, and what is sampled of them.
//!
//! - [`connection`]: the state that the threads of a flow share, connecting and sending;
//! - [`stream`]: senders and receivers of one-way data;
//! - [`request_response`], [`mqtt`]: dialogues, built on [`messages`];
//! - [`application`]: selects among them by the workload;
//! - [`tcp_sampler`]: samples and events from `TCP_INFO`.

pub mod application;
pub mod connection;
pub mod messages;
pub mod mqtt;
pub mod request_response;
pub mod stream;
pub mod tcp_sampler;
