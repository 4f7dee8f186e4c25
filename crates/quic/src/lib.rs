//! Congestion controllers for [`quinn`] connections: every algorithm of the library that needs no support from routers.
//!
//! - [`controller()`]: makes a factory for [`quinn`]'s transport configuration from the name of an algorithm;
//! - [`factory`]: initial window, seed, an observer of every decision;
//! - [`limits()`]: what QUIC as implemented by `quinn` does not provide to an algorithm.
//!
//! ```
//! use quinn_proto::TransportConfig;
//!
//! let mut transport = TransportConfig::default();
//! transport.congestion_controller_factory(cwndlab_quic::controller("cubic+hystart")?);
//! # Ok::<(), cwndlab_quic::Refused>(())
//! ```
//!
//! `quinn` passes less to a controller than TCP does: bytes sent, acknowledged packets with their sending times, and losses
//! in batches. This crate reconstructs what the algorithms need beyond that: delivery-rate samples, round trips, one
//! congestion event per window, one report per ACK.
//!
//! [`quinn`]: https://docs.rs/quinn

mod controller;
mod delivery_tracker;
pub mod factory;
pub mod limits;

pub use controller::{Adapter, Answer, Observer};
pub use factory::{controller, Factory, Maker, Refused};
pub use limits::limits;
