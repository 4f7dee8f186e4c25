//! Construction of a network of nodes and links.

use std::collections::BTreeMap;
use std::sync::Arc;

use cwndlab_network::aqm::CapacitySpec;
use cwndlab_units::{Duration, IndexVec, LinkId, Rate};

use super::interner::Interner;
use crate::plan::{Capacity, LinkKind, LinkPlan, Name, RadioPlan, SchedulePlan, StepPlan, UserChannelPlan};
use crate::schema::{Link, Queue};

/// A network under construction.
#[derive(Default)]
pub(super) struct Network {
    /// Names of the nodes.
    pub(super) nodes: Vec<Name>,
    /// Indices by name of the nodes that a topology looks up.
    pub(super) index: BTreeMap<Arc<str>, u32>,
    /// The links so far.
    pub(super) links: IndexVec<LinkId, LinkPlan>,
    /// Configured capacity of each link's queue, and the link's path in the document; resolved when the RTTs are known.
    pub(super) sizes: IndexVec<LinkId, (CapacitySpec, Arc<str>)>,
    /// Duration of the scenario.
    pub(super) duration: Duration,
    /// Properties shared between links.
    pub(super) kinds: Interner<LinkKind>,
}

/// What replaces the line of a link.
#[derive(Clone, Copy, Debug)]
pub(super) enum SharedMedium {
    /// A medium of 802.11.
    Wifi(RadioPlan),
    /// A cell.
    Cell(UserChannelPlan),
}

impl SharedMedium {
    fn radio(self) -> Option<RadioPlan> {
        match self {
            Self::Wifi(radio) => Some(radio),
            Self::Cell(_) => None,
        }
    }

    fn channel(self) -> Option<UserChannelPlan> {
        match self {
            Self::Wifi(_) => None,
            Self::Cell(channel) => Some(channel),
        }
    }
}

/// The common properties of links of one declaration.
#[derive(Clone)]
pub(super) struct LinkTemplate {
    kind: Arc<LinkKind>,
    /// Configured capacity of the queue.
    size: CapacitySpec,
    /// Path in the document.
    path: Arc<str>,
}

impl Network {
    /// Index of the node of this name, which is added if it does not exist.
    pub(super) fn node(&mut self, name: &str) -> u32 {
        if let Some(&at) = self.index.get(name) {
            return at;
        }
        let name: Arc<str> = name.into();
        let at = self.add_node(name.clone().into());
        self.index.insert(name, at);
        at
    }

    /// Adds a node without an entry in the index by name; returns its index.
    pub(super) fn add_node(&mut self, name: Name) -> u32 {
        self.nodes.push(name);
        self.nodes.len() as u32 - 1
    }

    /// The template of links like this one; without a configured queue the capacity is `default`.
    pub(super) fn template(
        &mut self,
        link: &Link,
        default: CapacitySpec,
        sampled: bool,
        medium: Option<SharedMedium>,
    ) -> LinkTemplate {
        let queue = link.queue.unwrap_or_else(|| Queue::drop_tail(default));
        let kind = LinkKind {
            rate: self.mean_rate(link),
            line: link.line.model.clone(),
            schedule: complete_schedule(link),
            harq: link.harq,
            discipline: queue.discipline,
            losses: link.loss.clone(),
            jitter: link.jitter,
            wifi_jitter: link.wifi_jitter,
            duplicate: link.duplicate,
            ecn: link.ecn,
            admission: link
                .admission
                .zip(self.mean_rate(link))
                .map(|(share, rate)| Rate((share * rate.0 as f64) as u64)),
            agents: link.agents.clone(),
            sampled,
            radio: medium.and_then(SharedMedium::radio),
            cell: medium.and_then(SharedMedium::channel),
        };
        LinkTemplate {
            kind: self.kinds.intern(kind),
            size: if link.line.rate.is_none() && link.queue.is_none() { CapacitySpec::Unlimited } else { queue.size },
            path: (*link.path).into(),
        }
    }

    /// Adds a link, with `own_name` if its name is not `FROM-TO`.
    pub(super) fn add(
        &mut self,
        own_name: Option<&str>,
        (from, to): (u32, u32),
        delay: Duration,
        declared: &LinkTemplate,
    ) -> LinkId {
        let own_name = own_name.map(Into::into);
        let kind = declared.kind.clone();
        self.sizes.push((declared.size, declared.path.clone()));
        self.links.push(LinkPlan { own_name, from, to, delay, capacity: Capacity::Unlimited, kind })
    }

    /// The rate for derived capacities; for a schedule the mean over its period, or over the run without a period.
    fn mean_rate(&self, link: &Link) -> Option<Rate> {
        if !link.line.schedule.changes_rate() {
            return link.line.rate;
        }
        let end = link.line.schedule.repeat.unwrap_or(self.duration).as_nanos().max(1);
        let steps = link.line.schedule.filled(link.line.rate.unwrap_or(Rate(0)), link.delay, None);
        let ends = steps.iter().skip(1).map(|step| step.at.as_nanos()).chain([u64::MAX]);
        let carried: u128 = steps
            .iter()
            .zip(ends)
            .map(|(step, until)| {
                u128::from(step.rate.0) * u128::from(until.min(end).saturating_sub(step.at.as_nanos()))
            })
            .sum();
        // At least 1 bit/s, also for a permanent outage, since the rate is a divisor.
        Some(Rate((carried / u128::from(end)).max(1) as u64))
    }

    /// Propagation delay of a route, ns.
    pub(super) fn delay(&self, route: &[LinkId]) -> u64 {
        route.iter().map(|&link| self.links[link].delay.as_nanos()).sum()
    }

    /// Rate of the slowest line of a route.
    pub(super) fn slowest(&self, route: &[LinkId]) -> Option<Rate> {
        route.iter().filter_map(|&link| self.links[link].rate).min()
    }
}

/// The schedule with the link's own rate before the first step.
fn complete_schedule(link: &Link) -> SchedulePlan {
    let mut schedule = link.line.schedule.clone();
    if schedule.changes_rate() {
        if schedule.steps[0].at > Duration::ZERO {
            schedule.steps.insert(0, StepPlan { rate: link.line.rate, ..StepPlan::default() });
        } else {
            schedule.steps[0].rate = schedule.steps[0].rate.or(link.line.rate);
        }
    }
    schedule
}
