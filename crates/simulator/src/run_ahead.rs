//! Ends of connections that take packets ahead of the clock (`cwndlab_path::look_ahead` has the conditions).
//!
//! An end keeps its own order: before it takes a packet it handles its timers that are due earlier, and takes the samples
//! that it passes. Its entries on the agenda stay; when their time comes they find nothing due and move on, as those of a
//! timer that was pushed back do.

use cwndlab_control::Build;
use cwndlab_path::network::Network;
use cwndlab_path::packet::Packet;
use cwndlab_path::timers::{APPLICATION, PACE, RECEIVER, SENDER};
use cwndlab_records::rows::EventRow;
use cwndlab_scenario::plan::FlowPlan;
use cwndlab_units::Time;

use crate::connection::Connection;
use crate::end_samples::{SampleTimes, SenderSample};
use crate::simulation::{arm_end, first_timer, Simulation};

/// Somebody else's code decides: it may share state between flows, which shows the order of its calls.
fn is_foreign(plan: &FlowPlan) -> bool {
    plan.algorithm.iter().any(|one| {
        let parts = [Some(&one.growth), one.slow_start.as_ref(), one.recovery.as_ref()];
        parts.into_iter().flatten().any(|part| matches!(part.spec.build, Build::Dynamic(_)))
    })
}

impl Simulation<'_> {
    /// Lets the ends of connections run ahead of the clock that may; called with the flows of bulk data before they begin.
    pub(crate) fn run_ends_ahead(&mut self, bulk: &[usize]) {
        let plan = self.plan;
        let flows = bulk.iter().copied().filter(|&index| !is_foreign(&plan.flows[index]));
        self.ahead = self.network.look_ahead(plan, flows);
    }

    /// A packet reaches an endpoint at `packet.at`, which the clock has not reached.
    #[allow(clippy::inline_always)] // part of the engine's loop
    #[inline(always)]
    pub(crate) fn deliver_ahead(&mut self, packet: &Packet, times: SampleTimes) {
        let (index, at) = (packet.flow(), packet.at);
        let connection = &mut self.connections[index];
        let network = &mut self.network;
        let first_timer = first_timer(network, index);
        let until = if packet.is_forward() { connection.receiver_free_until() } else { connection.sender_free_until() };
        if until < at {
            let plan = &self.plan.flows[connection.owner as usize];
            let link = network.events.source;
            let mut catch_up = CatchUp { network, plan, seed: self.seed, first_timer, times };
            if packet.is_forward() {
                catch_up.receiver(connection, at);
            } else {
                catch_up.sender(connection, at);
            }
            network.events.source = link;
        }
        connection.deliver(at, packet, network, &self.plan.flows);
        arm_end(connection, first_timer, &mut network.agenda, packet.is_forward());
    }

    /// The rows of the table `events`.
    pub(crate) fn take_events(&mut self) -> Vec<EventRow> {
        if self.ahead {
            self.network.events.take_ordered()
        } else {
            self.network.events.take()
        }
    }
}

/// What happens to an end between the packet before and the next one.
struct CatchUp<'a> {
    network: &'a mut Network,
    plan: &'a FlowPlan,
    seed: u64,
    /// The connection's first timer among the sources of events.
    first_timer: u32,
    times: SampleTimes,
}

impl CatchUp<'_> {
    /// The receiver's timers and samples before `at`. A sample shows what happened at its own time.
    #[cold]
    fn receiver(&mut self, connection: &mut Connection, at: Time) {
        loop {
            let (timer, sample) = (connection.receiver.timer(), connection.samples.receiver.due(self.times));
            if timer < at && timer <= sample {
                self.run(connection, RECEIVER, timer);
            } else if sample < at {
                connection.samples.receiver.keep(connection.receiver.delivered(), self.times);
            } else {
                connection.samples.receiver.wait(self.times);
                return;
            }
        }
    }

    /// The same of the sender and of the application that writes.
    #[cold]
    fn sender(&mut self, connection: &mut Connection, at: Time) {
        loop {
            let due = connection.due();
            let first = [SENDER, PACE, APPLICATION].into_iter().min_by_key(|&which| due[which]).unwrap_or(SENDER);
            let sample = connection.samples.sender.due(self.times);
            if due[first] < at && due[first] <= sample {
                self.run(connection, first, due[first]);
            } else if sample < at {
                connection.samples.sender.keep(SenderSample::of(&connection.sender), self.times);
            } else {
                connection.samples.sender.wait(self.times);
                return;
            }
        }
    }

    fn run(&mut self, connection: &mut Connection, which: usize, at: Time) {
        self.network.events.source = self.first_timer + which as u32;
        connection.on_timer(which, at, self.network, self.plan, self.seed);
    }
}
