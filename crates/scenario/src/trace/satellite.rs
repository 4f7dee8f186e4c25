//! A low-orbit satellite, with a handover every 15 s. The parameters are rounded assumptions, not fitted to a
//! recording.

use super::stochastic_rate::{generate, Process};
use super::SyntheticTrace;

/// The declaration of the trace.
pub(super) static SPEC: SyntheticTrace =
    SyntheticTrace::new("satellite", "A low-orbit satellite, with a handover every 15 s.", |seed, seconds| {
        generate(&PROCESS, seed, seconds)
    });

const PROCESS: Process =
    Process { stream: 3, mbps: 50.0, sigma: 0.1, correlation_s: 1.0, between_s: 1e9, outage_s: 0.0, handover: 0.3 };
