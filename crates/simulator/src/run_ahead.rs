//! Endpoints that process packets ahead of the clock; `cwndlab_path::look_ahead` defines the conditions.
//!
//! An endpoint processes its own events in order: before a packet it handles the timers that are due earlier, and takes
//! the samples that it passes. Its entries stay on the agenda. When they are reached and no timer is due, they are
//! rescheduled, like those of a timer that was postponed.

use cwndlab_control::Build;
use cwndlab_path::division::Division;
use cwndlab_path::network::Network;
use cwndlab_path::packet::Packet;
use cwndlab_path::timers::{APPLICATION, PACE, RECEIVER, SENDER};
use cwndlab_records::rows::EventRow;
use cwndlab_scenario::plan::FlowPlan;
use cwndlab_units::{ConnectionId, FlowId, Time};

use crate::applications::is_bulk;
use crate::connection::Connection;
use crate::end_samples::{SampleTimes, SenderSample};
use crate::simulation::{arm_end, Simulation};

/// The constructors of the parts of the flow's algorithm.
fn builds(plan: &FlowPlan) -> impl Iterator<Item = Build> + use<'_> {
    let parts =
        plan.algorithm.iter().flat_map(|one| [Some(&one.growth), one.slow_start.as_ref(), one.recovery.as_ref()]);
    parts.flatten().map(|part| part.spec.build)
}

/// Whether the algorithm is user-defined code, which may share state between flows and then depends on the order of
/// calls.
fn is_user_defined(plan: &FlowPlan) -> bool {
    builds(plan).any(|build| matches!(build, Build::Dynamic(make) if make.may_share_state()))
}

/// Whether all parts of the algorithm are of the library. Others are built by the thread that begins the run.
fn is_built_in(plan: &FlowPlan) -> bool {
    plan.constructor.is_none() && builds(plan).all(|build| !matches!(build, Build::Dynamic(_)))
}

impl Simulation<'_> {
    /// Enables look-ahead for endpoints of bulk-data flows, where possible; called before the flows start.
    pub(crate) fn run_ends_ahead(&mut self, bulk: &[FlowId]) {
        let plan = self.plan;
        // Several flows that are decided from outside may share a decider as well.
        let several = plan.flows.iter().filter(|flow| flow.constructor.is_some()).nth(1).is_some();
        let shares = |flow: &FlowPlan| is_user_defined(flow) || several && flow.constructor.is_some();
        let flows = bulk.iter().copied().filter(|&flow| !shares(&plan.flows[flow]));
        self.ahead = self.network.look_ahead(plan, flows);
    }

    /// How the run is divided into shared links and endpoints; `None` if it cannot be.
    pub(crate) fn division(&self) -> Option<Division> {
        let flows = &self.plan.flows;
        let independent =
            flows.iter().all(|flow| is_bulk(flow) && is_built_in(flow) && flow.saved_parameters.is_none());
        independent.then(|| self.network.division(self.plan)).flatten()
    }

    /// Delivers a packet to an endpoint at `packet.at`, ahead of the clock.
    #[allow(clippy::inline_always)] // part of the engine's loop
    #[inline(always)]
    pub(crate) fn deliver_ahead(&mut self, packet: &Packet, times: SampleTimes) {
        let id = packet.connection();
        let at = packet.at;
        let connection = &mut self.connections[id];
        let until = if packet.is_forward() { connection.receiver_free_until() } else { connection.sender_free_until() };
        if until < at {
            self.catch_up(at, id, packet.is_forward(), times);
        }
        let connection = &mut self.connections[id];
        let network = &mut self.network;
        connection.deliver(at, packet, network, &self.plan.flows);
        arm_end(connection, id, network, packet.is_forward());
    }

    /// Processes the timers and samples of an endpoint before `at`.
    #[cold]
    pub(crate) fn catch_up(&mut self, at: Time, id: ConnectionId, receiver: bool, times: SampleTimes) {
        let connection = &mut self.connections[id];
        let network = &mut self.network;
        let plan = &self.plan.flows[connection.owner];
        let source = network.events.source;
        let mut catch_up = CatchUp { network, plan, seed: self.seed, id, times };
        if receiver {
            catch_up.receiver(connection, at);
        } else {
            catch_up.sender(connection, at);
        }
        self.network.events.source = source;
    }

    /// Removes and returns the rows of the table `events`.
    pub(crate) fn take_events(&mut self) -> Vec<EventRow> {
        if self.ahead {
            self.network.events.take_ordered()
        } else {
            self.network.events.take()
        }
    }
}

/// Processes the timers and samples of an endpoint between two packets.
struct CatchUp<'a> {
    network: &'a mut Network,
    plan: &'a FlowPlan,
    seed: u64,
    /// The connection.
    id: ConnectionId,
    times: SampleTimes,
}

impl CatchUp<'_> {
    /// Processes the receiver's timers and samples before `at`. A sample includes timers of the same time.
    #[cold]
    fn receiver(&mut self, connection: &mut Connection, at: Time) {
        loop {
            let timer = connection.receiver.timer();
            let sample = connection.samples.receiver.due(self.times);
            if timer < at && timer <= sample {
                self.run_timer(connection, RECEIVER, timer);
            } else if sample < at {
                connection.samples.receiver.store(connection.receiver.delivered(), self.times);
            } else {
                connection.samples.receiver.advance_to_due(self.times);
                return;
            }
        }
    }

    /// Processes the timers and samples of the sender and its application before `at`.
    #[cold]
    fn sender(&mut self, connection: &mut Connection, at: Time) {
        loop {
            let due = connection.due();
            let timer = due[SENDER].min(due[PACE]).min(due[APPLICATION]);
            let sample = connection.samples.sender.due(self.times);
            if timer < at && timer <= sample {
                let first = [SENDER, PACE].into_iter().find(|&which| due[which] == timer).unwrap_or(APPLICATION);
                self.run_timer(connection, first, timer);
            } else if sample < at {
                connection.samples.sender.store(SenderSample::of(&connection.sender), self.times);
            } else {
                connection.samples.sender.advance_to_due(self.times);
                return;
            }
        }
    }

    fn run_timer(&mut self, connection: &mut Connection, which: usize, at: Time) {
        self.network.events.source = self.network.sources.timer(self.id, which);
        connection.on_timer(which, at, self.network, self.plan, self.seed);
    }
}
