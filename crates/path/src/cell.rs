//! The cells of LTE and NR of a plan: a server for each, which several links share.

use std::sync::Arc;

use cwndlab_network::aqm::{Discipline, Fifo, QueuedPacket};
use cwndlab_network::cell::{BearerConfig, Cell, CellEvent, CellEventKind, NEVER};
use cwndlab_network::random::{Purpose, Stream};
use cwndlab_network::wifi::FrameOutcome;
use cwndlab_records::rows::{CellUserRow, LinkEventRow};
use cwndlab_scenario::plan::{LinkPlan, Plan, UserChannelPlan};
use cwndlab_units::{Duration, IndexVec, LinkId, Time};

use crate::build_links::limit;
use crate::link_snapshot::LinkSnapshot;
use crate::packet::Packet;

/// A cell and the links on it.
#[derive(Debug)]
pub(crate) struct CellServer {
    pub(crate) cell: Cell<Packet>,
    name: String,
    /// By bearer, its link, its direction and the name of its user.
    links: Vec<(LinkId, &'static str, String)>,
    /// By link of the plan, its bearer.
    bearers: Arc<IndexVec<LinkId, u32>>,
    /// Packets delivered with a CE mark, by bearer.
    marked: Vec<u64>,
    /// The earliest entry on the agenda.
    armed: Time,
    /// Buffer for packets that have left the cell.
    pub(crate) taken: Vec<FrameOutcome<Packet>>,
}

/// Builds the queue discipline of a link, if it has one.
type BuildQueue<'a> = &'a dyn Fn(LinkId) -> Option<Box<dyn Discipline<Packet>>>;

/// The cells of the plan.
pub(crate) fn build(plan: &Plan, seed: u64, queue: BuildQueue<'_>) -> Vec<CellServer> {
    let mut links = vec![Vec::new(); plan.cells.len()];
    let mut bearers: IndexVec<LinkId, u32> = vec![u32::MAX; plan.links.len()].into();
    for (id, one) in plan.links.enumerate() {
        if let Some(channel) = one.cell {
            let links = &mut links[channel.cell as usize];
            bearers[id] = links.len() as u32;
            links.push((id, channel));
        }
    }
    let bearers = Arc::new(bearers);
    (0..).zip(&links).map(|(index, links)| build_cell(plan, index, links, seed, queue, &bearers)).collect()
}

fn build_cell(
    plan: &Plan,
    index: usize,
    links: &[(LinkId, UserChannelPlan)],
    seed: u64,
    queue: BuildQueue<'_>,
    bearers: &Arc<IndexVec<LinkId, u32>>,
) -> CellServer {
    let mut users: Vec<u32> = Vec::new();
    let mut configs = Vec::new();
    let mut names = Vec::new();
    for &(id, channel) in links {
        let link = &plan.links[id];
        let node = if channel.uplink { link.from } else { link.to };
        let user = users.iter().position(|&user| user == node).unwrap_or_else(|| {
            users.push(node);
            users.len() - 1
        });
        let direction = if channel.uplink { "uplink" } else { "downlink" };
        names.push((id, direction, plan.nodes[node as usize].to_string()));
        let stream = Stream::of_part(seed, Purpose::Cell, 1, id.into());
        configs.push(bearer(link, channel, user as u32, queue(id), stream));
    }
    let plan = &plan.cells[index];
    let random = Stream::new(seed, Purpose::Cell, index as u64);
    CellServer {
        marked: vec![0; configs.len()],
        cell: Cell::new(plan.configuration.clone(), users.len() as u32, configs, random),
        name: plan.name.clone(),
        links: names,
        bearers: Arc::clone(bearers),
        armed: NEVER,
        taken: Vec::new(),
    }
}

fn bearer(
    link: &LinkPlan,
    channel: UserChannelPlan,
    user: u32,
    discipline: Option<Box<dyn Discipline<Packet>>>,
    stream: Stream,
) -> BearerConfig<Packet> {
    let computed = link.discipline.computed().unwrap_or_default();
    let queue = discipline.unwrap_or_else(|| Box::new(Fifo::new(limit(link.capacity), computed.counts_in_service)));
    let steps = &link.schedule.steps;
    let mut snr_db = vec![(Duration::ZERO, channel.snr_db)];
    snr_db.extend(steps.iter().filter_map(|step| Some((step.at, step.snr?))));
    BearerConfig {
        user,
        uplink: channel.uplink,
        queue,
        mark_above: computed.mark_above,
        snr_db,
        handovers: steps.iter().filter_map(|step| Some((step.at, step.handover?))).collect(),
        repeat: link.schedule.repeat,
        fading: channel.fading,
        stream,
    }
}

impl CellServer {
    /// Adds a packet to the queue of a link.
    pub(crate) fn offer(
        &mut self,
        now: Time,
        link: LinkId,
        one: QueuedPacket<Packet>,
        dropped: &mut Vec<QueuedPacket<Packet>>,
    ) {
        self.cell.offer(now, self.bearers[link], one, dropped);
    }

    /// The time of the next entry on the agenda, if it precedes the earliest one.
    pub(crate) fn arm(&mut self) -> Option<Time> {
        let next = self.cell.next();
        (next < self.armed).then(|| {
            self.armed = next;
            next
        })
    }

    /// Processes the TTI at `now`, unless its entry on the agenda is outdated. Appends packets that left the cell to
    /// `taken`. Returns the time of its next entry.
    pub(crate) fn serve(
        &mut self,
        now: Time,
        taken: &mut Vec<FrameOutcome<Packet>>,
        dropped: &mut Vec<QueuedPacket<Packet>>,
    ) -> Option<Time> {
        if self.armed != now {
            return None;
        }
        self.armed = NEVER;
        self.cell.process(now, taken, dropped);
        self.arm()
    }

    /// Counts a packet that was delivered on `link` with a CE mark.
    pub(crate) fn count_mark(&mut self, link: LinkId) {
        self.marked[self.bearers[link] as usize] += 1;
    }

    /// The counters and the backlog of a link; `lost` counts the packets lost on the wire behind the cell.
    pub(crate) fn snapshot(&mut self, now: Time, link: LinkId, lost: u64) -> LinkSnapshot {
        let bearer = self.bearers[link];
        let counters = self.cell.counters(bearer);
        let (queue_packets, queue_bytes) = self.cell.held(bearer);
        let (packet_ns, byte_ns) = self.cell.integrals(now, bearer);
        let age = self.cell.oldest(bearer).map_or(Duration::ZERO, |since| now.saturating_since(since));
        LinkSnapshot {
            arrived: counters.offered,
            dropped: counters.dropped,
            lost: lost + counters.lost,
            marked: self.marked[bearer as usize],
            sent_packets: counters.sent,
            sent_bytes: counters.sent_bytes,
            queue_packets,
            queue_bytes,
            packet_ns,
            byte_ns,
            carriable_bytes: None,
            age: Some(age),
        }
    }

    /// The maximum number of packets of a link.
    pub(crate) fn max_queue_length(&self, link: LinkId) -> u64 {
        self.cell.counters(self.bearers[link]).max_packets
    }

    /// Appends the counters of the users at `now` to `rows`.
    pub(crate) fn users(&self, now: Time, rows: &mut Vec<CellUserRow>) {
        for (bearer, (link, direction, user)) in (0..).zip(&self.links) {
            let counters = self.cell.counters(bearer);
            rows.push(CellUserRow {
                time_ns: now.as_nanos(),
                cell: self.name.clone(),
                user: user.clone(),
                link: (*link).into(),
                direction,
                resource_blocks: counters.resource_blocks,
                transport_blocks: counters.transport_blocks,
                failed_blocks: counters.failed_blocks,
                harq_retransmissions: counters.harq_retransmissions,
                rlc_retransmissions: counters.rlc_retransmissions,
                lost_packets: counters.lost,
                scheduling_requests: counters.requests,
                promotions: counters.promotions,
                handovers: counters.handovers,
                cqi: (counters.cqi > 0).then_some(u64::from(counters.cqi)),
            });
        }
    }

    /// Appends the events so far to `rows`.
    pub(crate) fn take_events(&mut self, rows: &mut Vec<LinkEventRow>) {
        rows.extend(self.cell.take_events().into_iter().map(|CellEvent { time, bearer, kind, duration }| {
            LinkEventRow {
                time_ns: time.as_nanos(),
                link: self.links[bearer as usize].0.into(),
                kind: match kind {
                    CellEventKind::Handover => "handover",
                    CellEventKind::Promotion => "promotion",
                },
                duration_ns: duration.as_nanos(),
            }
        }));
    }
}
