//! Set-up of applications, and the timers of applications that span several connections.

use cwndlab_traffic::application::ApplicationKind;
use cwndlab_traffic::arrival_process::ArrivalProcess;
use cwndlab_traffic::dialogue::Dialogue;
use cwndlab_traffic::{Application, NEVER};
use cwndlab_units::Time;

use crate::arrival_connections::ArrivalConnections;
use crate::connection::Connection;
use crate::dialogue::Direction;
use crate::simulation::Simulation;

impl Simulation<'_> {
    /// Sets up the applications that need more than their connection, before the run. Applications that only write are
    /// set up when their flow starts. Returns the flows of bulk data, on whose endpoints only the transport acts.
    pub(crate) fn prepare_applications(&mut self) -> Vec<usize> {
        let duplicates = self.plan.links.iter().any(|link| link.duplicate > 0.0);
        let mut bulk = Vec::new();
        for index in 0..self.plan.flows.len() {
            let plan = &self.plan.flows[index];
            match plan.workload.application_kind() {
                ApplicationKind::ByteSource { bulk: true } if plan.needs_no_agent() => bulk.push(index),
                ApplicationKind::ByteSource { .. } => {}
                ApplicationKind::Arrivals | ApplicationKind::Dialogue(_) => self.begin(index),
                ApplicationKind::Datagrams => {
                    self.begin(index);
                    if let Some(datagrams) = self.connections[index].datagrams.as_mut().filter(|_| duplicates) {
                        datagrams.expect_duplicates();
                    }
                }
            }
        }
        bulk
    }

    /// Sets the application of a flow that starts.
    pub(crate) fn set_application(&mut self, index: usize, application: Application) {
        match application {
            Application::ByteSource(source) => self.connections[index].set_source(source),
            Application::Arrivals(process) => self.set_arrivals(index, process),
            Application::Dialogue(dialogue) => self.set_dialogue(index, dialogue),
            Application::Datagrams(datagrams) => self.connections[index].set_datagrams(datagrams),
        }
    }

    fn set_arrivals(&mut self, index: usize, process: ArrivalProcess) {
        self.arrivals.insert(index, ArrivalConnections::new(process));
        self.connections[index].shared_application = true;
    }

    /// Sets a dialogue as the application, and adds the connection of its other direction.
    fn set_dialogue(&mut self, index: usize, dialogue: Box<dyn Dialogue>) {
        let plan = &self.plan.flows[index];
        let peer = self.connections.len() as u32;
        let nagle = dialogue.nagle();
        self.network.add_connection(index as u32, true);
        let mut other = Connection::secondary(plan, peer, index as u32, self.seed);
        other.set_dialogue(Direction::responding(index as u32), nagle);
        self.connections.push(other);
        let start = self.connections[index].start;
        self.connections[index].set_dialogue(Direction::new(peer, start, Some(dialogue)), nagle);
    }

    /// Runs the application of a connection whose timer is due.
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
