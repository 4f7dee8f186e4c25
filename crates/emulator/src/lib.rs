//! The emulator: a scenario's network on the wall clock, between the real TCP of two network namespaces.
//!
//! Senders run in one namespace and receivers in another. A TUN device in each carries their packets to [`path`], which
//! carries them over the links, queues, losses and media that the simulator has. The endpoints are kernel TCP ([`endpoints`]) or any
//! program. The records have the simulator's tables. Namespaces, devices and programs end with this process
//! ([`cwndlab_linux::namespace`], [`cwndlab_linux::pid_namespace`]).
//!
//! - [`session`]: two namespaces with the path between them;
//! - [`emulate()`]: a run with the emulator's own endpoints;
//! - [`path`]: the network on the wall clock; [`packet_store`], [`counters`], [`lateness`], [`udp_sources`]: its parts;
//! - [`calibration`]: probes before a run;
//! - [`addresses`], [`ipv4`]: addresses of the flows, headers of packets;
//! - [`endpoints`]: senders, receivers and what is sampled of their connections;
//! - [`algorithm`]: the names of congestion controls in the kernel.

pub mod addresses;
pub mod algorithm;
pub mod calibration;
pub mod counters;
mod emulate;
pub mod endpoints;
pub mod ipv4;
pub mod lateness;
pub mod packet_store;
pub mod path;
pub mod session;
pub mod udp_sources;

pub use addresses::Side;
pub use algorithm::{kernel_algorithm, Datapath};
pub use emulate::emulate;
pub use session::{Options, Quality, Session, MAX_LATENESS};
