//! Every algorithm of the library that needs no router's help, as the congestion controller of a [`quinn`] connection.
//!
//! - [`controller()`]: the name of an algorithm in, a factory for [`quinn`]'s transport configuration out;
//! - [`factory`]: initial window, seed, an observer of every answer;
//! - [`limits()`]: what an algorithm does not get from QUIC as `quinn` has it.
//!
//! ```
//! use quinn_proto::TransportConfig;
//!
//! let mut transport = TransportConfig::default();
//! transport.congestion_controller_factory(cwndlab_quic::controller("cubic+hystart")?);
//! # Ok::<(), cwndlab_quic::Refused>(())
//! ```
//!
//! `quinn` tells its controllers less than TCP tells its own: bytes sent, packets acknowledged with the times at which they
//! left, and losses in batches. What the algorithms of this library want beside that is rebuilt here: delivery-rate samples,
//! round trips, one congestion event per window, one report per ACK.
//!
//! [`quinn`]: https://docs.rs/quinn

mod controller;
pub mod factory;
mod ledger;
pub mod limits;

pub use controller::{Adapter, Answer, Observer};
pub use factory::{controller, Factory, Maker, Refused};
pub use limits::limits;
