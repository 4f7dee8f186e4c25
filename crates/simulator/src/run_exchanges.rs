//! Exchanges: applications whose two endpoints send each other datagrams.

use cwndlab_path::packet::{Packet, Tag};
use cwndlab_traffic::dialogue::End;
use cwndlab_traffic::exchange::DatagramExchange;
use cwndlab_traffic::NEVER;
use cwndlab_units::{ConnectionId, FlowId, Time};

use crate::connection::Connection;
use crate::simulation::Simulation;
use crate::udp::{ExchangeDirection, Udp};

impl Simulation<'_> {
    /// Sets an exchange as the application, and adds the connection of its other direction.
    pub(crate) fn set_exchange(&mut self, flow: FlowId, mut exchange: Box<DatagramExchange>) {
        if self.plan.keeps_messages(flow) {
            exchange.keep_messages();
        }
        let peer = self.network.add_connection(flow, true);
        let mut other = Connection::secondary(&self.plan.flows[flow], peer, flow, self.seed);
        let backward = ExchangeDirection { peer: flow.into(), arrived: Vec::new(), exchange: None };
        other.set_udp(Udp::Exchange(Box::new(backward)));
        self.connections.push(other);
        let direction = ExchangeDirection { peer, arrived: Vec::new(), exchange: Some(exchange) };
        self.connections[flow.into()].set_udp(Udp::Exchange(Box::new(direction)));
    }

    /// Runs the exchange of a direction: handles the datagrams that arrived, then the timers.
    pub(crate) fn run_exchange(&mut self, id: ConnectionId, now: Time) {
        let flow = self.connections[id].owner;
        let direction = self.direction_of_exchange(id);
        let mut arrived = std::mem::take(&mut direction.arrived);
        let (at, peer) = if id == flow.into() { (End::Receiver, direction.peer) } else { (End::Sender, id) };
        self.connections[id].application = NEVER;

        let Simulation { connections, network, failure, .. } = self;
        let first = connections[flow.into()].udp.as_mut();
        let exchange = first.and_then(Udp::exchange).expect("the plan's flow has the exchange");
        let mut send = |from: End, one| {
            let tag = Tag::new(if from == End::Sender { flow.into() } else { peer }, 0);
            network.forward(now, Packet::datagram(tag, now, &one));
        };
        for datagram in arrived.drain(..) {
            exchange.receive(at, now, datagram, &mut send);
        }
        if exchange.due() <= now {
            exchange.on_timer(now, &mut send);
        }
        let (due, ended) = (exchange.due(), exchange.ended());
        let delivered = std::mem::take(&mut exchange.delivered);
        if let Some(fault) = exchange.failure() {
            failure.get_or_insert_with(|| fault.clone());
        }
        self.direction_of_exchange(id).arrived = arrived; // its memory
        let connection = &mut self.connections[flow.into()];
        connection.application = due;
        if let Some(end) = ended.filter(|_| connection.end.is_none()) {
            connection.finish(end);
        }
        self.arm(flow.into());
        for (since, size) in delivered {
            self.forward_message(flow, since, size, now);
        }
    }

    fn direction_of_exchange(&mut self, id: ConnectionId) -> &mut ExchangeDirection {
        match &mut self.connections[id].udp {
            Some(Udp::Exchange(direction)) => direction,
            _ => panic!("the connection is a direction of an exchange"),
        }
    }
}
