//! A network under construction: nodes and links, by the names that a topology gives them.

use std::collections::{BTreeMap, BTreeSet};

use cwndlab_network::aqm::Size;
use cwndlab_units::{Duration, Rate};

use crate::plan::{Capacity, LinePlan, LinkPlan, QueuePlan, SchedulePlan, StepPlan};
use crate::schema::{Link, Queue};

/// A network under construction.
#[derive(Default)]
pub(super) struct Network {
    /// Names of the nodes.
    pub(super) nodes: Vec<String>,
    /// Their indices by name.
    pub(super) index: BTreeMap<String, u32>,
    /// The links so far.
    pub(super) links: Vec<LinkPlan>,
    /// The size as written and the place in the document, until the flows' RTTs are known.
    pub(super) sizes: Vec<(Size, String)>,
    /// How long the scenario runs.
    pub(super) duration: Duration,
    /// Names of links whose rate is a mean.
    pub(super) means: BTreeSet<String>,
}

impl Network {
    /// Index of the node of this name, which is added where there is none yet.
    pub(super) fn node(&mut self, name: &str) -> u32 {
        if let Some(&at) = self.index.get(name) {
            return at;
        }
        let at = self.nodes.len() as u32;
        self.nodes.push(name.to_owned());
        self.index.insert(name.to_owned(), at);
        at
    }

    /// Adds a link; its index. A link that says nothing of its queue has one of the `default` size.
    pub(super) fn add(&mut self, name: String, from: &str, to: &str, link: &Link, default: Size, sampled: bool) -> u32 {
        let (from, to) = (self.node(from), self.node(to));
        let queue = link.queue.unwrap_or_else(|| Queue::drop_tail(default));
        let plan = LinkPlan {
            from,
            to,
            rate: self.mean_rate(&name, link),
            line: link.line.clone(),
            schedule: whole(link),
            harq: link.harq,
            name,
            delay: link.delay,
            queue: QueuePlan { capacity: Capacity::Unlimited, discipline: queue.discipline },
            losses: link.losses.clone(),
            jitter: link.jitter,
            duplicate: link.duplicate,
            agents: link.agents.clone(),
            sampled,
            radio: None,
        };
        self.links.push(plan);
        self.sizes.push((
            if link.rate.is_none() && link.queue.is_none() { Size::Unlimited } else { queue.size },
            link.path.clone(),
        ));
        self.links.len() as u32 - 1
    }

    /// The rate by which sizes are derived: of a schedule the mean over its period, or over the run where it has none.
    fn mean_rate(&mut self, name: &str, link: &Link) -> Option<Rate> {
        if link.line != LinePlan::Rate || link.schedule.changes_rate() {
            self.means.insert(name.to_owned());
        }
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
