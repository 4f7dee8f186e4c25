//! The emulator: a scenario's network on the wall clock, between the kernel TCP of two network namespaces.
//!
//! Senders run in one namespace and receivers in another. A TUN device in each namespace passes their packets to
//! [`path`], which forwards them over the simulator's links, queues, loss models and media. The endpoints are kernel
//! TCP ([`endpoints`]) or arbitrary programs. The records have the simulator's tables. The kernel removes namespaces,
//! devices and programs when this process ends ([`cwndlab_linux::namespace`], [`cwndlab_linux::pid_namespace`]).
//!
//! - [`session`]: two namespaces and the path between them;
//! - [`emulate()`]: a run with the emulator's own endpoints;
//! - [`path`]: the network on the wall clock; [`packet_store`], [`counters`], [`lateness`], [`udp_sources`], `waiting`: its parts;
//! - [`calibration`]: probes before a run;
//! - `inbox`: messages that brokers send on; `locking`: locks; `requirements`: what an emulation requires; `program_sampler`: samples of the TCP connections of programs;
//! - [`addresses`], [`ip`]: addresses of the flows, headers of packets;
//! - [`endpoints`]: senders, receivers and the sampling of their connections;
//! - [`algorithm`]: the kernel's names of congestion controls.

pub mod addresses;
pub mod algorithm;
pub mod calibration;
pub mod counters;
mod emulate;
pub mod endpoints;
mod inbox;
pub mod ip;
pub mod lateness;
mod locking;
pub mod packet_store;
pub mod path;
mod program_sampler;
mod requirements;
pub mod session;
pub mod udp_sources;
mod waiting;

pub use addresses::{Family, Side};
pub use algorithm::{kernel_algorithm, Datapath, ProgramAlgorithm};
pub use emulate::emulate;
pub use session::{Options, Quality, Session, Setting, MAX_LATENESS};
