//! Links whose packets leave by event: a discipline and a line each.

use cwndlab_network::discipline::{Codel, CodelConfig, Codepoint, Discipline, Waiting};
use cwndlab_network::link::Passage;
use cwndlab_network::served::Served;
use cwndlab_scenario::plan::{DisciplinePlan, LinkPlan, Plan};

use crate::packet::{Packet, CE, DATA, ECT};
use crate::world::{limit, World};

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
}

impl Server {
    /// Memory held, bytes.
    pub(crate) fn memory(&self) -> usize {
        match self {
            Self::Line { served, .. } => served.memory(),
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
    pub packet_ns: u64,
    /// Integral over time of their bytes.
    pub byte_ns: u64,
    /// The most packets that ever waited.
    pub most: u64,
}

/// The servers, and the server of each link.
pub(crate) fn build(plan: &Plan, _seed: u64) -> (Vec<Server>, Vec<u32>) {
    let mut servers = Vec::new();
    let server_of = plan
        .links
        .iter()
        .enumerate()
        .map(|(index, link)| {
            // Without a rate nothing ever waits, and no discipline has anything to decide.
            let (Some(rate), Some(queue)) = (link.rate, discipline(link)) else { return COMPUTED };
            servers.push(Server::Line { link: index as u32, served: Box::new(Served::new(queue, rate)) });
            servers.len() as u32 - 1
        })
        .collect();
    (servers, server_of)
}

fn discipline(link: &LinkPlan) -> Option<Box<dyn Discipline<Packet>>> {
    let capacity = limit(link.queue.capacity);
    match link.queue.discipline {
        DisciplinePlan::DropTail => None,
        DisciplinePlan::Codel { target, interval, ecn } => {
            let config = CodelConfig { target: target.0, interval: interval.0, ecn, mtu: 1500 };
            Some(Box::new(Codel::new(config, capacity)))
        }
    }
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
        };
        if let Some(at) = next {
            self.agenda.push(at, self.first_server + server);
        }
        self.bury(link);
    }

    /// The agenda's top is this server's moment.
    pub(crate) fn serve(&mut self, now: u64, server: u32) {
        let Server::Line { link, served } = &mut self.servers[server as usize];
        let link = *link;
        let woken = served.wake(now, &mut self.gone);
        match woken.next {
            Some(at) => self.agenda.replace_top(at, self.first_server + server),
            None => self.agenda.pop(),
        }
        self.bury(link);
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
        let passage = self.links[link as usize].cross(now, packet.kind() == DATA, one.marked);
        if let Some(packet) = self.across(one.since, link, hop.last, packet, passage) {
            self.onward(hop, packet);
        }
    }

    /// Writes down what a discipline dropped.
    pub(crate) fn bury(&mut self, link: u32) {
        while let Some(one) = self.gone.pop() {
            self.record(one.since, link, one.packet, Passage::Dropped);
            self.lose(one.packet, Passage::Dropped);
        }
    }

    /// How long the link is still busy with what it holds, ns.
    pub(crate) fn backlog_time(&self, now: u64, link: u32) -> u64 {
        match self.servers.get(self.server_of[link as usize] as usize) {
            Some(Server::Line { served, .. }) => served.backlog_time(now),
            None => self.links[link as usize].backlog_time(now),
        }
    }

    /// What the link counts and holds at `now`.
    pub fn look(&mut self, now: u64, index: usize) -> Look {
        let link = &mut self.links[index];
        let lost = link.totals.lost;
        if let Some(Server::Line { served, .. }) = self.servers.get_mut(self.server_of[index] as usize) {
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
            };
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
            most: link.most_waiting(),
        }
    }
}
