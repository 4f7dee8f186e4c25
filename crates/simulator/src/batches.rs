//! Packets for many endpoints, sorted by connection.
//!
//! With thousands of flows the state of a connection is no longer in the cache when its next packet arrives. Where endpoints
//! may run ahead of the clock, the order in which different connections process their packets does not matter. The packets
//! that shared links forward within the minimum delay behind them are therefore collected, and each connection processes
//! those of its own together.

use cwndlab_path::division::{ByConnection, Division};
use cwndlab_path::network::Network;
use cwndlab_path::packet::Packet;
use cwndlab_units::{Duration, Time};

use crate::end_samples::SampleTimes;
use crate::simulation::Simulation;
use crate::stops::{Collects, RunState, Stop};

/// With fewer flows their state is in the cache, and sorting costs more than it saves.
pub(crate) const MIN_FLOWS: usize = 1000;
/// In a shorter window there are few packets: the stop costs more than sorting them saves.
const MIN_WINDOW: Duration = Duration::from_millis(1);

/// Stops of the clock at which the collected packets are processed.
pub(crate) struct Batches {
    /// The last time before the next stop.
    next: Time,
    length: Duration,
    order: ByConnection,
}

impl Batches {
    /// The stops for this plan; `None` if they would not help.
    pub(crate) fn of(simulation: &mut Simulation<'_>) -> Option<Self> {
        let plan = simulation.plan;
        if plan.flows.len() < MIN_FLOWS {
            return None;
        }
        // A packet that is forwarded before the next stop reaches its endpoint after it.
        let division = simulation.division().filter(|division| division.arriving >= MIN_WINDOW)?;
        simulation.network.leave_routes_early(&division);
        simulation.network.sort_arrivals(&division);
        let Division { arriving, .. } = division;
        let next = Time::from_nanos(arriving.as_nanos() - 1);
        Some(Self { next, length: arriving, order: ByConnection::new(plan, plan.flows.len()) })
    }
}

impl Collects for Batches {
    const SORTS: bool = true;

    #[inline]
    fn next(&self) -> Time {
        self.next
    }

    #[inline]
    fn collects(&self, _: Time) -> bool {
        true
    }

    fn take(&mut self, collected: &mut Vec<Packet>, simulation: &mut Simulation<'_>, times: SampleTimes) {
        self.order.sort(collected);
        let ask = |network: &Network, packet: &Packet| network.options.prefetch(packet);
        deliver(collected, simulation, times, ask, |_, packet| packet);
        collected.clear();
    }

    fn stop(&mut self, reason: Stop, _: &mut RunState<'_, '_>) {
        if reason == Stop::Time {
            self.next += self.length;
        }
    }
}

/// Delivers packets from shared links to their endpoints, in this order. `ask` asks for the options of a packet, and `adopt`
/// returns it with its options in the simulation's network.
pub(crate) fn deliver(
    packets: &[Packet],
    simulation: &mut Simulation<'_>,
    times: SampleTimes,
    ask: impl Fn(&Network, &Packet),
    adopt: impl Fn(&mut Network, Packet) -> Packet,
) {
    for (index, &packet) in packets.iter().enumerate() {
        prefetch(packets, index, simulation);
        if let Some(packet) = packets.get(index + 3) {
            ask(&simulation.network, packet);
        }
        let mut packet = adopt(&mut simulation.network, packet);
        if simulation.network.finish_route(&mut packet) {
            simulation.deliver_ahead(&packet, times);
        }
    }
}

/// Asks for what the packets after that with this index need, in the order in which one place names the next. Packets
/// that reach one endpoint in a row need the same.
#[inline]
fn prefetch(packets: &[Packet], index: usize, simulation: &Simulation<'_>) {
    let Simulation { connections, network, .. } = simulation;
    let endpoint = |packet: &Packet| (packet.tag(), packet.is_forward());
    let first_of = |ahead: usize| {
        let packet = packets.get(index + ahead)?;
        (endpoint(packet) != endpoint(&packets[index + ahead - 1])).then_some(packet)
    };
    if let Some(packet) = first_of(12) {
        connections.prefetch(packet.connection());
        network.prefetch_route(packet);
    }
    if let Some(packet) = first_of(8) {
        network.prefetch_hops(packet);
    }
    if let Some(packet) = first_of(4) {
        connections.prefetch_state(packet.connection(), packet.is_forward());
        network.prefetch_links(packet);
    }
    if let Some(packet) = first_of(2) {
        connections.prefetch_rest(packet.connection(), packet.is_forward());
    }
}
