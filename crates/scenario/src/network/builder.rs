//! A network under construction: nodes and links, by the names that a topology gives them.

use std::collections::BTreeMap;
use std::sync::Arc;

use cwndlab_network::aqm::Size;
use cwndlab_units::{Duration, Rate};

use super::shared::Shared;
use crate::plan::{Capacity, LinkKind, LinkPlan, Name, RadioPlan, SchedulePlan, StepPlan};
use crate::schema::{Link, Queue};

/// A network under construction.
#[derive(Default)]
pub(super) struct Network {
    /// Names of the nodes.
    pub(super) nodes: Vec<Name>,
    /// Indices by name of those that a topology looks for.
    pub(super) index: BTreeMap<Arc<str>, u32>,
    /// The links so far.
    pub(super) links: Vec<LinkPlan>,
    /// The size as written and the place in the document, until the flows' RTTs are known.
    pub(super) sizes: Vec<(Size, Arc<str>)>,
    /// How long the scenario runs.
    pub(super) duration: Duration,
    /// What links have in common.
    pub(super) kinds: Shared<LinkKind>,
}

/// What links of one declaration have in common.
#[derive(Clone)]
pub(super) struct Declared {
    kind: Arc<LinkKind>,
    /// The queue's size, as written.
    size: Size,
    /// The place in the document.
    path: Arc<str>,
}

impl Network {
    /// Index of the node of this name, which is added where there is none yet.
    pub(super) fn node(&mut self, name: &str) -> u32 {
        if let Some(&at) = self.index.get(name) {
            return at;
        }
        let name: Arc<str> = name.into();
        let at = self.add_node(name.clone().into());
        self.index.insert(name, at);
        at
    }

    /// Adds a node that nobody looks for by its name; its index.
    pub(super) fn add_node(&mut self, name: Name) -> u32 {
        self.nodes.push(name);
        self.nodes.len() as u32 - 1
    }

    /// What links like this one have in common. One that says nothing of its queue has one of the `default` size.
    pub(super) fn declare(&mut self, link: &Link, default: Size, sampled: bool, radio: Option<RadioPlan>) -> Declared {
        let queue = link.queue.unwrap_or_else(|| Queue::drop_tail(default));
        let kind = LinkKind {
            rate: self.mean_rate(link),
            line: link.line.clone(),
            schedule: whole(link),
            harq: link.harq,
            discipline: queue.discipline,
            losses: link.losses.clone(),
            jitter: link.jitter,
            duplicate: link.duplicate,
            agents: link.agents.clone(),
            sampled,
            radio,
        };
        Declared {
            kind: self.kinds.one(kind),
            size: if link.rate.is_none() && link.queue.is_none() { Size::Unlimited } else { queue.size },
            path: link.path.as_str().into(),
        }
    }

    /// Adds a link of this name, if it has another than its nodes give it; its index.
    pub(super) fn add(
        &mut self,
        own_name: Option<&str>,
        (from, to): (u32, u32),
        delay: Duration,
        declared: &Declared,
    ) -> u32 {
        let (own_name, kind) = (own_name.map(Into::into), declared.kind.clone());
        self.links.push(LinkPlan { own_name, from, to, delay, capacity: Capacity::Unlimited, kind });
        self.sizes.push((declared.size, declared.path.clone()));
        self.links.len() as u32 - 1
    }

    /// The rate by which sizes are derived: of a schedule the mean over its period, or over the run where it has none.
    fn mean_rate(&self, link: &Link) -> Option<Rate> {
        if !link.schedule.changes_rate() {
            return link.rate;
        }
        let end = link.schedule.repeat.unwrap_or(self.duration).0.max(1);
        let steps = link.schedule.filled(link.rate.unwrap_or(Rate(0)), link.delay);
        let ends = steps.iter().skip(1).map(|step| step.0 .0).chain([u64::MAX]);
        let carried: u128 = steps
            .iter()
            .zip(ends)
            .map(|(step, until)| u128::from(step.1 .0) * u128::from(until.min(end).saturating_sub(step.0 .0)))
            .sum();
        // A line that rests all the time has the least rate there is: something has to be divided by.
        Some(Rate((carried / u128::from(end)).max(1) as u64))
    }

    /// Propagation delay of a route, ns.
    pub(super) fn delay(&self, route: &[u32]) -> u64 {
        route.iter().map(|&link| self.links[link as usize].delay.0).sum()
    }

    /// Rate of the slowest line of a route.
    pub(super) fn slowest(&self, route: &[u32]) -> Option<Rate> {
        route.iter().filter_map(|&link| self.links[link as usize].rate).min()
    }
}

/// The schedule with the link's own rate in force from the start.
fn whole(link: &Link) -> SchedulePlan {
    let mut schedule = link.schedule.clone();
    if schedule.changes_rate() {
        if schedule.steps[0].at > Duration::ZERO {
            schedule.steps.insert(0, StepPlan { rate: link.rate, ..StepPlan::default() });
        } else {
            schedule.steps[0].rate = schedule.steps[0].rate.or(link.rate);
        }
    }
    schedule
}
