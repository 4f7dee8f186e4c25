//! Packets that reach their endpoint ahead of the clock.
//!
//! Behind the last queue that flows share, a packet's arrival at its endpoint is known when it joins that queue. If what the
//! endpoint sends in turn goes over links of its own, nobody else can tell whether it processes the packet then or when the
//! clock gets there: its packets reach the next shared queue at the same times, in the order of the agenda. So the packet
//! needs no event (conservative parallel simulation has the same condition: R. Fujimoto, "Parallel discrete event
//! simulation", 1990, section 2). Delays have to be positive, so that nothing happens twice at one time.

use cwndlab_network::link::Link;
use cwndlab_scenario::plan::Plan;
use cwndlab_units::Duration;

use crate::aqm_links::COMPUTED;

/// The links of a network, for the question whether an endpoint may run ahead.
pub(crate) struct LookAhead<'a> {
    plan: &'a Plan,
    links: &'a [Link],
    server_of: &'a [u32],
    /// By link: it is computed at once with the link before it.
    fused: &'a [bool],
    /// By link: how many routes cross it, of all flows and in both directions.
    routes: Vec<u32>,
}

impl<'a> LookAhead<'a> {
    /// The links of `plan`.
    pub(crate) fn new(plan: &'a Plan, links: &'a [Link], server_of: &'a [u32], fused: &'a [bool]) -> Self {
        let mut routes = vec![0; links.len()];
        for flow in &plan.flows {
            for &link in flow.forward.iter().chain(&flow.reverse) {
                routes[link as usize] += 1;
            }
        }
        Self { plan, links, server_of, fused, routes }
    }

    /// The endpoint of `arriving` may take its packets ahead of the clock; what it sends goes along `leaving`.
    pub(crate) fn admits(&self, arriving: &[u32], leaving: &[u32]) -> bool {
        !self.plan.packets && self.arrives_in_order(arriving) && self.leaves_alone(leaving)
    }

    /// Packets come from a link with events in the order of their arrival, and later than they reached it.
    fn arrives_in_order(&self, route: &[u32]) -> bool {
        // The last link that packets reach or leave by an event. What reaches the first link comes from an endpoint.
        let last = route.iter().rposition(|&link| self.has_events(link)).unwrap_or(0);
        let by_event = last > 0 || route.first().is_some_and(|&link| self.server_of[link as usize] != COMPUTED);
        let behind = &route[last..];
        by_event && behind.iter().all(|&link| self.keeps_order(link)) && self.delay(behind) > Duration::ZERO
    }

    /// Packets go over links that nothing else crosses, and reach the next event later than they were sent.
    fn leaves_alone(&self, route: &[u32]) -> bool {
        let ends = route.iter().skip(1).position(|&link| self.has_events(link)).map_or(route.len(), |at| at + 1);
        let own = |&link: &u32| {
            let index = link as usize;
            self.routes[index] == 1
                && self.server_of[index] == COMPUTED
                && !self.plan.links[index].sampled
                && self.keeps_order(link)
        };
        route[..ends].iter().all(own) && self.delay(&route[..ends]) > Duration::ZERO
    }

    fn has_events(&self, link: u32) -> bool {
        !self.fused[link as usize] || self.server_of[link as usize] != COMPUTED
    }

    /// Packets leave its wire in the order of their arrival, and no router's agent looks at them.
    fn keeps_order(&self, link: u32) -> bool {
        !self.links[link as usize].reorders() && self.plan.links[link as usize].agents.is_empty()
    }

    /// The least propagation delay; a delay that changes counts for nothing.
    fn delay(&self, links: &[u32]) -> Duration {
        let plans = links.iter().map(|&link| &self.plan.links[link as usize]);
        plans.filter(|plan| !plan.schedule.changes_wire()).fold(Duration::ZERO, |sum, plan| sum + plan.delay)
    }
}
