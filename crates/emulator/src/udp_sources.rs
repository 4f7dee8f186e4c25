//! Flows over UDP: sources and sinks of `traffic`, run by the path's thread without sockets. Their packets share the
//! queues with those of the kernel's TCP.

use cwndlab_path::losses::Losses;
use cwndlab_path::network::Network;
use cwndlab_path::packet::{Packet, Tag};
use cwndlab_path::start_times::start_times;
use cwndlab_records::declaration::fitting;
use cwndlab_records::rows::{FlowRow, SampleRow};
use cwndlab_scenario::plan::{FlowPlan, Plan};
use cwndlab_traffic::application::ApplicationKind;
use cwndlab_traffic::datagrams::Datagrams;
use cwndlab_traffic::{Application, NEVER};
use cwndlab_units::{ConnectionId, Duration, FlowId, IndexVec, Time};

/// The UDP sources of a plan, by flow.
#[derive(Debug, Default)]
pub struct UdpSources {
    by_flow: IndexVec<FlowId, Option<Source>>,
    /// Time of the next packet; the largest time where none is scheduled.
    pub next: Time,
}

#[derive(Debug)]
struct Source {
    datagrams: Datagrams,
    start: Time,
    next: Time,
    stop: Time,
}

impl UdpSources {
    /// No sources.
    #[must_use]
    pub fn none() -> Self {
        Self { by_flow: IndexVec::default(), next: NEVER }
    }

    /// The sources of a plan.
    #[must_use]
    pub fn from_plan(plan: &Plan, seed: u64) -> Self {
        let duplicates = plan.links.iter().any(|link| link.duplicate > 0.0);
        let by_flow = plan.flows.enumerate().zip(start_times(plan, seed)).map(|((flow, one), start)| {
            if one.workload.application_kind() != ApplicationKind::Datagrams {
                return None; // its endpoints have its application
            }
            let stop = Time::from_nanos(one.stop.map_or(plan.duration, |stop| stop.min(plan.duration)).as_nanos());
            let application = one.workload.application(&one.context(flow, seed, stop));
            let Application::Datagrams(mut datagrams) = application else { return None };
            if duplicates {
                datagrams.expect_duplicates();
            }
            Some(Source { datagrams, start, next: start.min(stop), stop })
        });
        let mut sources = Self { by_flow: by_flow.collect(), next: Time::ZERO };
        sources.update_next();
        sources
    }

    fn update_next(&mut self) {
        self.next = self.by_flow.iter().flatten().map(|one| one.next).min().unwrap_or(NEVER);
    }

    /// Whether the connection is that of a UDP source, so that its packets are not the kernel's.
    #[must_use]
    pub fn has(&self, connection: ConnectionId) -> bool {
        self.by_flow.get(connection.index()).is_some_and(Option::is_some)
    }

    /// Sends the packets of the source with the earliest due time.
    pub fn send(&mut self, network: &mut Network) {
        let now = self.next;
        let due = self.by_flow.ids().zip(&mut self.by_flow).find_map(|(flow, one)| {
            let one = one.as_mut().filter(|one| one.next == now)?;
            Some((flow, one))
        });
        if let Some((flow, one)) = due {
            one.next = if now >= one.stop {
                NEVER
            } else {
                let tag = Tag::new(flow.into(), 0);
                let send = |datagram| network.forward(now, Packet::datagram(tag, now, &datagram));
                one.datagrams.send(now, send).min(one.stop)
            };
        }
        self.update_next();
    }

    /// Counts a packet that reached its sink.
    pub fn receive(&mut self, at: Time, packet: &Packet) {
        if let Some(Some(one)) = self.by_flow.get_mut(packet.connection().index()) {
            one.datagrams.receive(at, packet.timestamp, packet.seq, packet.payload());
        }
    }

    /// A sample of the flow; `None` before the start of its source, or without one.
    #[must_use]
    pub fn sample(&self, time: Time, flow: FlowId, losses: Losses) -> Option<SampleRow> {
        let one = self.by_flow.get(flow.index())?.as_ref().filter(|one| one.start <= time)?;
        let delays = one.datagrams.delays;
        Some(SampleRow {
            time_ns: time.as_nanos(),
            flow: flow.into(),
            delivered_bytes: one.datagrams.received_bytes.0,
            sent_bytes: one.datagrams.sent_bytes.0,
            queue_drops: losses.queue,
            wire_losses: losses.wire,
            delay_ns: (delays.count > 0).then_some(delays.last.as_nanos()),
            delay_sum_ns: fitting(delays.sum),
            delay_count: Some(delays.count),
            jitter_ns: Some(delays.jitter().as_nanos()),
            ..SampleRow::default()
        })
    }

    /// The totals of the flow; `None` without a UDP source.
    #[must_use]
    pub fn row(&self, flow: FlowId, plan: &FlowPlan, losses: Losses) -> Option<FlowRow> {
        let one = self.by_flow.get(flow.index())?.as_ref()?;
        let count = &one.datagrams;
        let delays = one.datagrams.delays;
        let measured = |delay: Duration| (delays.count > 0).then_some(delay.as_nanos());
        Some(FlowRow {
            flow: flow.into(),
            name: plan.name.to_string(),
            algorithm: plan.algorithm_text.to_string(),
            profile: plan.profile.to_string(),
            mss_bytes: plan.stack.mss.0,
            base_rtt_ns: plan.base_rtt.as_nanos(),
            start_ns: one.start.as_nanos(),
            end_ns: (one.next == NEVER).then_some(one.stop.as_nanos()),
            delivered_bytes: one.datagrams.received_bytes.0,
            sent_bytes: count.sent_bytes.0,
            wire_bytes: count.sent_bytes.0 + count.sent_packets * plan.stack.header.0,
            sent_packets: count.sent_packets,
            queue_drops: losses.queue,
            wire_losses: losses.wire,
            min_delay_ns: measured(delays.min),
            mean_delay_ns: delays.mean().map(Duration::as_nanos),
            max_delay_ns: measured(delays.max),
            jitter_ns: measured(delays.jitter()),
            route: plan.route_text(),
            ..FlowRow::default()
        })
    }
}
