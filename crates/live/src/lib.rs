//! The server of live measurements: it sends with the congestion control of each request. `cwndlab_fetch` is the client.
//!
//! The server ([`server`]) supports HTTP/1.1 over TLS, so that any client can fetch, and HTTP/3. It generates its
//! payload ([`payload`]) without reading a disk. It is designed for the open Internet: a client without a token
//! receives no information, every resource is bounded ([`limits`]), and a circuit breaker (`breaker`) ends a transfer
//! that harms its path.
//!
//! - `admission`, `tcp`, `quic`, `tls`: accepting connections; `server_state`: their shared state;
//! - `request`, `handler`, `body`: HTTP requests and responses;
//! - `transfer`: a transfer and its samples; `monitor`, `breaker`: the limits of a connection;
//! - [`congestion`], `swappable`: the sender's algorithm over TCP and over QUIC.

mod admission;
mod body;
mod breaker;
pub mod certificate;
pub mod congestion;
pub mod counters;
mod handler;
pub mod limits;
mod monitor;
pub mod payload;
mod quic;
mod request;
pub mod server;
mod server_state;
mod swappable;
mod tcp;
mod tls;
pub mod tokens;
mod transfer;

pub use swappable::Classes;
