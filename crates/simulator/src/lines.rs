//! From the plan to lines and wires.

use cwndlab_network::line::{Line, Opportunities, Steps, TokenBucket};
use cwndlab_network::random::Stream;
use cwndlab_network::wire::{Changes, Harq};
use cwndlab_scenario::plan::{LinePlan, LinkPlan};
use cwndlab_units::{Duration, Rate};

/// Purposes of random streams.
pub(crate) const CHANGES_STREAM: u64 = 6;
pub(crate) const HARQ_STREAM: u64 = 7;

/// The line of a link.
pub(crate) fn build_line(plan: &LinkPlan) -> Line {
    match &plan.line {
        LinePlan::Trace { stamps, bytes, offset } => {
            Line::Opportunities(Opportunities::new(stamps.clone(), *bytes, offset.0))
        }
        LinePlan::TokenBucket { rate, burst, peak } => Line::Bucket(TokenBucket::new(*rate, *burst, *peak)),
        LinePlan::Rate if plan.schedule.changes_rate() => {
            let steps = plan.schedule.filled(Rate(0), plan.delay);
            let rates: Vec<(u64, Rate)> = steps.iter().map(|step| (step.0 .0, step.1)).collect();
            Line::Steps(Steps::new(&rates, plan.schedule.repeat.map(|period| period.0)))
        }
        LinePlan::Rate => plan.rate.map_or(Line::Instant, Line::Fixed),
    }
}

/// Delay and loss by the schedule.
pub(crate) fn build_changes(plan: &LinkPlan, stream: Stream) -> Option<Changes> {
    if !plan.schedule.changes_wire() {
        return None;
    }
    let steps = plan.schedule.filled(Rate(0), plan.delay);
    let steps: Vec<(u64, u64, f64)> = steps.iter().map(|&(Duration(at), _, delay, loss)| (at, delay.0, loss)).collect();
    Some(Changes::new(&steps, plan.schedule.repeat.map(|period| period.0), stream))
}

/// Retransmissions of a radio link.
pub(crate) fn build_harq(plan: &LinkPlan, stream: Stream) -> Option<Harq> {
    plan.harq.map(|harq| Harq {
        probability: harq.probability,
        round: harq.round.0,
        most: harq.most,
        stream,
        block: None,
    })
}
