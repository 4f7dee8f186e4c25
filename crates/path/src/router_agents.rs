//! The router agents of a network's links.

use cwndlab_network::router_assist::{Agent, Arrival, Config, Header};
use cwndlab_scenario::plan::Plan;
use cwndlab_units::{ConnectionId, IndexVec, LinkId, Time};

use crate::build_links::build_agents;

/// By link, whether it starts at a node with an agent that writes into SYN-ACKs: the link's packets are seen there, those
/// of the link that the agent observes and the SYN-ACKs that leave the node.
pub(crate) fn answering_links(plan: &Plan) -> IndexVec<LinkId, bool> {
    let mut nodes = vec![false; plan.nodes.len()];
    for link in plan.links.iter().filter(|link| link.rate.is_some()) {
        nodes[link.from as usize] |= link.agents.iter().any(Config::answers);
    }
    plan.links.iter().map(|link| nodes[link.from as usize]).collect()
}

/// The agents of all links.
#[derive(Debug)]
pub(crate) struct RouterAgents {
    by_link: IndexVec<LinkId, Vec<Agent>>,
    /// See [`answering_links`].
    pub(crate) answering: IndexVec<LinkId, bool>,
    /// The node from which each link starts.
    from: IndexVec<LinkId, u32>,
}

impl RouterAgents {
    /// The agents of the plan.
    pub(crate) fn new(plan: &Plan) -> Self {
        Self {
            by_link: plan.links.iter().map(build_agents).collect(),
            answering: answering_links(plan),
            from: plan.links.iter().map(|link| link.from).collect(),
        }
    }

    /// Whether the link has agents.
    pub(crate) fn has(&self, link: LinkId) -> bool {
        !self.by_link[link].is_empty()
    }

    /// Passes a packet that arrives at the link to its agents.
    pub(crate) fn on_packet(&mut self, link: LinkId, arrival: Arrival, mut header: Option<&mut Header>) {
        for agent in &mut self.by_link[link] {
            agent.on_packet(arrival, header.as_deref_mut());
        }
    }

    /// Passes a SYN-ACK that leaves the start of `link` to the agents of those of the links `crossed` by the SYN that
    /// start there, too.
    pub(crate) fn on_syn_ack(
        &mut self,
        now: Time,
        link: LinkId,
        connection: ConnectionId,
        crossed: impl Iterator<Item = LinkId>,
        header: &mut Header,
    ) {
        let node = self.from[link];
        for link in crossed {
            if self.from[link] == node {
                for agent in &mut self.by_link[link] {
                    agent.on_syn_ack(now, connection, header);
                }
            }
        }
    }
}
