//! Links: a queue, a line that serialises, a wire that delays and may lose; and a medium that stations share ([`wifi`]).
//!
//! In a FIFO whose losses are decided on arrival a packet's departure is known when it is enqueued. So a [`Link`]
//! is no process: [`Link::offer`] answers what becomes of a packet and when it reaches the far end
//! (`docs/decisions/0002`). Where the decision falls at departure ([`aqm`]), a line runs by event ([`aqm_link`]).
//! The same code serves simulated and wall-clock time.

pub mod aqm;
pub mod router_assist;

pub mod aqm_link;
mod impairments;
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
