//! Running numbers of the connections of each flow, for packet records.
//!
//! The number in a packet's tag is that of a connection's predecessors in the same place, and several places of a flow are
//! in use at the same time: it does not tell the flow's connections apart.

use cwndlab_scenario::plan::Plan;
use cwndlab_units::{ConnectionId, FlowId, IndexVec};

use crate::packet::Tag;

/// The connection of a place whose packets were sent last: the number in its tag, and its number in the flow.
#[derive(Clone, Copy, Debug)]
struct Current {
    in_tag: u32,
    in_flow: u32,
}

/// Numbers the connections of each flow in the order of their first packets.
#[derive(Debug)]
pub(crate) struct ConnectionNumbers {
    /// By connection, the place of its number: that of the flow's own one if it is the other direction of that.
    places: IndexVec<ConnectionId, ConnectionId>,
    /// By place.
    current: IndexVec<ConnectionId, Option<Current>>,
    /// By flow, its connections so far.
    opened: IndexVec<FlowId, u32>,
}

impl ConnectionNumbers {
    /// No packet has been sent; each flow has its own connection.
    pub(crate) fn new(plan: &Plan) -> Self {
        Self::of_flows(plan.flows.len())
    }

    fn of_flows(flows: usize) -> Self {
        Self {
            places: (0..flows as u32).map(ConnectionId::from).collect(),
            current: vec![None; flows].into(),
            opened: vec![0; flows].into(),
        }
    }

    /// Adds a secondary connection of the flow `owner`, the other direction of the flow's own one if `reversed`.
    pub(crate) fn add(&mut self, owner: FlowId, reversed: bool) {
        let own = self.current.push(None);
        self.places.push(if reversed { owner.into() } else { own });
    }

    /// The number of the connection that sends a packet with this tag. It is a new one if its place sent with another tag
    /// before.
    pub(crate) fn of(&mut self, tag: Tag, flow: FlowId) -> u32 {
        let current = &mut self.current[self.places[tag.connection()]];
        match current {
            Some(Current { in_tag, in_flow }) if *in_tag == tag.number() => *in_flow,
            _ => {
                let in_flow = self.opened[flow];
                self.opened[flow] += 1;
                *current = Some(Current { in_tag: tag.number(), in_flow });
                in_flow
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(connection: u32, number: u32) -> Tag {
        Tag::new(connection.into(), number)
    }

    /// By hand: flow 0 uses two places at once, and one of them again; flow 1 has numbers of its own.
    #[test]
    fn connections_at_the_same_time_have_numbers_of_their_own() {
        let (mut numbers, flow) = (ConnectionNumbers::of_flows(2), FlowId::from(0));
        numbers.add(flow, false);
        numbers.add(flow, false);
        let found = [tag(2, 0), tag(3, 0), tag(2, 0), tag(3, 1), tag(2, 0), tag(3, 1)].map(|tag| numbers.of(tag, flow));
        assert_eq!(found, [0, 1, 0, 2, 0, 2]);
        assert_eq!(numbers.of(tag(1, 0), 1.into()), 0);
    }

    /// The number in a tag is modulo 256.
    #[test]
    fn numbers_of_one_place_do_not_repeat() {
        let mut numbers = ConnectionNumbers::of_flows(1);
        assert!((0..600).all(|opened| numbers.of(tag(0, opened), 0.into()) == opened));
    }

    #[test]
    fn both_directions_of_a_dialogue_are_one_connection() {
        let (mut numbers, flow) = (ConnectionNumbers::of_flows(1), FlowId::from(0));
        numbers.add(flow, true);
        let found = [tag(1, 0), tag(0, 0), tag(0, 1), tag(1, 1)].map(|tag| numbers.of(tag, flow));
        assert_eq!(found, [0, 0, 1, 1]);
    }
}
