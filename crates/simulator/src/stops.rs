//! Stops of a run: times at which it is suspended, and the state that can be read there.

use cwndlab_path::link_snapshot::LinkSnapshot;
#[cfg(doc)]
use cwndlab_path::network::Network;
use cwndlab_path::packet::Packet;
use cwndlab_traffic::NEVER;
use cwndlab_units::{Bytes, ConnectionId, Duration, FlowId, LinkId, SenderState, Time};

use crate::end_samples::SampleTimes;
use crate::simulation::Simulation;

/// The reason of a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The time of the next stop is reached.
    Time,
    /// The run is complete.
    End,
    /// Several thousand events were processed since the last stop of this kind.
    Check,
}

/// Suspends a run.
pub trait Stops {
    /// Time of the next stop; `Time::MAX` if there is none. It may change only while the run is suspended.
    fn next(&self) -> Time;

    /// The run has stopped and continues after the return. At [`Stop::Time`] all events up to this time are processed,
    /// and afterwards the next stop is later.
    fn stop(&mut self, reason: Stop, state: &mut RunState<'_, '_>);
}

/// Stops as the engine has them, and what becomes of the packets that it delivers ahead of the clock.
pub(crate) trait Collects {
    /// Whether packets of endpoints reach shared links sorted by time ([`Network::sort_arrivals`]).
    const SORTS: bool = false;

    /// As [`Stops::next`].
    fn next(&self) -> Time;

    /// Whether a packet that reaches its endpoint at `at` is collected until the next stop.
    fn collects(&self, at: Time) -> bool;

    /// Processes collected packets before [`stop`](Self::stop) at [`Stop::Time`]. The engine
    /// delivers those that remain.
    fn take(&mut self, _collected: &mut Vec<Packet>, _: &mut Simulation<'_>, _: SampleTimes) {}

    /// As [`Stops::stop`].
    fn stop(&mut self, reason: Stop, state: &mut RunState<'_, '_>);
}

impl<S: Stops> Collects for S {
    #[inline]
    fn next(&self) -> Time {
        Stops::next(self)
    }

    #[inline]
    fn collects(&self, at: Time) -> bool {
        at > Stops::next(self)
    }

    fn stop(&mut self, reason: Stop, state: &mut RunState<'_, '_>) {
        Stops::stop(self, reason, state);
    }
}

/// No stops.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoStops;

impl Stops for NoStops {
    #[inline]
    fn next(&self) -> Time {
        NEVER
    }

    fn stop(&mut self, _: Stop, _: &mut RunState<'_, '_>) {}
}

/// The state of a suspended run.
pub struct RunState<'s, 'p> {
    simulation: &'s mut Simulation<'p>,
    now: Time,
}

/// The state of a flow.
#[derive(Clone, Copy, Debug)]
pub struct FlowState {
    /// The state of its sender.
    pub sender: SenderState,
    /// The minimum RTT of the connection; `None` before the first sample.
    pub min_rtt: Option<Duration>,
    /// Payload delivered to the receiver in order.
    pub delivered: Bytes,
    /// Packets of the flow that queues dropped, and that wires lost.
    pub losses: (u64, u64),
    /// The slowest sampled link of the forward route, and its state.
    pub bottleneck: Option<(LinkId, LinkSnapshot)>,
}

impl<'s, 'p> RunState<'s, 'p> {
    /// The state of `simulation` at `now`.
    pub(crate) fn new(simulation: &'s mut Simulation<'p>, now: Time) -> Self {
        Self { simulation, now }
    }

    /// The state of the run.
    pub(crate) fn simulation(&mut self) -> &mut Simulation<'p> {
        self.simulation
    }

    /// Time of the stop.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// The state of a flow of the plan; `None` before its start.
    pub fn flow(&mut self, flow: FlowId) -> Option<FlowState> {
        let now = self.now;
        let simulation = &mut *self.simulation;
        let first = ConnectionId::from(flow);
        if simulation.connections.start(first).is_some() {
            return None;
        }
        simulation.network.count_losses_until(now);
        let plan = simulation.plan;
        let sampled = plan.flows[flow].forward.iter().copied().filter(|&link| plan.links[link].sampled);
        let slowest = sampled.min_by_key(|&link| plan.links[link].rate.map_or(u64::MAX, |rate| rate.0));
        let network = &mut simulation.network;
        let bottleneck = slowest.map(|link| (link, network.link_snapshot(now, link, &plan.links[link])));
        let losses = network.losses[first];
        let connection = &simulation.connections[first];
        let min = connection.sender.rtt().min_ever();
        Some(FlowState {
            sender: connection.sender.state(),
            min_rtt: (min < Duration::MAX).then_some(min),
            delivered: connection.receiver.delivered(),
            losses: (losses.queue, losses.wire),
            bottleneck,
        })
    }
}
