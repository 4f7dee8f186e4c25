//! When flows start and stop, and which of them are admitted.
//!
//! Admission is parameter-based (RFC 1633, section 3.2; C. Cetinkaya, V. Kanodia, E. W. Knightly, "Scalable services via
//! egress admission control", IEEE Transactions on Multimedia 3(1), 2001, call it so): a flow states the rate that it
//! reserves. It is admitted at its start if this rate and those of the flows that have not stopped fit in the limit of each
//! link of its route. Otherwise it is refused, and sends nothing.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use cwndlab_network::random::{Purpose, Stream};
use cwndlab_scenario::plan::Plan;
use cwndlab_traffic::sampling::sample_pause;
use cwndlab_traffic::NEVER;
use cwndlab_units::{Duration, FlowId, IndexVec, LinkId, Time};

use crate::medium_time::{self, Downgrade};

/// The time in which a flow's application runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime {
    /// Start. That of a refused flow is the end of the run, so that it never starts.
    pub start: Time,
    /// Time at which the application stops, not before the start; [`NEVER`] without one.
    pub stop: Time,
}

/// The lifetimes of all flows in a run.
#[derive(Clone, Debug, Default)]
pub struct Lifetimes {
    /// By flow.
    pub of: IndexVec<FlowId, Lifetime>,
    /// The flows that were refused, in the order of their starts, and the link that had no room.
    pub refused: Vec<(FlowId, Time, LinkId)>,
    /// The flows that have no medium time in an access category for which admission is mandatory.
    pub downgraded: Vec<Downgrade>,
}

impl Lifetimes {
    /// The lifetimes in the run with this seed.
    #[must_use]
    pub fn new(plan: &Plan, seed: u64) -> Self {
        let each = plan.flows.enumerate().zip(start_times(plan, seed)).map(|((id, flow), start)| {
            let stop = flow.stop.map_or(NEVER, |stop| Time::ZERO + stop);
            let held = flow.hold.as_ref().map_or(NEVER, |hold| {
                let mut stream = Stream::of_part(seed, Purpose::Gap, 1, id.into());
                start + sample_pause(hold, &mut stream)
            });
            Lifetime { start, stop: stop.min(held).max(start) }
        });
        let mut lifetimes = Self { of: each.collect(), ..Self::default() };
        if plan.links.iter().any(|link| link.admission.is_some()) {
            lifetimes.admit(plan);
        }
        if medium_time::is_controlled(plan) {
            let refused: BTreeSet<FlowId> = lifetimes.refused.iter().map(|&(flow, ..)| flow).collect();
            let all = lifetimes.of.enumerate().filter(|(flow, _)| !refused.contains(flow));
            let mut times: Vec<(Time, Time, FlowId)> = all.map(|(flow, one)| (one.start, one.stop, flow)).collect();
            times.sort_by_key(|&(start, _, flow)| (start, flow));
            lifetimes.downgraded = medium_time::downgrades(plan, &times);
        }
        lifetimes
    }

    /// Refuses the flows for which there is no room at their start. A flow that stops at that time has left.
    fn admit(&mut self, plan: &Plan) {
        let mut starts: Vec<(Time, FlowId)> = self.of.enumerate().map(|(flow, one)| (one.start, flow)).collect();
        starts.sort_unstable();
        let mut stops = BinaryHeap::new();
        let mut reserved: BTreeMap<LinkId, u64> = BTreeMap::new();
        for (start, flow) in starts {
            let Some(rate) = plan.flows[flow].reserve else { continue };
            while let Some(&Reverse((stop, left))) = stops.peek() {
                if stop > start {
                    break;
                }
                stops.pop();
                release(plan, left, &mut reserved);
            }
            let has_room = |link: &LinkId| {
                let limit = plan.links[*link].admission.map_or(u64::MAX, |limit| limit.0);
                reserved.get(link).copied().unwrap_or(0).saturating_add(rate.0) <= limit
            };
            if let Some(&full) = plan.flows[flow].forward.iter().find(|link| !has_room(link)) {
                self.refused.push((flow, start, full));
                let end = start.max(Time::ZERO + plan.duration);
                self.of[flow] = Lifetime { start: end, stop: end };
                continue;
            }
            for &link in &*plan.flows[flow].forward {
                *reserved.entry(link).or_default() += rate.0;
            }
            stops.push(Reverse((self.of[flow].stop, flow)));
        }
    }
}

fn release(plan: &Plan, flow: FlowId, reserved: &mut BTreeMap<LinkId, u64>) {
    let rate = plan.flows[flow].reserve.map_or(0, |rate| rate.0);
    for link in &*plan.flows[flow].forward {
        reserved.entry(*link).and_modify(|sum| *sum -= rate);
    }
}

/// The start time of each flow: the planned start, random gaps between the flows of one `count`, and jitter.
fn start_times(plan: &Plan, seed: u64) -> impl Iterator<Item = Time> + '_ {
    let mut stream = None;
    let mut sum = Duration::ZERO;
    plan.flows.enumerate().map(move |(id, flow)| {
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
}
