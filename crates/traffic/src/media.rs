//! Real-time media: an encoder and the rate at which it sends.
//!
//! - [`encoder`]: frames of a live encoder (RFC 8593);
//! - [`nada`]: a congestion control for media (RFC 8698).

pub(crate) mod encoder;
pub(crate) mod nada;
