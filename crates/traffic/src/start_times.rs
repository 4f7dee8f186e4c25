//! Start times of flows.

use cwndlab_network::random::Stream;
use cwndlab_scenario::plan::Plan;

use crate::sampling::{sample_pause, GAP_STREAM};

/// Purpose of the streams of start jitter.
const START_STREAM: u64 = 4;

/// The start of each flow, ns: the plan's, the gaps drawn between the flows of one `count`, and the jitter.
#[must_use]
pub fn start_times(plan: &Plan, seed: u64) -> Vec<u64> {
    let (mut stream, mut sum) = (None, 0u64);
    (0u64..)
        .zip(&plan.flows)
        .map(|(index, flow)| {
            let later = flow.start_gap.as_ref().map_or(0, |gap| {
                if flow.number == 0 {
                    (stream, sum) = (Some(Stream::new(seed, GAP_STREAM, index)), 0);
                } else if let Some(stream) = &mut stream {
                    sum = sum.saturating_add(sample_pause(gap, stream));
                }
                sum
            });
            let jitter = Stream::new(seed, START_STREAM, index).below(flow.start_jitter.0);
            flow.start.0.saturating_add(later).saturating_add(jitter)
        })
        .collect()
}
