//! Dialogues: applications whose two endpoints exchange messages.

use cwndlab_records::rows::TransferRow;
use cwndlab_traffic::dialogue::{Action, Dialogue, End};
use cwndlab_traffic::NEVER;
use cwndlab_units::{Bytes, Time};

use crate::dialogue::{Direction, Endpoints};
use crate::simulation::Simulation;

impl Simulation<'_> {
    /// Runs the application of a direction: reads the messages that arrived, then handles its timer.
    pub(crate) fn run_dialogue(&mut self, index: usize, now: Time) {
        self.connections[index].application = NEVER;
        let owner = self.connections[index].owner as usize;
        let peer = self.direction(index).peer as usize;
        let ends = if owner == index {
            Endpoints { forward: index, backward: peer }
        } else {
            Endpoints { forward: peer, backward: index }
        };
        let end = if owner == index { End::Receiver } else { End::Sender };
        let mut actions = Vec::new();
        while let Some(message) = self.direction(index).messages.read() {
            self.application(owner).on_message(message, now, &mut actions);
            self.accept(ends, end, now);
            self.apply_actions(ends, end, &mut actions, now);
        }
        if self.direction(index).next <= now {
            let opener = self.application(owner).opener();
            self.application(owner).on_timer(now, &mut actions);
            self.apply_actions(ends, opener, &mut actions, now);
        }
        for one in [index, peer] {
            let connection = &mut self.connections[one];
            if let Some(direction) = &connection.dialogue {
                connection.application = if direction.messages.is_readable() { now } else { direction.next };
            }
            self.arm(one);
        }
    }

    fn direction(&mut self, index: usize) -> &mut Direction {
        self.connections[index].dialogue.as_mut().expect("the connection is a direction of a dialogue")
    }

    fn application(&mut self, owner: usize) -> &mut dyn Dialogue {
        self.direction(owner).application.as_deref_mut().expect("the plan's flow has the application")
    }

    /// Lets the endpoint that did not open the connection accept it with the first message.
    fn accept(&mut self, ends: Endpoints, end: End, now: Time) {
        if end == self.application(ends.forward).opener() {
            return;
        }
        let index = ends.from(end);
        let opener = ends.to(end);
        if !std::mem::replace(&mut self.direction(index).accepted, true) {
            let syn_ack_at = self.connections[opener].handshake_start();
            self.connections[index].accept(syn_ack_at, now, &mut self.network);
        }
    }

    /// Applies the actions of an endpoint's application, and sets its timer.
    fn apply_actions(&mut self, ends: Endpoints, end: End, actions: &mut Vec<Action>, now: Time) {
        let owner = ends.forward;
        let due = self.application(owner).due();
        self.direction(owner).next = due;
        for action in actions.drain(..) {
            match action {
                Action::Connect => self.connect(ends, end, now),
                Action::Send(bytes, message) => {
                    let index = ends.from(end);
                    self.direction(index).messages.write(bytes, message);
                    self.connections[index].supply(bytes, now, &mut self.network);
                }
                Action::Record(start, size) => self.record_transfer(owner, start, now, size),
                Action::Finish => self.connections[owner].finish(now),
            }
        }
    }

    /// Opens the first or another connection from an endpoint.
    fn connect(&mut self, ends: Endpoints, end: End, now: Time) {
        let again = std::mem::replace(&mut self.direction(ends.forward).opened, true);
        let plan = &self.plan.flows[ends.forward];
        for one in [ends.from(end), ends.to(end)] {
            if again {
                self.connections[one].renew(plan, self.seed);
            }
            let direction = self.direction(one);
            direction.messages.clear();
            direction.accepted = false;
        }
        self.connections[ends.from(end)].open(now, &mut self.network);
    }

    /// Records a completed transfer or message.
    fn record_transfer(&mut self, owner: usize, start: Time, end: Time, size: Bytes) {
        let rows = &mut self.connections[owner].transfers;
        rows.push(TransferRow {
            flow: owner as u32,
            transfer: rows.len() as u64,
            start_ns: start.as_nanos(),
            end_ns: end.as_nanos(),
            size_bytes: size.0,
        });
    }
}
