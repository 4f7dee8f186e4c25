//! A low-orbit satellite, with a handover every 15 s. The figures are round ones of our own, fitted to no recording.

use super::wandering_rate::{make, Process};
use super::Kind;

/// The entry among the kinds of traces.
pub(super) static SPEC: Kind =
    Kind::new("satellite", "A low-orbit satellite, with a handover every 15 s.", |seed, seconds| {
        make(&PROCESS, seed, seconds)
    });

const PROCESS: Process =
    Process { stream: 3, mbps: 50.0, sigma: 0.1, memory_s: 1.0, between_s: 1e9, outage_s: 0.0, handover: 0.3 };
