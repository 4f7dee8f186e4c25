//! Live measurement: a server whose sender's congestion control each connection chooses, and the client that fetches
//! from it and takes the times.
//!
//! The server ([`server`]) speaks HTTP/1.1 over TLS, so that any client can fetch. What it serves ([`payload`]) is made,
//! never read from a disk. It is meant for the open network: who has no token learns nothing, every resource has a bound
//! ([`limits`]), and a transfer that hurts its path is ended (`breaker`).

mod account;
mod admission;
mod answer;
mod body;
mod breaker;
pub mod certificate;
mod clock;
pub mod congestion;
pub mod counters;
pub mod fetch;
mod fetch_quic;
mod fetch_tcp;
mod house;
pub mod limits;
pub mod look;
pub mod payload;
mod quic;
mod request;
pub mod server;
mod socket;
mod switch;
mod tcp;
pub mod tokens;
mod trust;

pub use answer::{ALGORITHM, TRANSFER};
