//! Links whose packets leave by event: a discipline and a line each.

use cwndlab_network::aqm::{Codepoint, Waiting};
use cwndlab_network::link::Passage;
use cwndlab_network::random::Stream;
use cwndlab_network::served::Served;
use cwndlab_records::rows::{LinkRow, LinkSampleRow};
use cwndlab_scenario::plan::{Capacity, LinkPlan, Plan};

use crate::air::{self, Air};
use crate::lines::{build_line, build_queue};
use crate::packet::{Packet, CE, DATA, ECT};
use crate::world::World;

/// Purpose of random streams.
const QUEUE_STREAM: u64 = 5;

/// In place of a server's number: the link's departures are computed on arrival.
pub(crate) const COMPUTED: u32 = u32::MAX;

/// What has an entry of its own on the agenda.
#[derive(Debug)]
pub(crate) enum Server {
    /// The line of one link.
    Line {
        /// The link.
        link: u32,
        /// Its queue and its line.
        served: Box<Served<Packet>>,
    },
    /// A medium that several links share.
    Air(Box<Air>),
}

impl Server {
    /// Memory held, bytes.
    pub(crate) fn memory(&self) -> usize {
        match self {
            Self::Line { served, .. } => served.memory(),
            Self::Air(air) => air.medium.memory(),
        }
    }
}

/// What a link counts and holds at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Packets offered.
    pub arrived: u64,
    /// Dropped by the queue.
    pub dropped: u64,
    /// Lost by the wire.
    pub lost: u64,
    /// Marked.
    pub marked: u64,
    /// Packets whose last bit left the line.
    pub sent_packets: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Packets that wait.
    pub queue_packets: u64,
    /// Their bytes.
    pub queue_bytes: u64,
    /// Integral over time of the packets that wait.
    pub packet_ns: u128,
    /// Integral over time of their bytes.
    pub byte_ns: u128,
    /// The most packets that ever waited.
    pub most: u64,
    /// Bytes that the line could have carried; nothing where there is no bound.
    pub offered_bytes: Option<u64>,
}

impl Look {
    /// As a sample of the link `plan`.
    #[must_use]
    pub fn row(&self, time_ns: u64, link: u32, plan: &LinkPlan) -> LinkSampleRow {
        LinkSampleRow {
            time_ns,
            link,
            queue_packets: self.queue_packets,
            queue_bytes: self.queue_bytes,
            arrived_packets: self.arrived,
            dropped_packets: self.dropped,
            lost_packets: self.lost,
            marked_packets: self.marked,
            sent_bytes: self.sent_bytes,
            queue_packet_ns: self.packet_ns as f64,
            queue_byte_ns: self.byte_ns as f64,
            carriable_bytes: self.offered_bytes.filter(|_| plan.varies()),
        }
    }
}

/// The servers, and the server of each link.
pub(crate) fn build(plan: &Plan, seed: u64) -> (Vec<Server>, Vec<u32>) {
    let mut servers: Vec<Server> = (0..plan.media.len())
        .map(|index| {
            let queue = |link: u32| {
                let plan = &plan.links[link as usize];
                build_queue(plan, plan.rate?, Stream::new(seed, QUEUE_STREAM, u64::from(link)))
            };
            Server::Air(Box::new(air::build(plan, index, seed, queue)))
        })
        .collect();
    let server_of = plan
        .links
        .iter()
        .enumerate()
        .map(|(index, link)| {
            if let Some(radio) = link.radio {
                return radio.medium;
            }
            // Without a rate nothing ever waits, and no discipline has anything to decide.
            let Some(rate) = link.rate else { return COMPUTED };
            let stream = Stream::new(seed, QUEUE_STREAM, index as u64);
            let Some(queue) = build_queue(link, rate, stream) else { return COMPUTED };
            servers.push(Server::Line {
                link: index as u32,
                served: Box::new(Served::new(queue, build_line(link), rate)),
            });
            servers.len() as u32 - 1
        })
        .collect();
    (servers, server_of)
}

/// Bytes sent, of those that the line could have carried.
fn utilisation(plan: &LinkPlan, look: &Look, span: f64) -> f64 {
    let Some(rate) = plan.rate else { return 0.0 };
    if !plan.varies() {
        return look.sent_bytes as f64 * 8e9 / (rate.0 as f64 * span);
    }
    // A line that rested all the time could have carried nothing.
    look.offered_bytes.filter(|&offered| offered > 0).map_or(0.0, |offered| look.sent_bytes as f64 / offered as f64)
}

impl World {
    /// A packet joins the queue of a link that serves by event.
    pub(crate) fn queue(&mut self, now: u64, link: u32, packet: Packet) {
        let server = self.server_of[link as usize];
        let ecn = match packet.flags & ECT != 0 && packet.kind() == DATA {
            true if self.scalable[packet.flow()] => Codepoint::Scalable,
            true => Codepoint::Classic,
            false => Codepoint::NotCapable,
        };
        let one = Waiting {
            since: now,
            size: u32::from(packet.size),
            flow: u64::from(packet.flow) << 1 | u64::from(packet.is_forward()),
            ecn,
            marked: false,
            packet,
        };
        let next = match &mut self.servers[server as usize] {
            Server::Line { served, .. } => served.offer(now, one, &mut self.gone),
            Server::Air(air) => {
                air.offer(now, link, one, &mut self.gone);
                self.bury();
                self.arm_air(server);
                return;
            }
        };
        if let Some(at) = next {
            self.agenda.push(at, self.first_server + server);
        }
        self.bury();
    }

    /// The agenda's top is this server's moment.
    pub(crate) fn serve(&mut self, now: u64, server: u32) {
        let Server::Line { link, served } = &mut self.servers[server as usize] else {
            self.serve_air(now, server);
            return;
        };
        let link = *link;
        let woken = served.wake(now, &mut self.gone);
        match woken.next {
            Some(at) => self.agenda.replace_top(at, self.first_server + server),
            None => self.agenda.pop(),
        }
        self.bury();
        if let Some(one) = woken.sent {
            self.emerge(now, link, one);
        }
    }

    /// The last bit of a packet left the line.
    pub(crate) fn emerge(&mut self, now: u64, link: u32, one: Waiting<Packet>) {
        let mut packet = one.packet;
        if one.marked {
            packet.flags |= CE;
        }
        let hop = self.hop(&packet);
        let passage = self.links[link as usize].cross(now, now, packet.kind() == DATA, one.marked);
        if let Some(packet) = self.across(one.since, link, hop.is_last(), packet, passage) {
            self.onward(hop, packet);
        }
    }

    /// Writes down what a discipline dropped.
    pub(crate) fn bury(&mut self) {
        while let Some(one) = self.gone.pop() {
            let link = self.hop(&one.packet).link;
            self.record(one.since, link, one.packet, Passage::Dropped);
            self.lose(self.clock, one.packet, Passage::Dropped);
        }
    }

    /// How long the link is still busy with what it holds, ns.
    pub(crate) fn backlog_time(&self, now: u64, link: u32) -> u64 {
        match self.servers.get(self.server_of[link as usize] as usize) {
            Some(Server::Line { served, .. }) => served.backlog_time(now),
            // No agent stands on a medium, and nobody else asks.
            Some(Server::Air(_)) => 0,
            None => self.links[link as usize].backlog_time(now),
        }
    }

    /// Totals of every link at `end`.
    pub fn link_rows(&mut self, plan: &Plan, end: u64) -> Vec<LinkRow> {
        let span = end.max(1) as f64;
        let mut rows = Vec::with_capacity(plan.links.len());
        for (index, link) in plan.links.iter().enumerate() {
            let look = self.look(end, index);
            let (capacity_packets, capacity_bytes) = match link.queue.capacity {
                Capacity::Unlimited => (None, None),
                Capacity::Packets(n) => (Some(u64::from(n)), None),
                Capacity::Bytes(n) => (None, Some(n.0)),
            };
            rows.push(LinkRow {
                link: index as u32,
                name: link.name.clone(),
                rate_bps: link.rate.map(|rate| rate.0),
                delay_ns: link.delay.0,
                capacity_packets,
                capacity_bytes,
                arrived_packets: look.arrived,
                dropped_packets: look.dropped,
                lost_packets: look.lost,
                marked_packets: look.marked,
                sent_packets: look.sent_packets,
                sent_bytes: look.sent_bytes,
                mean_queue_packets: look.packet_ns as f64 / span,
                mean_queue_bytes: look.byte_ns as f64 / span,
                max_queue_packets: look.most,
                utilisation: utilisation(link, &look, span),
                carriable_bytes: look.offered_bytes.filter(|_| link.varies()),
            });
        }
        rows
    }

    /// What the link counts and holds at `now`.
    pub fn look(&mut self, now: u64, index: usize) -> Look {
        self.settle(index);
        let link = &mut self.links[index];
        let lost = link.lost(now);
        match self.servers.get_mut(self.server_of[index] as usize) {
            Some(Server::Air(air)) => return air.look(now, index as u32, lost),
            Some(Server::Line { served, .. }) => {
                let (queue_packets, queue_bytes) = served.backlog();
                let (packet_ns, byte_ns) = served.integrals(now);
                return Look {
                    arrived: served.offered,
                    dropped: served.dropped,
                    lost,
                    marked: served.marked,
                    sent_packets: served.sent,
                    sent_bytes: served.sent_bytes,
                    queue_packets,
                    queue_bytes,
                    packet_ns,
                    byte_ns,
                    most: served.most,
                    offered_bytes: served.offered_bytes(now),
                };
            }
            None => {}
        }
        let (queue_packets, queue_bytes) = link.backlog(now);
        let (packet_ns, byte_ns) = link.integrals(now);
        let (sent_packets, sent_bytes) = link.sent(now);
        Look {
            arrived: link.totals.arrived(),
            dropped: link.totals.dropped,
            lost,
            marked: link.totals.marked,
            sent_packets,
            sent_bytes,
            queue_packets,
            queue_bytes,
            packet_ns,
            byte_ns,
            most: link.most_waiting(now),
            offered_bytes: link.offered(now),
        }
    }
}
