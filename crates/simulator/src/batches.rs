//! Packets for many endpoints, sorted by connection.
//!
//! With thousands of flows the state of a connection is no longer in the cache when its next packet arrives. Where endpoints
//! may run ahead of the clock, the order in which different connections process their packets does not matter. The packets
//! that shared links forward within the minimum delay behind them are therefore collected, and each connection processes
//! those of its own together.

use cwndlab_path::division::{ByConnection, Division};
use cwndlab_path::packet::Packet;
use cwndlab_units::{Duration, EventSource, Time};

use crate::end_samples::SampleTimes;
use crate::simulation::Simulation;
use crate::stops::{Collects, RunState, Stop};

/// With fewer flows their state is in the cache, and sorting costs more than it saves.
const MIN_FLOWS: usize = 1000;
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
    pub(crate) fn of(simulation: &Simulation<'_>) -> Option<Self> {
        let plan = simulation.plan;
        if plan.flows.len() < MIN_FLOWS {
            return None;
        }
        // A packet that is forwarded before the next stop reaches its endpoint after it.
        let Division { arriving, .. } = simulation.division().filter(|division| division.arriving >= MIN_WINDOW)?;
        let next = Time::from_nanos(arriving.as_nanos() - 1);
        Some(Self { next, length: arriving, order: ByConnection::new(plan, plan.flows.len()) })
    }
}

impl Collects for Batches {
    #[inline]
    fn next(&self) -> Time {
        self.next
    }

    #[inline]
    fn collects(&self, _: Time) -> bool {
        true
    }

    fn take(
        &mut self,
        collected: &mut Vec<(EventSource, Packet)>,
        simulation: &mut Simulation<'_>,
        times: SampleTimes,
    ) {
        self.order.sort(collected);
        for (source, packet) in collected.drain(..) {
            simulation.network.events.source = source;
            simulation.deliver_ahead(&packet, times);
        }
    }

    fn stop(&mut self, reason: Stop, _: &mut RunState<'_, '_>) {
        if reason == Stop::Time {
            self.next += self.length;
        }
    }
}
