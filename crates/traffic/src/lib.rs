//! Applications as state machines without I/O: what they send, and when.
//!
//! An engine asks a state machine at the times that it names, and reports to it what arrived. The simulator drives them with
//! its own transport, the emulator with the kernel's sockets.
//!
//! - [`workloads`]: one file each, with its declared fields, its configuration ([`configuration`]) and, if it is a dialogue,
//!   its state machine;
//! - [`application`]: what an engine drives: a [`byte_source`], an [`arrival_process`], a [`dialogue`] or [`datagrams`];
//! - [`flow_context`]: what an application is told of its flow;
//! - [`distribution`] and [`distribution_fields`]: what sizes and times are drawn from, and its fields; [`sampling`] draws;
//! - [`delays`]: one-way delays.

pub mod application;
pub mod arrival_process;
pub mod byte_source;
pub mod configuration;
pub mod datagrams;
pub mod delays;
pub mod dialogue;
pub mod distribution;
pub mod distribution_fields;
pub mod flow_context;
mod packets;
mod repetition;
pub mod sampling;
pub mod workloads;

use cwndlab_units::Time;

pub use application::Application;
pub use distribution::Distribution;
pub use flow_context::FlowContext;
pub use packets::UDP_HEADER;
pub use workloads::Workload;

/// The time of an event that does not come.
pub const NEVER: Time = Time::MAX;
