//! Application workloads as state machines without I/O.
//!
//! An engine calls a state machine when its timer is due and reports arriving data to it. The simulator runs the state
//! machines on its own transport, the emulator on the kernel's sockets.
//!
//! - [`workloads`]: one file each, with declared fields, configuration ([`configuration`]) and, for a dialogue, its state
//!   machine;
//! - [`application`]: a flow's application, which takes an [`action`] at its timer: a [`byte_source`], an [`arrival_process`], a [`dialogue`], [`datagrams`] or an [`exchange`] of them;
//! - [`handshake`]: what the ends of a dialogue exchange before its first message, such as TLS; [`dtls`]: that of an exchange; `quic`: packets and handshake of QUIC; [`schedule`]: the times of
//!   messages;
//! - [`flow_context`]: the properties of a flow that its application uses;
//! - [`distribution`], [`distribution_fields`], [`sampling`]: distributions of sizes and times, their fields, and draws;
//! - [`media`]: encoder and congestion controls of real-time media;
//! - [`delays`]: one-way delays; [`message_log`]: the messages of a flow, delivered or not.

pub mod action;
pub mod application;
pub mod arrival_process;
pub mod byte_source;
pub mod coap;
pub mod configuration;
pub mod datagrams;
pub mod delays;
pub mod dialogue;
pub mod distribution;
pub mod distribution_fields;
pub mod dtls;
pub mod exchange;
pub mod flow_context;
pub mod handshake;
pub mod http;
pub mod media;
pub mod message_log;
mod mqtt;
mod packets;
mod quic;
mod repetition;
pub mod sampling;
pub mod schedule;
mod server;
pub mod workloads;
pub mod write_schedule;

use cwndlab_units::Time;

pub use application::Application;
pub use distribution::Distribution;
pub use flow_context::FlowContext;
pub use packets::UDP_HEADER;
pub use quic::{QUIC_ACK_RANGE, QUIC_DATAGRAM, QUIC_HEADER};
pub use workloads::Workload;

/// The time of an event that never occurs.
pub const NEVER: Time = Time::MAX;
