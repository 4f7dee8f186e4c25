//! LTE in a car: a rate that swings widely, with outages. The figures are round ones of our own, fitted to no recording.

use super::wandering_rate::{make, Process};
use super::Kind;

/// The entry among the kinds of traces.
pub(super) static SPEC: Kind =
    Kind::new("lte-driving", "LTE in a car: a rate that swings widely, with outages.", |seed, seconds| {
        make(&PROCESS, seed, seconds)
    });

const PROCESS: Process =
    Process { stream: 0, mbps: 6.0, sigma: 0.8, memory_s: 2.0, between_s: 30.0, outage_s: 0.6, handover: 0.0 };
