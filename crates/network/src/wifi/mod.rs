//! A shared 802.11 medium: stations contend by DCF (802.11g), by EDCA's best-effort access category alone (802.11n), or by
//! all four access categories of EDCA (either).
//!
//! A [`Medium`] advances from one transmission to the next; backoff slots and frozen counters between two transmissions
//! are computed from the times. Every station receives all others, and the propagation delay is zero.

mod access_function;
mod airtimes;
mod contention;
mod edca;
mod exchange;
mod he;
mod medium;
pub mod neighbourhood;
pub mod phy;
mod rules;
mod stations;
#[cfg(test)]
mod tests;

pub use access_function::{Counters, PathTotals, Routed};
pub use contention::NEVER;
pub use edca::{AccessCategory, AccessParameters, DscpMapping, Edca, Protection};
pub use medium::{FrameOutcome, Medium};
pub use rules::{Aggregation, Beacon, Deferral, Rules};
pub use stations::{PathConfig, QueueConfig, Stations};
