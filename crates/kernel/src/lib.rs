//! Congestion control algorithms in the kernel's TCP: an eBPF program measures and enforces, [`decider`] decides.
//!
//! - [`report`]: reports of the kernel and decisions on them;
//! - [`decider`]: translates reports to calls of the contract, and the algorithm's window to decisions. It uses no
//!   clock and no system call, so that a recorded stream of reports yields the same decisions everywhere;
//! - `datapath` (with the feature `datapath`): the eBPF program, its loader, and the thread that runs the deciders.

#[cfg(feature = "datapath")]
pub mod datapath;
pub mod decider;
pub mod report;

pub use decider::Decider;
pub use report::{Acked, Decision, Kind, RateSample, Report, Rtt};
