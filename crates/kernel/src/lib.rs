//! Algorithms inside the kernel's TCP: an eBPF program measures and enforces, [`decider`] decides.
//!
//! - [`report`]: reports of the kernel and decisions on them;
//! - [`decider`]: turns reports into calls of the contract, and its window into decisions. It has no clock and no kernel, so
//!   that a recorded stream of reports gives the same decisions anywhere;
//! - `datapath` (feature of that name): the eBPF program, its loader, and the thread that runs the deciders.

#[cfg(feature = "datapath")]
pub mod datapath;
pub mod decider;
pub mod report;

pub use decider::Decider;
pub use report::{Acked, Decision, Kind, RateSample, Report, Rtt, State};
