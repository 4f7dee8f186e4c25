//! The workload "arrivals": assigns each arriving transfer to a separate connection.

use cwndlab_records::rows::EventRow;
use cwndlab_traffic::arrival_process::Arrival;
use cwndlab_traffic::NEVER;
use cwndlab_units::{ConnectionId, FlowId, Time};

use crate::arrival_connections::ArrivalConnections;
use crate::connection::Connection;
use crate::simulation::Simulation;
use cwndlab_path::packet::MAX_CONNECTIONS;

impl Simulation<'_> {
    /// Handles the arrival timer of the flow `owner`.
    pub(crate) fn on_arrival(&mut self, owner: FlowId, now: Time) {
        let Some(arrivals) = self.arrivals.get_mut(&owner) else { return };
        let (arrival, next) = arrivals.process.on_timer(now);
        if let Some(arrival) = arrival {
            if let Some(log) = &mut self.connections[owner.into()].messages {
                log.offer(now, arrival.bytes);
            }
            self.start_transfer(owner, arrival, now);
        }
        self.connections[owner.into()].application = next;
        self.finish_if_over(owner, now);
    }

    /// Assigns a transfer to a free or a new connection.
    fn start_transfer(&mut self, owner: FlowId, arrival: Arrival, now: Time) {
        let plan = &self.plan.flows[owner];
        let Some(arrivals) = self.arrivals.get_mut(&owner) else { return };
        let id = match arrivals.free.pop() {
            Some(id) => id,
            None if arrivals.all.len() < arrivals.limit && self.connections.ids().len() < MAX_CONNECTIONS => {
                let id = self.network.add_connection(owner, false);
                arrivals.all.push(id);
                self.connections.push(Connection::secondary(plan, id, owner, self.seed));
                id
            }
            None => {
                self.reject_transfer(owner, now);
                return;
            }
        };
        let connection = &mut self.connections[id];
        connection.assign(arrival.bytes, arrival.number, now);
        connection.run_source(now, &mut self.network, plan, self.seed);
        self.arm(id);
    }

    /// Records a transfer that was rejected because no connection was free.
    fn reject_transfer(&mut self, owner: FlowId, now: Time) {
        self.network.log(EventRow {
            time_ns: now.as_nanos(),
            flow: owner.into(),
            kind: "refused",
            cause: "connections",
            cwnd_before_bytes: 0,
            cwnd_after_bytes: 0,
            pipe_segments: None,
        });
    }

    /// Releases a connection whose transfer is complete.
    pub(crate) fn release_connection(&mut self, id: ConnectionId, now: Time) {
        let owner = self.connections[id].owner;
        self.connections[id].application = NEVER;
        let (flow, connection) = self.connections.pair(owner.into(), id);
        connection.move_totals(flow);
        connection.release(&self.plan.flows[owner], self.seed);
        if let Some(arrivals) = self.arrivals.get_mut(&owner) {
            arrivals.free.push(id);
        }
        self.finish_if_over(owner, now);
    }

    /// Completes the flow when all transfers have arrived and are complete.
    fn finish_if_over(&mut self, owner: FlowId, now: Time) {
        if self.arrivals.get(&owner).is_some_and(ArrivalConnections::is_over) {
            self.connections[owner.into()].finish(now);
        }
    }

    /// Moves the totals and transfers of all connections to their flow at the end of the run, in order of arrival.
    pub(crate) fn collect_arrivals(&mut self) {
        for (&owner, arrivals) in &self.arrivals {
            let first = ConnectionId::from(owner);
            for &id in &arrivals.all {
                let (flow, connection) = self.connections.pair(first, id);
                connection.move_totals(flow);
                let losses = self.network.losses[id];
                self.network.losses[first].queue += losses.queue;
                self.network.losses[first].wire += losses.wire;
            }
            self.connections[first].transfers.sort_by_key(|row| row.transfer);
        }
    }
}
