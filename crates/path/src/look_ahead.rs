//! Look-ahead: the conditions under which an endpoint processes packets ahead of the clock.
//!
//! When a packet joins the last shared queue of its route, its arrival time at the endpoint is known. If the packets
//! that the endpoint sends use exclusive links first, the results do not depend on whether it processes the arrival
//! immediately or at its time: its packets reach the next shared queue at the same times, in the order of the agenda.
//! The arrival then needs no event (conservative parallel simulation has the same condition: R. Fujimoto, "Parallel
//! discrete event simulation", 1990, section 2). Delays have to be positive, so that cause and effect are not
//! simultaneous.

use cwndlab_network::link::Link;
use cwndlab_scenario::plan::Plan;
use cwndlab_units::{Duration, IndexVec, LinkId, ServerId};

use crate::aqm_links::COMPUTED;
use crate::router_agents::answering_links;

/// The links of a network, to decide whether an endpoint may run ahead.
pub(crate) struct LookAhead<'a> {
    plan: &'a Plan,
    links: &'a IndexVec<LinkId, Link>,
    server_of: &'a IndexVec<LinkId, ServerId>,
    /// By link, whether it is fused with the preceding link.
    fused: &'a IndexVec<LinkId, bool>,
    /// By link, the number of routes that cross it, of all flows and in both directions.
    routes: IndexVec<LinkId, u32>,
    /// See [`answering_links`].
    answering: IndexVec<LinkId, bool>,
}

impl<'a> LookAhead<'a> {
    /// The links of `plan`, with the number of routes that cross each.
    pub(crate) fn new(
        plan: &'a Plan,
        links: &'a IndexVec<LinkId, Link>,
        server_of: &'a IndexVec<LinkId, ServerId>,
        fused: &'a IndexVec<LinkId, bool>,
    ) -> Self {
        let mut routes = IndexVec::from(vec![0; links.len()]);
        for flow in &plan.flows {
            for &link in flow.forward.iter().chain(&flow.reverse) {
                routes[link] += 1;
            }
        }
        Self { plan, links, server_of, fused, routes, answering: answering_links(plan) }
    }

    /// Whether the endpoint of the route `arriving`, which sends along the route `leaving`, may process packets ahead
    /// of the clock.
    pub(crate) fn allows(&self, arriving: &[LinkId], leaving: &[LinkId]) -> bool {
        !self.plan.packets && self.arrives_in_order(arriving) && self.leaves_on_exclusive_links(leaving)
    }

    /// Whether no other route crosses the link.
    pub(crate) fn is_exclusive(&self, link: LinkId) -> bool {
        self.routes[link] == 1
    }

    /// The minimum delay from the last event at a link of the route to its endpoint.
    pub(crate) fn delay_of_arrival(&self, route: &[LinkId]) -> Duration {
        self.delay(&route[self.last_with_events(route)..])
    }

    /// The minimum delay from an endpoint to the first event at a link of the route.
    pub(crate) fn delay_of_departure(&self, route: &[LinkId]) -> Duration {
        self.delay(self.departure(route))
    }

    /// The last link at which packets arrive or depart by an event. Packets at the first link come from an endpoint.
    fn last_with_events(&self, route: &[LinkId]) -> usize {
        route.iter().rposition(|&link| self.has_events(link)).unwrap_or(0)
    }

    /// Whether packets leave the last link with events in order of arrival, and reach the endpoint later than that
    /// link.
    fn arrives_in_order(&self, route: &[LinkId]) -> bool {
        let last = self.last_with_events(route);
        let by_event = last > 0 || route.first().is_some_and(|&link| self.server_of[link] != COMPUTED);
        let behind = &route[last..];
        by_event && behind.iter().all(|&link| self.preserves_order(link)) && self.delay(behind) > Duration::ZERO
    }

    /// The links that a packet of an endpoint crosses before the first event.
    pub(crate) fn departure<'r>(&self, route: &'r [LinkId]) -> &'r [LinkId] {
        let ends = route.iter().skip(1).position(|&link| self.has_events(link)).map_or(route.len(), |at| at + 1);
        &route[..ends]
    }

    /// The position from which on a packet crosses only links that no other route does, behind the last event. `delays`: the
    /// link at this position delays packets and does no more.
    pub(crate) fn own_arrival(&self, route: &[LinkId], delays: impl Fn(usize) -> bool) -> usize {
        let own = |position: usize| {
            let link = route[position];
            self.is_exclusive(link) && !self.plan.links[link].sampled && delays(position)
        };
        let behind = self.last_with_events(route) + 1;
        (behind..route.len()).rev().take_while(|&position| own(position)).last().unwrap_or(route.len())
    }

    /// Whether packets first cross links that no other route uses, and reach the next event later than they were sent.
    fn leaves_on_exclusive_links(&self, route: &[LinkId]) -> bool {
        let departure = self.departure(route);
        let own = |&link: &LinkId| {
            self.is_exclusive(link)
                && self.server_of[link] == COMPUTED
                && !self.plan.links[link].sampled
                && self.preserves_order(link)
        };
        departure.iter().all(own) && self.delay(departure) > Duration::ZERO
    }

    fn has_events(&self, link: LinkId) -> bool {
        !self.fused[link] || self.server_of[link] != COMPUTED
    }

    /// Whether packets leave the link in order of arrival, and no router agent processes them.
    fn preserves_order(&self, link: LinkId) -> bool {
        !self.links[link].reorders() && self.plan.links[link].agents.is_empty() && !self.answering[link]
    }

    /// The minimum propagation delay; a scheduled delay counts as zero.
    fn delay(&self, links: &[LinkId]) -> Duration {
        let plans = links.iter().map(|&link| &self.plan.links[link]);
        plans.filter(|plan| !plan.schedule.changes_wire()).fold(Duration::ZERO, |sum, plan| sum + plan.delay)
    }
}
