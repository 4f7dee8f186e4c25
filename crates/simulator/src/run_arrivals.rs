//! The workload "arrivals": assigns each arriving transfer to a separate connection.

use cwndlab_records::rows::EventRow;
use cwndlab_traffic::arrival_process::Arrival;
use cwndlab_traffic::NEVER;
use cwndlab_units::Time;

use crate::arrival_connections::ArrivalConnections;
use crate::connection::Connection;
use crate::simulation::Simulation;
use cwndlab_path::packet::MAX_FLOWS;

impl Simulation<'_> {
    /// Handles the arrival timer of the flow `owner`.
    pub(crate) fn on_arrival(&mut self, owner: usize, now: Time) {
        let Some(arrivals) = self.arrivals.get_mut(&owner) else { return };
        let (arrival, next) = arrivals.process.on_timer(now);
        if let Some(arrival) = arrival {
            self.start_transfer(owner, arrival, now);
        }
        self.connections[owner].application = next;
        self.finish_if_over(owner, now);
    }

    /// Assigns a transfer to a free or a new connection.
    fn start_transfer(&mut self, owner: usize, arrival: Arrival, now: Time) {
        let plan = &self.plan.flows[owner];
        let Some(arrivals) = self.arrivals.get_mut(&owner) else { return };
        let index = match arrivals.free.pop() {
            Some(index) => index as usize,
            None if arrivals.all.len() < arrivals.limit && self.connections.len() < MAX_FLOWS => {
                let index = self.connections.len();
                arrivals.all.push(index as u32);
                self.network.add_connection(owner as u32, false);
                self.connections.push(Connection::secondary(plan, index as u32, owner as u32, self.seed));
                index
            }
            None => {
                self.reject_transfer(owner, now);
                return;
            }
        };
        let connection = &mut self.connections[index];
        connection.assign(arrival.bytes, arrival.number, now);
        connection.run_source(now, &mut self.network, plan, self.seed);
        self.arm(index);
    }

    /// Records a transfer that was rejected because no connection was free.
    fn reject_transfer(&mut self, owner: usize, now: Time) {
        self.network.log(EventRow {
            time_ns: now.as_nanos(),
            flow: owner as u32,
            kind: "refused",
            cause: "connections",
            cwnd_before_bytes: 0,
            cwnd_after_bytes: 0,
            pipe_segments: None,
        });
    }

    /// Releases a connection whose transfer is complete.
    pub(crate) fn release_connection(&mut self, index: usize, now: Time) {
        let owner = self.connections[index].owner as usize;
        self.connections[index].application = NEVER;
        let (flow, connection) = self.connections.pair(owner, index);
        connection.move_totals(flow);
        connection.release(&self.plan.flows[owner], self.seed);
        if let Some(arrivals) = self.arrivals.get_mut(&owner) {
            arrivals.free.push(index as u32);
        }
        self.finish_if_over(owner, now);
    }

    /// Completes the flow when all transfers have arrived and are complete.
    fn finish_if_over(&mut self, owner: usize, now: Time) {
        if self.arrivals.get(&owner).is_some_and(ArrivalConnections::is_over) {
            self.connections[owner].finish(now);
        }
    }

    /// Moves the totals and transfers of all connections to their flow at the end of the run, in order of arrival.
    pub(crate) fn collect_arrivals(&mut self) {
        for (&owner, arrivals) in &self.arrivals {
            for &index in &arrivals.all {
                let (flow, connection) = self.connections.pair(owner, index as usize);
                connection.move_totals(flow);
                let losses = self.network.losses[index as usize];
                self.network.losses[owner].queue += losses.queue;
                self.network.losses[owner].wire += losses.wire;
            }
            self.connections[owner].transfers.sort_by_key(|row| row.transfer);
        }
    }
}
