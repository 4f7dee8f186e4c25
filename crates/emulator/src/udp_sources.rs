//! Flows over UDP: sources and sinks of `traffic`, run by the path's thread without sockets. Their packets share the
//! queues with those of the kernel's TCP.

use cwndlab_path::application_rows;
use cwndlab_path::lifetimes::{Lifetime, Lifetimes};
use cwndlab_path::losses::Losses;
use cwndlab_path::network::Network;
use cwndlab_path::packet::{Packet, Tag};
use cwndlab_path::stack_rows;
use cwndlab_records::declaration::fitting;
use cwndlab_records::rows::{FlowRow, SampleRow};
use cwndlab_scenario::plan::{FlowPlan, Plan};
use cwndlab_traffic as traffic;
use cwndlab_traffic::application::ApplicationKind;
use cwndlab_traffic::datagrams::{Datagram, DatagramCounters, Datagrams};
use cwndlab_traffic::dialogue::End;
use cwndlab_traffic::exchange::{DatagramExchange, ReceivedDatagram, StackReport};
use cwndlab_traffic::NEVER;
use cwndlab_units::{ConnectionId, Duration, Fault, FlowId, IndexVec, Time};

use crate::endpoints::connection::FlowState;
use crate::inbox::Inboxes;
use crate::locking::lock;

/// The UDP sources of a plan, by flow.
#[derive(Debug, Default)]
pub struct UdpSources {
    by_flow: IndexVec<FlowId, Option<Source>>,
    /// The flows of the connections in the opposite direction, which have the indices after those of the flows.
    backward: Vec<FlowId>,
    /// Time of the next packet; the largest time where none is scheduled.
    pub next: Time,
}

#[derive(Debug)]
struct Source {
    application: Application,
    start: Time,
    next: Time,
    stop: Time,
}

impl Source {
    /// The end of the flow: that of an exchange, which may be later than its stop.
    fn end(&self) -> Option<Time> {
        match &self.application {
            Application::Datagrams(_) => Some(self.stop).filter(|&stop| stop != NEVER && self.next == NEVER),
            Application::Exchange(exchange, _) => exchange.ended(),
        }
    }
}

/// An application over UDP.
#[derive(Debug)]
enum Application {
    Datagrams(Box<Datagrams>),
    /// An exchange, and the connection of its direction from receiver to sender.
    Exchange(Box<DatagramExchange>, ConnectionId),
}

impl Application {
    fn counters(&self) -> &DatagramCounters {
        match self {
            Self::Datagrams(datagrams) => &datagrams.counters,
            Self::Exchange(exchange, _) => exchange.counters(),
        }
    }

    fn stacks(&self) -> Option<[&StackReport; 2]> {
        match self {
            Self::Datagrams(_) => None,
            Self::Exchange(exchange, _) => exchange.stacks(),
        }
    }
}

/// Sends the datagram `one` of an end of the exchange of `flow`.
fn forward(network: &mut Network, now: Time, flow: FlowId, backward: ConnectionId, from: End, one: &Datagram) {
    let connection = if from == End::Sender { flow.into() } else { backward };
    network.forward(now, Packet::datagram(Tag::new(connection, 0), now, one));
}

impl UdpSources {
    /// No sources.
    #[must_use]
    pub fn none() -> Self {
        Self { by_flow: IndexVec::default(), backward: Vec::new(), next: NEVER }
    }

    /// The sources of a plan, whose connections from receiver to sender are added to the network.
    #[must_use]
    pub fn from_plan(plan: &Plan, seed: u64, network: &mut Network) -> Self {
        let mut backward = Vec::new();
        let duplicates = plan.links.iter().any(|link| link.duplicate > 0.0);
        let lifetimes = Lifetimes::new(plan, seed);
        let by_flow = plan.flows.enumerate().zip(&lifetimes.of).map(|((flow, one), &Lifetime { start, stop })| {
            if !matches!(one.workload.application_kind(), ApplicationKind::Datagrams | ApplicationKind::Exchange) {
                return None; // its endpoints have its application
            }
            let application = match one.workload.application(&one.context(flow, seed, stop)) {
                traffic::Application::Datagrams(mut datagrams) => {
                    if duplicates {
                        datagrams.expect_duplicates();
                    }
                    if plan.keeps_messages(flow) {
                        datagrams.keep_messages();
                    }
                    Application::Datagrams(Box::new(datagrams))
                }
                traffic::Application::Exchange(mut exchange) => {
                    if plan.keeps_messages(flow) {
                        exchange.keep_messages();
                    }
                    backward.push(flow);
                    Application::Exchange(exchange, network.add_connection(flow, true))
                }
                _ => return None,
            };
            Some(Source { application, start, next: start, stop })
        });
        let by_flow = by_flow.collect();
        let mut sources = Self { by_flow, backward, next: Time::ZERO };
        sources.update_next();
        sources
    }

    fn update_next(&mut self) {
        self.next = self.by_flow.iter().flatten().map(|one| one.next).min().unwrap_or(NEVER);
    }

    /// Whether the connection is that of a UDP source, so that its packets are not the kernel's.
    #[must_use]
    pub fn has(&self, connection: ConnectionId) -> bool {
        self.source_of(connection).is_some()
    }

    /// The flow of a UDP source's connection, and the end at which its packets arrive.
    fn source_of(&self, connection: ConnectionId) -> Option<(FlowId, End)> {
        let index = connection.index();
        match index.checked_sub(self.by_flow.len()) {
            Some(behind) => Some((*self.backward.get(behind)?, End::Sender)),
            None => self.by_flow.get(index)?.as_ref().map(|_| (FlowId::from(index as u32), End::Receiver)),
        }
    }

    /// Sends the packets of the source with the earliest due time.
    pub fn send(&mut self, network: &mut Network) {
        let now = self.next;
        let due = self.by_flow.ids().zip(&mut self.by_flow).find_map(|(flow, one)| {
            let one = one.as_mut().filter(|one| one.next == now)?;
            Some((flow, one))
        });
        if let Some((flow, one)) = due {
            one.next = match &mut one.application {
                Application::Datagrams(_) if now >= one.stop => NEVER,
                Application::Datagrams(datagrams) => {
                    let tag = Tag::new(flow.into(), 0);
                    let send = |datagram| network.forward(now, Packet::datagram(tag, now, &datagram));
                    match datagrams.send(now, send) {
                        NEVER => NEVER,
                        next => next.min(one.stop),
                    }
                }
                // It ends by itself: what it sent before its stop may have to be sent again.
                Application::Exchange(exchange, backward) => {
                    exchange.on_timer(now, |from, datagram| forward(network, now, flow, *backward, from, &datagram));
                    exchange.due().max(now)
                }
            };
        }
        self.update_next();
    }

    /// Passes a packet on that reached its end.
    pub(crate) fn receive(&mut self, at: Time, packet: &Packet, network: &mut Network, inboxes: &Inboxes) {
        let Some((flow, end)) = self.source_of(packet.connection()) else { return };
        let Some(one) = &mut self.by_flow[flow] else { return };
        match &mut one.application {
            Application::Datagrams(datagrams) => {
                datagrams.receive(at, packet.timestamp, packet.seq, packet.payload());
            }
            Application::Exchange(exchange, backward) => {
                let datagram = ReceivedDatagram {
                    sent: packet.timestamp,
                    seq: packet.seq,
                    len: packet.payload(),
                    is_marked: packet.is_marked(),
                };
                exchange.receive(end, at, datagram, |from, one| forward(network, at, flow, *backward, from, &one));
                for (since, size) in exchange.delivered.drain(..) {
                    inboxes.forward(flow, since, size);
                }
                // What this datagram permits may have been due before, as by the pacing of a window that was full.
                one.next = exchange.due().max(at);
                self.update_next();
            }
        }
    }

    /// Why the run cannot go on.
    #[must_use]
    pub fn failure(&self) -> Option<Fault> {
        self.by_flow.iter().flatten().find_map(|one| match &one.application {
            Application::Datagrams(_) => None,
            Application::Exchange(exchange, _) => exchange.failure().cloned(),
        })
    }

    /// A sample of the flow; `None` before the start of its source, or without one.
    #[must_use]
    pub fn sample(&self, time: Time, flow: FlowId, losses: Losses) -> Option<SampleRow> {
        let one = self.by_flow.get(flow.index())?.as_ref().filter(|one| one.start <= time)?;
        let counters = one.application.counters();
        let delays = counters.delays;
        let mut row = SampleRow {
            time_ns: time.as_nanos(),
            flow: flow.into(),
            delivered_bytes: counters.received_bytes.0,
            sent_bytes: counters.sent_bytes.0,
            queue_drops: losses.queue,
            wire_losses: losses.wire,
            rtt_sum_ns: Some(0),
            delay_ns: (delays.count > 0).then_some(delays.last.as_nanos()),
            delay_sum_ns: fitting(delays.sum),
            delay_count: Some(delays.count),
            jitter_ns: Some(delays.jitter().as_nanos()),
            ..SampleRow::default()
        };
        if let Some(stacks) = one.application.stacks() {
            stack_rows::set_sample(&mut row, stacks);
        }
        Some(row)
    }

    /// Moves messages and transfers of the flow into the tables of a run.
    pub fn take_messages(&mut self, flow: FlowId, state: &FlowState) {
        let Some(Some(one)) = self.by_flow.get_mut(flow.index()) else { return };
        let messages = match &mut one.application {
            Application::Datagrams(datagrams) => datagrams.take_messages(),
            Application::Exchange(exchange, _) => {
                lock(&state.transfers).extend(application_rows::transfers(flow, exchange));
                exchange.take_messages()
            }
        };
        lock(&state.messages).extend(messages);
    }

    /// The totals of the flow; `None` without a UDP source.
    #[must_use]
    pub fn row(&self, flow: FlowId, plan: &FlowPlan, losses: Losses) -> Option<FlowRow> {
        let one = self.by_flow.get(flow.index())?.as_ref()?;
        let count = one.application.counters();
        let delays = count.delays;
        let measured = |delay: Duration| (delays.count > 0).then_some(delay.as_nanos());
        let mut row = FlowRow {
            flow: flow.into(),
            name: plan.name.to_string(),
            algorithm: plan.algorithm_text.to_string(),
            profile: plan.profile.to_string(),
            mss_bytes: plan.stack.mss.0,
            base_rtt_ns: plan.base_rtt.as_nanos(),
            start_ns: one.start.as_nanos(),
            end_ns: one.end().map(Time::as_nanos),
            delivered_bytes: count.received_bytes.0,
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
        };
        if let Some(stacks) = one.application.stacks() {
            stack_rows::set_totals(&mut row, stacks);
        }
        Some(row)
    }
}
