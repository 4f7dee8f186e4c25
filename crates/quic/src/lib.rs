//! Congestion controllers for [`quinn`] connections: every algorithm of the library that needs no router assistance.
//!
//! - [`controller_factory()`]: creates a factory for [`quinn`]'s transport configuration from an algorithm's name;
//! - [`factory`]: initial window, seed, an observer of the window;
//! - [`limits()`]: the inputs and controls of an algorithm that `quinn` does not provide.
//!
//! ```
//! use quinn_proto::TransportConfig;
//!
//! let mut transport = TransportConfig::default();
//! transport.congestion_controller_factory(cwndlab_quic::controller_factory("cubic+hystart")?);
//! # Ok::<(), cwndlab_units::Fault>(())
//! ```
//!
//! `quinn` passes less information to a controller than TCP: bytes sent, acknowledged packets with their sending times,
//! and losses in batches. From these this crate computes the other inputs of the algorithms: delivery-rate samples,
//! round trips, one congestion event per window, one report per ACK.
//!
//! [`quinn`]: https://docs.rs/quinn

mod controller;
mod delivery_tracker;
pub mod factory;
mod guarded;
pub mod limits;

pub use controller::{Adapter, Observation, Observer};
pub use factory::{controller_factory, Factory};
pub use guarded::OnFailure;
pub use limits::limits;
