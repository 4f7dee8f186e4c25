//! The measuring client: fetches part of the stream of `cwndlab serve` over TCP or QUIC and measures arrival times, on
//! Linux and on Windows.
//!
//! - [`fetch`]: a transfer and its result; `client_transport`, `fetch_tcp`, `fetch_quic`: its connection;
//! - [`trust`], [`fingerprint`]: the server's certificate;
//! - [`snapshot`], [`socket`], [`clock`]: what client and server have in common.

mod client_transport;
pub mod clock;
pub mod fetch;
mod fetch_quic;
mod fetch_tcp;
pub mod fingerprint;
pub mod snapshot;
pub mod socket;
pub mod trust;
