//! 802.11 as a shared medium: stations contend by DCF (802.11g) or EDCA's best-effort class (802.11n).
//!
//! A [`Medium`] goes from one transmission to the next: what happens between two of them, counted slots and frozen
//! counters, follows from the times alone. All stations hear each other; propagation takes no time.

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
