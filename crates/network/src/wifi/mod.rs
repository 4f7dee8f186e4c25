//! A shared 802.11 medium: stations contend by DCF (802.11g) or EDCA's best-effort access category (802.11n).
//!
//! A [`Medium`] advances from one transmission to the next; backoff slots and frozen counters between two transmissions
//! are computed from the times. Every station receives all others, and the propagation delay is zero.

mod airtimes;
mod contention;
mod medium;
pub mod phy;
mod rules;
mod station;
#[cfg(test)]
mod tests;

pub use contention::NEVER;
pub use medium::{FrameOutcome, Medium, PathConfig, StationConfig};
pub use rules::{Aggregation, Beacon, Deferral, Rules};
pub use station::{Counters, PathTotals, Routed};
