//! 3G: slower than LTE, with long outages. The parameters are rounded assumptions, not fitted to a recording.

use super::stochastic_rate::{generate, Process};
use super::SyntheticTrace;

/// The declaration of the trace.
pub(super) static SPEC: SyntheticTrace =
    SyntheticTrace::new("3g", "3G: slower than LTE, with long outages.", |seed, seconds| {
        generate(&PROCESS, seed, seconds)
    });

const PROCESS: Process =
    Process { stream: 2, mbps: 2.0, sigma: 0.5, correlation_s: 3.0, between_s: 40.0, outage_s: 1.5, handover: 0.0 };
