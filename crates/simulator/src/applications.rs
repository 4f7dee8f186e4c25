//! Set-up of applications, and the timers of applications that span several connections.

use cwndlab_scenario::plan::FlowPlan;
use cwndlab_traffic::application::ApplicationKind;
use cwndlab_traffic::arrival_process::ArrivalProcess;
use cwndlab_traffic::dialogue::{Dialogue, End};
use cwndlab_traffic::{Application, NEVER};
use cwndlab_units::{ConnectionId, FlowId, Time};

use crate::arrival_connections::ArrivalConnections;
use crate::connection::Connection;
use crate::dialogue::Direction;
use crate::simulation::Simulation;
use crate::udp::Udp;

/// Whether a flow sends bulk data, and needs no agent of a router: only the transport acts on its endpoints.
pub(crate) fn is_bulk(plan: &FlowPlan) -> bool {
    matches!(plan.workload.application_kind(), ApplicationKind::ByteSource { bulk: true }) && plan.needs_no_agent()
}

impl Simulation<'_> {
    /// Sets up the applications that need more than their connection, before the run. Applications that only write are
    /// set up when their flow starts. Returns the flows of bulk data, on whose endpoints only the transport acts.
    pub(crate) fn prepare_applications(&mut self) -> Vec<FlowId> {
        let duplicates = self.plan.links.iter().any(|link| link.duplicate > 0.0);
        let mut bulk = Vec::new();
        for (flow, plan) in self.plan.flows.enumerate() {
            match plan.workload.application_kind() {
                ApplicationKind::ByteSource { .. } if is_bulk(plan) => bulk.push(flow),
                ApplicationKind::ByteSource { .. } => {}
                ApplicationKind::Arrivals | ApplicationKind::Dialogue(_) | ApplicationKind::Exchange => {
                    self.begin(flow);
                }
                ApplicationKind::Datagrams => {
                    self.begin(flow);
                    let udp = self.connections[flow.into()].udp.as_mut().filter(|_| duplicates);
                    if let Some(datagrams) = udp.and_then(Udp::datagrams) {
                        datagrams.expect_duplicates();
                    }
                }
            }
        }
        bulk
    }

    /// Sets the application of a flow that starts.
    pub(crate) fn set_application(&mut self, flow: FlowId, application: Application) {
        match application {
            Application::ByteSource(source) => self.connections[flow.into()].set_source(source),
            Application::Arrivals(process) => self.set_arrivals(flow, process),
            Application::Dialogue(dialogue) => self.set_dialogue(flow, dialogue),
            Application::Datagrams(mut datagrams) => {
                if self.plan.keeps_messages(flow) {
                    datagrams.keep_messages();
                }
                self.connections[flow.into()].set_udp(Udp::Datagrams(Box::new(datagrams)));
            }
            Application::Exchange(exchange) => self.set_exchange(flow, exchange),
        }
    }

    fn set_arrivals(&mut self, flow: FlowId, process: ArrivalProcess) {
        self.arrivals.insert(flow, ArrivalConnections::new(process));
        let logs = self.plan.flows[flow].service.is_some();
        let first = &mut self.connections[flow.into()];
        first.messages = logs.then(Box::default);
        first.shared_application = true;
    }

    /// Sets a dialogue as the application, and adds the connection of its other direction.
    fn set_dialogue(&mut self, flow: FlowId, dialogue: Box<dyn Dialogue>) {
        let nagle = [End::Sender, End::Receiver].map(|end| dialogue.nagle(end));
        let peer = self.network.add_connection(flow, true);
        let plan = &self.plan.flows[flow];
        let mut other = Connection::secondary(plan, peer, flow, self.seed);
        let mut directions = [
            Direction::responding(flow.into()),
            Direction::new(peer, self.connections[flow.into()].start, Some(dialogue)),
        ];
        if plan.workload.is_quic() {
            for one in &mut directions {
                one.messages.use_streams();
            }
        }
        let [responding, opening] = directions;
        other.set_dialogue(responding, nagle[1]);
        self.connections.push(other);
        let logs = self.plan.keeps_messages(flow);
        let first = &mut self.connections[flow.into()];
        first.messages = logs.then(Box::default);
        first.set_dialogue(opening, nagle[0]);
    }

    /// Runs the application of a connection whose timer is due.
    pub(crate) fn run_application(&mut self, id: ConnectionId, now: Time) {
        let connection = &mut self.connections[id];
        if connection.dialogue.is_some() {
            self.run_dialogue(id, now);
        } else if matches!(connection.udp, Some(Udp::Exchange(_))) {
            self.run_exchange(id, now);
        } else if id == connection.owner.into() {
            connection.application = NEVER;
            let owner = connection.owner;
            self.on_arrival(owner, now);
        } else {
            self.release_connection(id, now);
        }
    }
}
