//! Applications as state machines without I/O: what they send, and when.
//!
//! An engine asks a state machine at the times that it names, and reports to it what arrived.
//!
//! | module | workload |
//! |---|---|
//! | [`byte_source`] | bulk data, on-off periods, transfers one after another |
//! | [`arrivals`] | transfers that arrive as a Poisson process |
//! | [`request_response`] | requests and responses |
//! | [`mqtt`] | a sensor and its broker |
//! | [`datagrams`] | UDP |
//!
//! [`messages`] finds messages in a byte stream, [`sampling`] draws from distributions, [`start_times`] gives the starts of
//! flows, [`delays`] keeps one-way delays.

pub mod arrivals;
pub mod byte_source;
pub mod datagrams;
pub mod delays;
pub mod messages;
pub mod mqtt;
pub mod request_response;
pub mod sampling;
pub mod start_times;

use cwndlab_units::Time;

/// The time of an event that does not come.
pub const NEVER: Time = Time::MAX;
