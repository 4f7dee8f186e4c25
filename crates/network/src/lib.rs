//! Links: a queue, a line that serialises, a wire that delays and loses packets; the medium of a wireless LAN
//! ([`wifi`]); and a cell of LTE or NR ([`cell`]).
//!
//! In a FIFO whose losses are decided on arrival, a packet's departure is known when it is enqueued. Such a [`Link`]
//! needs no events: [`Link::offer`] returns the outcome for a packet and its arrival time at the far end
//! (`docs/decisions/0002`). If losses are decided at departure ([`aqm`]), the line is event-driven ([`aqm_link`]).
//! Simulated and wall-clock time use the same code.

pub mod aqm;
pub mod router_assist;

pub mod aqm_link;
pub mod cell;
pub mod chunked_fifos;
pub mod dscp;
pub mod impairments;
pub mod line;
pub mod link;
pub mod loss;
pub mod queue;
pub mod random;
pub mod ring;
mod size_classes;
pub mod wifi;
pub mod wire;

pub use link::{Link, LinkConfig, Offer, Outcome, Totals};
