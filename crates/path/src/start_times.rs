//! Start times of flows.

use cwndlab_network::random::{Purpose, Stream};
use cwndlab_scenario::plan::Plan;
use cwndlab_traffic::sampling::sample_pause;
use cwndlab_units::{Duration, Time};

/// The start time of each flow: the planned start, random gaps between the flows of one `count`, and jitter.
#[must_use]
pub fn start_times(plan: &Plan, seed: u64) -> Vec<Time> {
    let mut stream = None;
    let mut sum = Duration::ZERO;
    plan.flows
        .enumerate()
        .map(|(id, flow)| {
            let gaps = flow.start_gap.as_ref().map_or(Duration::ZERO, |gap| {
                if flow.number == 0 {
                    (stream, sum) = (Some(Stream::new(seed, Purpose::Gap, id.into())), Duration::ZERO);
                } else if let Some(stream) = &mut stream {
                    sum = Duration::from_nanos(sum.as_nanos().saturating_add(sample_pause(gap, stream).as_nanos()));
                }
                sum
            });
            let jitter =
                Duration::from_nanos(Stream::new(seed, Purpose::Start, id.into()).below(flow.start_jitter.as_nanos()));
            Time::ZERO + flow.start + gaps + jitter
        })
        .collect()
}
