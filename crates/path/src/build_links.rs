//! Construction of links from the plan: queues, lines, wires, router agents.

use cwndlab_network::aqm::{Discipline, Packet, QueueContext};
use cwndlab_network::line::{Line, Opportunities, RateSteps, TokenBucket};
use cwndlab_network::link::{Link, LinkConfig};
use cwndlab_network::queue::Limit;
use cwndlab_network::random::{Purpose, Stream};
use cwndlab_network::router_assist::Agent;
use cwndlab_network::wire::{Changes, Harq, WifiJitter, WireState};
use cwndlab_scenario::plan::{Capacity, FilledStep, LinePlan, LinkPlan};
use cwndlab_units::{LinkId, Rate, Time};

/// Number of loss models of a link whose streams are numbered together with those of the other links.
const LOSSES_PER_LINK: u64 = 16;

/// The line of a link.
pub(crate) fn build_line(plan: &LinkPlan) -> Line {
    match &plan.line {
        LinePlan::Trace { stamps, bytes, offset } => {
            Line::Opportunities(Box::new(Opportunities::new(stamps.clone(), *bytes, *offset)))
        }
        LinePlan::TokenBucket(bucket) => {
            Line::Bucket(Box::new(TokenBucket::new(bucket.rate, bucket.burst, bucket.peak)))
        }
        LinePlan::Rate if plan.schedule.changes_rate() => {
            let steps = plan.schedule.filled(Rate(0), plan.delay, None);
            let rates: Vec<(Time, Rate)> = steps.iter().map(|step| (Time::ZERO + step.at, step.rate)).collect();
            Line::Steps(Box::new(RateSteps::new(&rates, plan.schedule.repeat)))
        }
        LinePlan::Rate => plan.rate.map_or(Line::Instant, Line::Fixed),
    }
}

/// The schedule of delay, its variation and loss.
pub(crate) fn build_changes(plan: &LinkPlan, stream: Stream) -> Option<Changes> {
    if !plan.schedule.changes_wire() {
        return None;
    }
    let steps = plan.schedule.filled(Rate(0), plan.delay, plan.wifi_jitter);
    let state = |step: &FilledStep| WireState {
        delay: step.delay,
        loss: step.loss,
        wifi_jitter: step.wifi_jitter.map(WifiJitter::with_mean),
    };
    let steps: Vec<(Time, WireState)> = steps.iter().map(|step| (Time::ZERO + step.at, state(step))).collect();
    Some(Changes::new(&steps, plan.schedule.repeat, stream))
}

/// The retransmissions of a radio link (HARQ).
pub(crate) fn build_harq(plan: &LinkPlan, stream: Stream) -> Option<Harq> {
    plan.harq.map(|harq| Harq {
        probability: harq.probability,
        round: harq.round,
        max_retransmissions: harq.most,
        stream,
        block: None,
    })
}

/// The limit of a queue of this capacity.
pub(crate) fn limit(capacity: Capacity) -> Limit {
    match capacity {
        Capacity::Unlimited => Limit::Unlimited,
        Capacity::Packets(n) => Limit::Packets(u64::from(n)),
        Capacity::Bytes(n) => Limit::Bytes(n.0),
    }
}

/// The queue discipline of a link with this rate; `None` if its departures are computed.
pub(crate) fn build_queue<P: Packet>(plan: &LinkPlan, rate: Rate, stream: Stream) -> Option<Box<dyn Discipline<P>>> {
    plan.discipline.build(QueueContext { limit: limit(plan.capacity), rate, stream })
}

/// The random stream of the loss model `n` of a link. From the seventeenth on, each has a purpose of its own.
fn loss_stream(seed: u64, link: LinkId, n: u64) -> Stream {
    let link = u64::from(link);
    if n < LOSSES_PER_LINK {
        Stream::new(seed, Purpose::Loss, link * LOSSES_PER_LINK + n)
    } else {
        Stream::of_part(seed, Purpose::Loss, n as u32, link)
    }
}

pub(crate) fn build_link(plan: &LinkPlan, link: LinkId, seed: u64) -> Link {
    let computed = plan.discipline.computed().unwrap_or_default();
    Link::new(LinkConfig {
        line: build_line(plan),
        delay: plan.delay,
        limit: limit(plan.capacity),
        counts_in_service: computed.counts_in_service,
        mark_above: computed.mark_above,
        losses: (0..).zip(&plan.losses).map(|(n, one)| one.build(loss_stream(seed, link, n))).collect(),
        changes: build_changes(plan, Stream::new(seed, Purpose::Changes, link.into())),
        harq: build_harq(plan, Stream::new(seed, Purpose::Harq, link.into())),
        jitter: plan.jitter.map(|jitter| (jitter.spread, jitter.reorder)),
        wifi_jitter: plan.wifi_jitter.map(WifiJitter::with_mean),
        duplicate: plan.duplicate,
        ecn: plan.ecn,
        stream: Stream::new(seed, Purpose::Wire, link.into()),
    })
}

pub(crate) fn build_agents(link: &LinkPlan) -> Vec<Agent> {
    // A line without a rate is unlimited, and grants every request.
    let capacity = link.rate.map_or(f64::INFINITY, |rate| rate.0 as f64);
    if capacity.is_infinite() {
        return Vec::new();
    }
    link.agents.iter().map(|agent| agent.build(capacity)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The streams of the first sixteen models have had their numbers from the first version on.
    #[test]
    fn every_loss_model_of_every_link_has_its_own_random_stream() {
        let streams = || (0..40u32).flat_map(|link| (0..40).map(move |n| loss_stream(7, link.into(), n).bits()));
        assert_eq!(streams().collect::<BTreeSet<u64>>().len(), 1600);
        assert_eq!(loss_stream(7, 3.into(), 15).bits(), Stream::new(7, Purpose::Loss, 63).bits());
        for purpose in [Purpose::Loss, Purpose::Wire, Purpose::Changes, Purpose::Harq] {
            let others: BTreeSet<u64> = (0..640).map(|index| Stream::new(7, purpose, index).bits()).collect();
            assert!((16..40).all(|n| !others.contains(&loss_stream(7, 0.into(), n).bits())), "{purpose:?}");
        }
    }
}
