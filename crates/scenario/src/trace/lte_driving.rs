//! LTE in a moving car: a strongly varying rate, with outages. The parameters are rounded assumptions, not fitted to a
//! recording.

use super::stochastic_rate::{generate, Process};
use super::SyntheticTrace;

/// The declaration of the trace.
pub(super) static SPEC: SyntheticTrace = SyntheticTrace::new(
    "lte-driving",
    "LTE in a moving car: a strongly varying rate, with outages.",
    |seed, seconds| generate(&PROCESS, seed, seconds),
);

const PROCESS: Process =
    Process { stream: 0, mbps: 6.0, sigma: 0.8, correlation_s: 2.0, between_s: 30.0, outage_s: 0.6, handover: 0.0 };
