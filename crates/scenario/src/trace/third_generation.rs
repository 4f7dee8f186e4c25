//! 3G: slower than LTE, with long outages. The figures are round ones of our own, fitted to no recording.

use super::wandering_rate::{make, Process};
use super::Kind;

/// The entry among the kinds of traces.
pub(super) static SPEC: Kind =
    Kind::new("3g", "3G: slower than LTE, with long outages.", |seed, seconds| make(&PROCESS, seed, seconds));

const PROCESS: Process =
    Process { stream: 2, mbps: 2.0, sigma: 0.5, memory_s: 3.0, between_s: 40.0, outage_s: 1.5, handover: 0.0 };
