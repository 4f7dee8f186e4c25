//! The state of a run: the network and the connections on it.

use std::collections::BTreeMap;

use cwndlab_control::Saved;
use cwndlab_scenario::plan::Plan;
use cwndlab_traffic::NEVER;
use cwndlab_units::{ConnectionId, Fault, FlowId, Time};

use crate::arrival_connections::ArrivalConnections;
use crate::connection::Connection;
use crate::connections::Connections;
use crate::end_samples::SampleTimes;
use crate::value_recorder::ValueRecorder;
use cwndlab_path::lifetimes::{Lifetime, Lifetimes};
use cwndlab_path::network::Network;
use cwndlab_path::packet::Packet;
use cwndlab_path::timers::{APPLICATION, PACE, RECEIVER, SENDER};

/// The state of a run.
pub(crate) struct Simulation<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) seed: u64,
    pub(crate) network: Network,
    /// One connection for each flow of the plan, then the secondary ones.
    pub(crate) connections: Connections,
    /// Connections of the workload "arrivals".
    pub(crate) arrivals: BTreeMap<FlowId, ArrivalConnections>,
    /// Some endpoints process packets ahead of the clock.
    pub(crate) ahead: bool,
    /// When flows start and stop.
    pub(crate) lifetimes: Lifetimes,
    /// Why the run cannot go on.
    pub(crate) failure: Option<Fault>,
}

impl<'a> Simulation<'a> {
    /// The initial state: the plan's network without packets, and no started connections.
    pub(crate) fn new(plan: &'a Plan, seed: u64) -> Self {
        let lifetimes = Lifetimes::new(plan, seed);
        Self {
            plan,
            seed,
            network: Network::new(plan, seed),
            connections: Connections::pending(lifetimes.of.iter().map(|one| one.start)),
            arrivals: BTreeMap::new(),
            ahead: false,
            lifetimes,
            failure: None,
        }
    }

    /// The connection of a flow that starts at `start`, without its application.
    pub(crate) fn new_connection(&self, flow: FlowId, start: Time) -> Connection {
        let plan = &self.plan.flows[flow];
        let lifetime = Lifetime { start, ..self.lifetimes.of[flow] };
        let mut connection = Connection::new(plan, flow, lifetime, self.seed, self.saved_parameters(flow, start));
        if self.ahead {
            connection.samples.run_ahead();
        }
        if plan.algorithm.is_some() {
            let recorder = |plan| Box::new(ValueRecorder::new(plan, flow));
            connection.samples.values = self.plan.named_values.as_ref().map(recorder);
        }
        connection
    }

    /// The saved parameters with which a flow starts at `start`: those of the flow of its store that ended last. RFC 9959,
    /// Reconnaissance: there are none while another flow uses them.
    fn saved_parameters(&self, flow: FlowId, start: Time) -> Option<Saved> {
        let store = self.plan.flows[flow].saved_parameters.as_ref()?;
        let mut last: Option<Saved> = None;
        for (other, plan) in self.plan.flows.enumerate() {
            if other == flow || plan.saved_parameters.as_ref() != Some(store) {
                continue;
            }
            let Some(connection) = self.connections.started(other.into()) else { continue };
            let end = connection.end.filter(|&end| end <= start)?;
            last = connection.saved(end).filter(|one| last.is_none_or(|last| one.at >= last.at)).or(last);
        }
        last
    }

    /// Starts the connection and the application of a flow, unless it has started.
    pub(crate) fn begin(&mut self, flow: FlowId) {
        if let Some(start) = self.connections.start(flow.into()) {
            let connection = self.new_connection(flow, start);
            let plan = &self.plan.flows[flow];
            let context = plan.context(flow, self.seed, connection.stop_at());
            self.connections.begin(flow.into(), connection);
            self.set_application(flow, plan.workload.application(&context));
        }
    }

    /// Delivers a packet to its endpoint.
    #[inline]
    pub(crate) fn deliver(&mut self, now: Time, packet: &Packet) {
        if let Some(index) = packet.segment_options() {
            self.deliver_carried_ack(now, index);
        }
        let id = packet.connection();
        let connection = &mut self.connections[id];
        connection.deliver(now, packet, &mut self.network, &self.plan.flows);
        arm_end(connection, id, &mut self.network, packet.is_forward());
    }

    /// Delivers the ACK that a segment carries, before its data (RFC 9293, section 3.10.7.4).
    #[cold]
    fn deliver_carried_ack(&mut self, now: Time, index: u32) {
        if let Some(ack) = self.network.options.take_carried_ack(index) {
            self.deliver(now, &ack);
        }
    }

    /// Adds the start of a connection to the agenda, or its timers if it has started.
    pub(crate) fn arm_start(&mut self, id: ConnectionId) {
        match self.connections.start(id) {
            Some(start) => {
                let source = self.network.sources.timer(id, APPLICATION);
                self.network.agenda.push(start, source);
            }
            None => self.arm(id),
        }
    }

    /// Handles the top of the agenda, a timer. `behind`: the times of samples, if the clock of samples is behind `now`.
    pub(crate) fn on_timer(&mut self, now: Time, id: ConnectionId, which: usize, behind: Option<SampleTimes>) {
        self.network.agenda.pop();
        if self.connections.start(id).is_some() {
            self.begin(self.network.owner(id));
            self.connections[id].armed[which] = now;
            if let Some(times) = behind {
                self.connections[id].samples.begin_at(times.first_from(now));
            }
        }
        let connection = &mut self.connections[id];
        if connection.armed[which] != now {
            return; // an earlier entry replaced this one
        }
        connection.armed[which] = NEVER;
        if let Some(times) = behind {
            self.catch_up(now, id, which == RECEIVER, times);
        }
        let connection = &mut self.connections[id];
        if connection.due()[which] <= now {
            if which == APPLICATION && connection.shared_application {
                self.run_application(id, now);
            } else {
                let plan = &self.plan.flows[connection.owner];
                connection.on_timer(which, now, &mut self.network, plan, self.seed);
            }
        }
        self.arm(id);
    }

    /// Adds those timers of a connection to the agenda that are due before their existing entry. Entries that are too
    /// early are rescheduled when they are reached, so that postponing a timer with every ACK costs nothing.
    pub(crate) fn arm(&mut self, id: ConnectionId) {
        let connection = &mut self.connections[id];
        for (which, at) in connection.due().into_iter().enumerate() {
            arm_one(connection, id, which, at, &mut self.network);
        }
    }
}

/// Adds the timers of the endpoint that received a packet to the agenda. The packet cannot have changed the timers of
/// the other endpoint, which need not be loaded into the cache.
#[inline]
pub(crate) fn arm_end(connection: &mut Connection, id: ConnectionId, network: &mut Network, receiving: bool) {
    let application = connection.application;
    if receiving {
        let at = connection.receiver.timer();
        arm_one(connection, id, RECEIVER, at, network);
    } else {
        let at = connection.sender.timer();
        let pace = connection.sender.pace_timer();
        arm_one(connection, id, SENDER, at, network);
        arm_one(connection, id, PACE, pace, network);
    }
    arm_one(connection, id, APPLICATION, application, network);
}

#[allow(clippy::inline_always)] // a handful of instructions, which the call would double
#[inline(always)]
fn arm_one(connection: &mut Connection, id: ConnectionId, which: usize, at: Time, network: &mut Network) {
    let armed = &mut connection.armed[which];
    if at < *armed {
        *armed = at;
        network.agenda.push(at, network.sources.timer(id, which));
    }
}
