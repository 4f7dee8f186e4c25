//! Applications that span several connections: sets them up, and runs the one that is due.

use cwndlab_traffic::arrival_process::ArrivalProcess;
use cwndlab_traffic::dialogue::Dialogue;
use cwndlab_traffic::{Application, NEVER};
use cwndlab_units::Time;

use crate::arrival_connections::ArrivalConnections;
use crate::connection::Connection;
use crate::dialogue::Direction;
use crate::simulation::Simulation;

impl Simulation<'_> {
    /// Before the run: gives each flow its application, and what that needs beside the flow's own connection. Returns the
    /// flows of bulk data, whose two ends nothing else acts on; like all that only write they get theirs when they begin.
    pub(crate) fn prepare_applications(&mut self) -> Vec<usize> {
        let duplicates = self.plan.links.iter().any(|link| link.duplicate > 0.0);
        let mut bulk = Vec::new();
        for index in 0..self.plan.flows.len() {
            let plan = &self.plan.flows[index];
            let start = self.connections.start(index).unwrap_or_default();
            let stop = plan.stop.map_or(NEVER, |stop| (Time::ZERO + stop).max(start));
            match plan.workload.application(&plan.context(index as u32, self.seed, stop)) {
                Application::ByteSource(source) if source.is_bulk() && plan.needs_no_agent() => bulk.push(index),
                Application::ByteSource(_) => {}
                Application::Arrivals(process) => self.prepare_arrivals(index, process),
                Application::Dialogue(dialogue) => self.prepare_dialogue(index, dialogue),
                Application::Datagrams(mut datagrams) => {
                    if duplicates {
                        datagrams.expect_duplicates();
                    }
                    self.begin(index);
                    self.connections[index].set_datagrams(datagrams);
                }
            }
        }
        bulk
    }

    fn prepare_arrivals(&mut self, index: usize, process: ArrivalProcess) {
        self.arrivals.insert(index, ArrivalConnections::new(process));
        self.begin(index);
        self.connections[index].shared_application = true;
    }

    /// Adds the other direction of a dialogue.
    fn prepare_dialogue(&mut self, index: usize, dialogue: Box<dyn Dialogue>) {
        self.begin(index);
        let plan = &self.plan.flows[index];
        let (peer, nagle) = (self.connections.len() as u32, dialogue.nagle());
        self.network.add_connection(index as u32, true);
        let mut other = Connection::secondary(plan, peer, index as u32, self.seed);
        other.set_dialogue(Direction::responding(index as u32), nagle);
        self.connections.push(other);
        let start = self.connections[index].start;
        self.connections[index].set_dialogue(Direction::new(peer, start, Some(dialogue)), nagle);
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
