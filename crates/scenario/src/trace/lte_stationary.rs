//! LTE at rest: a steady rate. The figures are round ones of our own, fitted to no recording.

use super::wandering_rate::{make, Process};
use super::Kind;

/// The entry among the kinds of traces.
pub(super) static SPEC: Kind =
    Kind::new("lte-stationary", "LTE at rest: a steady rate.", |seed, seconds| make(&PROCESS, seed, seconds));

const PROCESS: Process =
    Process { stream: 1, mbps: 20.0, sigma: 0.25, memory_s: 5.0, between_s: 1e9, outage_s: 0.0, handover: 0.0 };
