//! Perturbation: the plan of a seed, with the values that nobody measures exactly varied by less than anybody measures.
//!
//! A deterministic scenario gives the same run for each seed, so that the spread over seeds tells nothing. With
//! `perturb = true` each seed has its own plan. The amounts:
//!
//! | value | range |
//! |---|---|
//! | propagation delay of each link, also of the steps of its schedule | ± 0.5 %, so that each base RTT is within ± 0.5 % |
//! | rate of each declared line, of the steps of its schedule, of a token bucket and its peak | ± 0.1 % |
//! | start of each flow for which the scenario states no `start_jitter` | later, by less than its base RTT |
//! | delay at the last link of each route, where the host processes the packet | less than 1 µs, in order |
//!
//! Values that a standard or a recording fixes (802.11, traces) stay, and so do capacities, losses and workloads. The
//! draws depend on the seed and on the position of a link alone: all algorithms of a repetition have the same plan.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use cwndlab_network::random::{Purpose, Stream};
use cwndlab_units::{Duration, IndexVec, LinkId, Rate};

use crate::plan::{JitterPlan, LinePlan, LinkKind, Plan, TokenBucketPlan};

/// The largest relative change of a propagation delay.
pub const DELAY_SHARE: f64 = 0.005;
/// The largest relative change of a rate.
pub const RATE_SHARE: f64 = 0.001;
/// Upper bound of the delay by which a host processes a packet.
pub const PROCESSING: Duration = Duration::from_nanos(1_000);

/// The note of perturbed records. Notes are part of the hash of records, so that it has the same words where all starts
/// have a stated jitter.
pub const NOTE: &str = "perturbed by the seed: delays within 0.5 %, rates within 0.1 %, starts within one RTT, \
                        less than 1 us of processing per packet at its receiver";

impl Plan {
    /// The plan of a run with this seed: the plan itself where it is not perturbed. The same seed gives the same plan.
    #[must_use]
    pub fn perturbed(&self, seed: u64) -> Cow<'_, Self> {
        if !self.perturb {
            return Cow::Borrowed(self);
        }
        let mut plan = self.clone();
        vary_links(&mut plan, seed);
        for flow in &mut plan.flows {
            let routes = flow.forward.iter().chain(&flow.reverse);
            flow.base_rtt = routes.fold(Duration::ZERO, |sum, &link| sum + plan.links[link].delay);
        }
        Cow::Owned(plan)
    }
}

/// Links of one declaration share a varied kind, unless the steps of their schedules have their own delays.
type KindKey = (*const LinkKind, bool, Option<LinkId>);

fn vary_links(plan: &mut Plan, seed: u64) {
    let mut at_host: IndexVec<LinkId, bool> = vec![false; plan.links.len()].into();
    for route in plan.flows.iter().flat_map(|flow| [&flow.forward, &flow.reverse]) {
        if let Some(&last) = route.last() {
            at_host[last] = true;
        }
    }
    let mut kinds: BTreeMap<KindKey, Arc<LinkKind>> = BTreeMap::new();
    let mut rates: BTreeMap<*const LinkKind, f64> = BTreeMap::new();
    for (id, link) in at_host.ids().zip(&mut plan.links) {
        let delay = DELAY_SHARE * signed_unit(seed, Purpose::DelayPerturbation, id);
        link.delay = Duration::from_nanos(varied(link.delay.as_nanos(), delay));
        let declared = Arc::as_ptr(&link.kind);
        let rate =
            *rates.entry(declared).or_insert_with(|| RATE_SHARE * signed_unit(seed, Purpose::RatePerturbation, id));
        let own = link.kind.schedule.steps.iter().any(|step| step.delay.is_some()).then_some(id);
        let kind = kinds.entry((declared, at_host[id], own)).or_insert_with(|| {
            let mut kind = LinkKind::clone(&link.kind);
            vary_kind(&mut kind, delay, rate, at_host[id]);
            Arc::new(kind)
        });
        link.kind = Arc::clone(kind);
    }
}

fn vary_kind(kind: &mut LinkKind, delay: f64, rate: f64, at_host: bool) {
    let faster = |one: &mut Rate| one.0 = varied(one.0, rate);
    match &mut kind.line {
        // The mean rate of a trace is that of its recording.
        LinePlan::Trace { .. } => {}
        LinePlan::TokenBucket(TokenBucketPlan { rate, peak, .. }) => {
            faster(rate);
            peak.iter_mut().for_each(faster);
            kind.rate.iter_mut().for_each(faster);
        }
        LinePlan::Rate => kind.rate.iter_mut().for_each(faster),
    }
    for step in &mut kind.schedule.steps {
        step.rate.iter_mut().for_each(faster);
        step.delay.iter_mut().for_each(|one| *one = Duration::from_nanos(varied(one.as_nanos(), delay)));
    }
    // A radio link has no wire, and its medium draws its own delays.
    if at_host && kind.jitter.is_none() && kind.radio.is_none() && kind.cell.is_none() {
        kind.jitter = Some(JitterPlan { spread: PROCESSING, reorder: false });
    }
}

/// Uniform in [−1, 1).
fn signed_unit(seed: u64, purpose: Purpose, link: LinkId) -> f64 {
    2.0 * Stream::new(seed, purpose, link.into()).unit() - 1.0
}

/// The value changed by this share of it, towards the value where it is rounded, so that the bounds hold.
fn varied(value: u64, share: f64) -> u64 {
    value.saturating_add_signed((value as f64 * share) as i64)
}
