//! Live measurement: a server that sends with the congestion control of each request, and a measuring client.
//!
//! The server ([`server`]) supports HTTP/1.1 over TLS, so that any client can fetch, and HTTP/3. It generates its
//! payload ([`payload`]) without reading a disk. It is designed for the open Internet: a client without a token
//! receives no information, every resource is bounded ([`limits`]), and a circuit breaker (`breaker`) ends a transfer
//! that harms its path.
//!
//! - `admission`, `tcp`, `quic`, `tls`: accepting connections; `server_state`: their shared state;
//! - `request`, `handler`, `body`: HTTP requests and responses;
//! - `transfer`, [`snapshot`]: a transfer and its samples; `monitor`, `breaker`: the limits of a connection;
//! - [`congestion`], `swappable`: the sender's algorithm over TCP and over QUIC;
//! - [`fetch`], `client_transport`, `fetch_tcp`, `fetch_quic`, `trust`: the client.

mod admission;
mod body;
mod breaker;
pub mod certificate;
mod client_transport;
mod clock;
pub mod congestion;
pub mod counters;
pub mod fetch;
mod fetch_quic;
mod fetch_tcp;
mod handler;
pub mod limits;
mod monitor;
pub mod payload;
mod quic;
mod request;
pub mod server;
mod server_state;
pub mod snapshot;
mod socket;
mod swappable;
mod tcp;
mod tls;
pub mod tokens;
mod transfer;
mod trust;

pub use handler::{ALGORITHM, TRANSFER};
pub use swappable::Classes;
