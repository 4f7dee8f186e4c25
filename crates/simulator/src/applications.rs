//! Applications that span several connections: sets them up, and runs the one that is due.

use cwndlab_scenario::plan::Workload;
use cwndlab_traffic::arrivals::ArrivalProcess;
use cwndlab_traffic::NEVER;
use cwndlab_units::Time;

use crate::arrival_connections::ArrivalConnections;
use crate::connection::Connection;
use crate::dialogue::{Application, Dialogue};
use crate::simulation::Simulation;

impl Simulation<'_> {
    /// Before the run: gives each flow what its workload needs beside its own connection.
    pub(crate) fn prepare_applications(&mut self) {
        let duplicates = self.plan.links.iter().any(|link| link.duplicate > 0.0);
        for index in 0..self.plan.flows.len() {
            match &self.plan.flows[index].workload {
                Workload::Arrivals { connections, .. } => self.prepare_arrivals(index, *connections),
                Workload::Exchanges { .. } => self.prepare_dialogue(index, false),
                Workload::Mqtt(sensor) => self.prepare_dialogue(index, sensor.nagle),
                Workload::Datagrams { .. } if duplicates => {
                    if let Some(datagrams) = &mut self.connections[index].datagrams {
                        datagrams.expect_duplicates();
                    }
                }
                _ => {}
            }
        }
    }

    fn prepare_arrivals(&mut self, index: usize, limit: u32) {
        let workload = &self.plan.flows[index].workload;
        let connection = &mut self.connections[index];
        let Some(process) = ArrivalProcess::new(workload, connection.stop_at(), index as u64, self.seed) else {
            return;
        };
        self.arrivals.insert(index, ArrivalConnections::new(process, limit));
        connection.shared_application = true;
    }

    /// Adds the other direction of a dialogue.
    fn prepare_dialogue(&mut self, index: usize, nagle: bool) {
        let plan = &self.plan.flows[index];
        let peer = self.connections.len() as u32;
        self.network.add_connection(index as u32, true);
        let mut other = Connection::secondary(plan, peer, index as u32, self.seed);
        other.set_dialogue(Dialogue::responding(index as u32), nagle);
        self.connections.push(other);
        let application = Application::new(&plan.workload, index as u32, self.seed);
        let start = self.connections[index].start;
        self.connections[index].set_dialogue(Dialogue::new(peer, start, application), nagle);
    }

    /// Runs the application of a connection, whose timer is due.
    pub(crate) fn run_application(&mut self, index: usize, now: Time) {
        let connection = &mut self.connections[index];
        if connection.dialogue.is_some() {
            self.run_dialogue(index, now);
        } else if connection.owner as usize == index {
            connection.application = NEVER;
            self.on_arrival(index, now);
        } else {
            self.release_connection(index, now);
        }
    }
}
