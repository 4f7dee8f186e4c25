//! Our algorithms inside the kernel's TCP: the kernel measures and enforces, [`decider`] decides.
//!
//! - [`report`]: what the kernel tells, and what it is answered;
//! - [`decider`]: turns reports into the calls of the contract, and its window into answers. No clock and no kernel, so that
//!   a recorded stream of reports gives the same answers anywhere;
//! - `datapath` (feature of that name): the program in the kernel, its loader, and the thread in which deciders work.

#[cfg(feature = "datapath")]
pub mod datapath;
pub mod decider;
pub mod report;

pub use decider::Decider;
pub use report::{Decision, Kind, RateSample, Report, State};
