//! Real-time media: an encoder, and congestion controls for the rate at which it sends.
//!
//! - `encoder`: frames of a live encoder (RFC 8593);
//! - [`rate_control`]: the contract of a congestion control for media;
//! - [`controls`]: their list, and [`custom`]: those outside of the tree;
//! - [`feedback`]: reports of the receiver;
//! - `nada`: NADA (RFC 8698);
//! - `scream2`: SCReAMv2 (draft-ietf-ccwg-rfc8298bis-screamv2);
//! - `gcc`: Google's congestion control of WebRTC.

pub mod controls;
pub mod custom;
pub(crate) mod encoder;
pub mod feedback;
pub(crate) mod gcc;
pub(crate) mod nada;
pub mod rate_control;
pub(crate) mod scream2;
