//! The state of a run: the network and the connections on it.

use std::collections::BTreeMap;

use cwndlab_scenario::plan::Plan;
use cwndlab_traffic::Application;
use cwndlab_units::Time;

use crate::arrival_connections::ArrivalConnections;
use crate::connection::Connection;
use crate::connections::Connections;
use cwndlab_path::network::Network;
use cwndlab_path::packet::Packet;
use cwndlab_path::start_times::start_times;
use cwndlab_path::timers::{APPLICATION, PACE, RECEIVER, SENDER, TIMERS};

/// The state of a run.
pub(crate) struct Simulation<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) seed: u64,
    pub(crate) network: Network,
    /// One connection for each flow of the plan, then the secondary ones.
    pub(crate) connections: Connections,
    /// By flow of the plan, if its workload is arrivals.
    pub(crate) arrivals: BTreeMap<usize, ArrivalConnections>,
    /// Ends of connections take packets ahead of the clock.
    pub(crate) ahead: bool,
}

impl<'a> Simulation<'a> {
    /// The plan's network, empty, with the connections of its flows before their start.
    pub(crate) fn new(plan: &'a Plan, seed: u64) -> Self {
        Self {
            plan,
            seed,
            network: Network::new(plan, seed),
            connections: Connections::waiting(start_times(plan, seed).into_iter()),
            arrivals: BTreeMap::new(),
            ahead: false,
        }
    }

    /// The connection of a flow that begins at `start`, and the application that runs on it alone, if there is one.
    pub(crate) fn new_connection(&self, index: usize, start: Time) -> Connection {
        let plan = &self.plan.flows[index];
        let mut connection = Connection::new(plan, index as u32, start, self.seed);
        let context = plan.context(index as u32, self.seed, connection.stop_at());
        if let Application::ByteSource(source) = plan.workload.application(&context) {
            connection.set_source(source);
        }
        if self.ahead {
            connection.samples.run_ahead();
        }
        connection
    }

    /// The connection of a flow begins, if it has not.
    pub(crate) fn begin(&mut self, index: usize) {
        if let Some(start) = self.connections.start(index) {
            let connection = self.new_connection(index, start);
            self.connections.begin(index, connection);
        }
    }

    /// A packet reaches its endpoint now.
    #[inline]
    pub(crate) fn deliver(&mut self, now: Time, packet: &Packet) {
        let index = packet.flow();
        self.connections[index].deliver(now, packet, &mut self.network, &self.plan.flows);
        self.arm_end(index, packet.is_forward());
    }

    /// Puts the start of a connection on the agenda; one that has begun has its timers.
    pub(crate) fn arm_start(&mut self, index: usize) {
        match self.connections.start(index) {
            Some(start) => self.network.agenda.push(start, self.timer_source(index, APPLICATION)),
            None => self.arm(index),
        }
    }

    fn timer_source(&self, index: usize, which: usize) -> u32 {
        (self.network.links.len() + index * TIMERS + which) as u32
    }

    /// Puts the timers of a connection on the agenda that are due before their entry there. Entries that come too early
    /// are moved when they are due, so that a timer that is pushed back with every ACK costs nothing.
    #[inline]
    pub(crate) fn arm(&mut self, index: usize) {
        let due = self.connections[index].due();
        for (which, &at) in due.iter().enumerate() {
            self.arm_one(index, which, at);
        }
    }

    /// Does so at the end that a packet reached. It cannot have changed the timers of the other end, which stay out of the
    /// cache.
    #[inline]
    pub(crate) fn arm_end(&mut self, index: usize, receiving: bool) {
        let connection = &self.connections[index];
        let application = connection.application;
        if receiving {
            let at = connection.receiver.timer();
            self.arm_one(index, RECEIVER, at);
        } else {
            let (at, pace) = (connection.sender.timer(), connection.sender.pace_timer());
            self.arm_one(index, SENDER, at);
            self.arm_one(index, PACE, pace);
        }
        self.arm_one(index, APPLICATION, application);
    }

    #[allow(clippy::inline_always)] // a handful of instructions, which the call would double
    #[inline(always)]
    fn arm_one(&mut self, index: usize, which: usize, at: Time) {
        let armed = &mut self.connections[index].armed[which];
        if at < *armed {
            *armed = at;
            self.network.agenda.push(at, self.timer_source(index, which));
        }
    }
}
