//! Stationary LTE: a rate with little variation. The parameters are rounded assumptions, not fitted to a recording.

use super::stochastic_rate::{generate, Process};
use super::SyntheticTrace;

/// The declaration of the trace.
pub(super) static SPEC: SyntheticTrace =
    SyntheticTrace::new("lte-stationary", "Stationary LTE: a rate with little variation.", |seed, seconds| {
        generate(&PROCESS, seed, seconds)
    });

const PROCESS: Process =
    Process { stream: 1, mbps: 20.0, sigma: 0.25, correlation_s: 5.0, between_s: 1e9, outage_s: 0.0, handover: 0.0 };
