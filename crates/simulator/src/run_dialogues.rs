//! Dialogues: applications whose two endpoints exchange messages.

use cwndlab_records::rows::TransferRow;
use cwndlab_scenario::plan::Ecn;
use cwndlab_traffic::dialogue::{Action, Dialogue, End};
use cwndlab_traffic::NEVER;
use cwndlab_units::{Bytes, ConnectionId, FlowId, Time};

use crate::dialogue::{Direction, Endpoints};
use crate::simulation::Simulation;

impl Simulation<'_> {
    /// Runs the application of a direction: reads the messages that arrived, then handles its timer.
    pub(crate) fn run_dialogue(&mut self, id: ConnectionId, now: Time) {
        self.connections[id].application = NEVER;
        let flow = self.connections[id].owner;
        let peer = self.direction(id).peer;
        let (end, backward) = if id == flow.into() { (End::Receiver, peer) } else { (End::Sender, id) };
        let ends = Endpoints { flow, backward };
        let mut actions = Vec::new();
        while let Some(message) = self.direction(id).messages.read() {
            self.application(flow).on_message(message, now, &mut actions);
            self.accept(ends, end, now);
            self.apply_actions(ends, end, &mut actions, now);
        }
        if self.direction(id).next <= now {
            let opener = self.application(flow).opener();
            let end = if id == flow.into() {
                self.application(flow).on_timer(now, &mut actions);
                opener
            } else {
                self.application(flow).on_responder_timer(now, &mut actions);
                opener.other()
            };
            self.apply_actions(ends, end, &mut actions, now);
        }
        self.arm_directions(ends, now);
    }

    fn direction(&mut self, id: ConnectionId) -> &mut Direction {
        self.connections[id].dialogue.as_mut().expect("the connection is a direction of a dialogue")
    }

    fn application(&mut self, flow: FlowId) -> &mut dyn Dialogue {
        self.direction(flow.into()).application.as_deref_mut().expect("the plan's flow has the application")
    }

    /// Lets the endpoint that did not open the connection accept it with the first message.
    fn accept(&mut self, ends: Endpoints, end: End, now: Time) {
        if end == self.application(ends.flow).opener() {
            return;
        }
        let id = ends.from(end);
        let opener = ends.to(end);
        if !std::mem::replace(&mut self.direction(id).accepted, true) {
            if self.plan.flows[ends.flow].workload.is_quic() {
                self.connections[id].open_quic(now, &mut self.network);
                return;
            }
            let syn_acks = self.connections[opener].syn_acks();
            self.connections[id].accept(syn_acks, now, &mut self.network);
        }
    }

    /// Applies the actions of an endpoint's application, and sets the timers.
    fn apply_actions(&mut self, ends: Endpoints, end: End, actions: &mut Vec<Action>, now: Time) {
        let flow = ends.flow;
        let application = self.application(flow);
        let (due, responder_due) = (application.due(), application.responder_due());
        self.direction(flow.into()).next = due;
        self.direction(ends.backward).next = responder_due;
        for action in actions.drain(..) {
            match action {
                Action::Connect => self.connect(ends, end, now),
                Action::Send(bytes, message) => {
                    let id = ends.from(end);
                    self.direction(id).messages.write(bytes, message);
                    self.write(ends, end, bytes, now);
                }
                Action::Queue(bytes, message, priority) => {
                    let id = ends.from(end);
                    self.note_sent(id);
                    self.direction(id).messages.enqueue(bytes, message, priority);
                    self.write(ends, end, bytes, now);
                }
                Action::Withdraw(message) => {
                    let id = ends.from(end);
                    self.note_sent(id);
                    let left = self.direction(id).messages.withdraw(message);
                    self.connections[id].sender.withdraw(left);
                }
                Action::Offer(at, size) => {
                    if let Some(log) = &mut self.connections[flow.into()].messages {
                        log.offer(at, size);
                    }
                }
                Action::Deliver(since) => {
                    let log = self.connections[flow.into()].messages.as_mut();
                    if let Some(size) = log.and_then(|log| log.deliver(since, now)) {
                        self.forward_message(flow, since, size, now);
                    }
                }
                Action::Record(start, size) => self.record_transfer(flow, start, now, size),
                Action::Finish => self.connections[flow.into()].finish(now),
            }
        }
    }

    /// Writes data of an endpoint.
    fn write(&mut self, ends: Endpoints, end: End, bytes: Bytes, now: Time) {
        let (sending, receiving) = (ends.from(end), ends.to(end));
        let plan = &self.plan.flows[ends.flow];
        if !plan.stack.piggyback || plan.stack.ecn != Ecn::Off || plan.workload.is_quic() {
            self.connections[sending].supply(bytes, now, &mut self.network);
            return;
        }
        let (one, other) = self.connections.pair(sending.min(receiving), sending.max(receiving));
        let (sending, receiving) = if sending < receiving { (one, other) } else { (other, one) };
        sending.supply_answer(receiving, bytes, now, &mut self.network);
    }

    /// Notes which queued messages of a direction were sent, before others are queued.
    fn note_sent(&mut self, id: ConnectionId) {
        let unsent = self.connections[id].sender.unsent();
        self.direction(id).messages.on_sent(unsent);
    }

    /// Passes a message that a flow delivered to the flows that send it on.
    pub(crate) fn forward_message(&mut self, source: FlowId, since: Time, size: Bytes, now: Time) {
        let Some(subscribers) = self.plan.subscribers.get(&source) else { return };
        for &flow in subscribers {
            let direction = self.direction(flow.into());
            if !direction.opened {
                continue; // nobody listens, and its timer is the start of the flow
            }
            let ends = Endpoints { flow, backward: direction.peer };
            let application = self.application(flow);
            let end = application.opener().other();
            let mut actions = Vec::new();
            application.on_forwarded(since, size, now, &mut actions);
            self.apply_actions(ends, end, &mut actions, now);
            self.arm_directions(ends, now);
        }
    }

    /// Sets the timers of both directions.
    fn arm_directions(&mut self, ends: Endpoints, now: Time) {
        for one in [ends.flow.into(), ends.backward] {
            let connection = &mut self.connections[one];
            if let Some(direction) = &connection.dialogue {
                connection.application = if direction.messages.is_readable() { now } else { direction.next };
            }
            self.arm(one);
        }
    }

    /// Opens the first or another connection from an endpoint.
    fn connect(&mut self, ends: Endpoints, end: End, now: Time) {
        let again = std::mem::replace(&mut self.direction(ends.flow.into()).opened, true);
        let plan = &self.plan.flows[ends.flow];
        for one in [ends.from(end), ends.to(end)] {
            if again {
                let connection = &mut self.connections[one];
                connection.renew(plan, self.seed, connection.saved(now));
            }
            let direction = self.direction(one);
            direction.messages.clear();
            direction.accepted = false;
        }
        let opener = &mut self.connections[ends.from(end)];
        if plan.workload.is_quic() {
            opener.open_quic(now, &mut self.network);
        } else {
            opener.open(now, &mut self.network);
        }
    }

    /// Records a completed transfer or message.
    fn record_transfer(&mut self, flow: FlowId, start: Time, end: Time, size: Bytes) {
        let rows = &mut self.connections[flow.into()].transfers;
        rows.push(TransferRow {
            flow: flow.into(),
            transfer: rows.len() as u64,
            start_ns: start.as_nanos(),
            end_ns: end.as_nanos(),
            size_bytes: size.0,
        });
    }
}
