//! The 802.11 media of a plan. Several links share a medium, with a queue for each sending node, or one for each access category.

use std::collections::BTreeMap;
use std::sync::Arc;

use cwndlab_network::aqm::{Discipline, QueuedPacket};
use cwndlab_network::random::{Purpose, Stream};
use cwndlab_network::wifi::phy::{dsss_airtime, Mode};
use cwndlab_network::wifi::{
    AccessCategory, AccessParameters, Beacon, Deferral, Edca, FrameOutcome, Medium, PathConfig, QueueConfig, Routed,
    Rules, NEVER,
};
use cwndlab_records::rows::StationRow;
use cwndlab_scenario::plan::{AccessPlan, EdcaPlan, MediumPlan, ModePlan, Plan, StandardPlan};
use cwndlab_units::{Duration, IndexVec, LinkId, Time};

use crate::build_links::limit;
use crate::link_snapshot::LinkSnapshot;
use crate::packet::Packet;

/// A medium and the links on it.
#[derive(Debug)]
pub(crate) struct WifiMedium {
    /// The medium: channel access, frames, stations.
    pub(crate) medium: Medium<Packet>,
    /// Its name.
    name: String,
    /// By link of the plan, its path on its medium.
    paths: Arc<IndexVec<LinkId, u32>>,
    /// Packets delivered with a CE mark, by path.
    marked: Vec<u64>,
    /// The node of each station.
    nodes: Vec<String>,
    /// The earliest entry on the agenda.
    armed: Time,
    /// Buffer for packets that have left the medium.
    pub(crate) taken: Vec<FrameOutcome<Packet>>,
}

fn mode(plan: ModePlan) -> Mode {
    match plan {
        ModePlan::Ofdm { mbps } => Mode::Ofdm { bits: u32::from(mbps) * 4 },
        ModePlan::Ht { mcs, streams, short_guard } => Mode::Ht { mcs, streams, short_guard },
    }
}

/// EDCA with the parameters of the plan in place of the defaults of an access category.
fn edca(plan: EdcaPlan, access: &AccessPlan, access_point: Option<u32>) -> Edca {
    let defaults = Edca::new(plan.dscp_mapping, access.cw_min, access.cw_max, access_point);
    let planned = |mut all: [AccessParameters; AccessCategory::COUNT]| {
        for (one, plan) in all.iter_mut().zip(plan.categories) {
            one.aifsn = plan.aifsn.unwrap_or(one.aifsn);
            one.cw_min = plan.cw_min.unwrap_or(one.cw_min);
            one.cw_max = plan.cw_max.unwrap_or(one.cw_max).max(one.cw_min);
            one.txop_limit = plan.txop_limit.unwrap_or(one.txop_limit);
        }
        all
    };
    Edca {
        stations: planned(defaults.stations),
        access_point: defaults.access_point.map(|(station, all)| (station, planned(all))),
        ..defaults
    }
}

fn rules(plan: &MediumPlan, stations: &BTreeMap<u32, u32>) -> Rules {
    let base = match plan.standard {
        StandardPlan::ErpOfdm if plan.edca.is_some() => Rules::erp_ofdm().with_qos(),
        StandardPlan::ErpOfdm => Rules::erp_ofdm(),
        StandardPlan::Ht => Rules::ht(),
    };
    let access_point = plan.access_point.and_then(|node| stations.get(&node).copied());
    Rules {
        slot: plan.access.slot,
        access: AccessParameters { cw_min: plan.access.cw_min, cw_max: plan.access.cw_max, ..base.access },
        short_attempts: plan.access.short_attempts,
        long_attempts: plan.access.long_attempts,
        rts_above: plan.access.rts_above.map(|bytes| bytes.0.min(u64::from(u32::MAX)) as u32),
        eifs_ack: plan.access.eifs.then(Rules::lowest_ack),
        aggregation: base.aggregation.filter(|_| plan.aggregation),
        deferral: if plan.keeps_turn { Deferral::Keeps } else { Deferral::Draws },
        edca: plan.edca.map(|one| edca(one, &plan.access, access_point)),
        beacon: plan.beacon.zip(access_point).map(|(beacon, station)| Beacon {
            station,
            interval: beacon.interval,
            airtime: dsss_airtime(beacon.bytes),
        }),
        ..base
    }
}

/// Builds the queue discipline of the sending node of a link, if it has one, for an access category.
type BuildQueue<'a> = &'a dyn Fn(LinkId, u32) -> Option<Box<dyn Discipline<Routed<Packet>>>>;

/// The media of the plan.
pub(crate) fn build(plan: &Plan, seed: u64, queue: BuildQueue<'_>) -> Vec<WifiMedium> {
    let mut links = vec![Vec::new(); plan.media.len()];
    let mut path_of: IndexVec<LinkId, u32> = vec![u32::MAX; plan.links.len()].into();
    for (id, one) in plan.links.enumerate() {
        if let Some(radio) = one.radio {
            let links = &mut links[radio.medium as usize];
            path_of[id] = links.len() as u32;
            links.push(id);
        }
    }
    let path_of = Arc::new(path_of);
    (0..).zip(&links).map(|(index, links)| build_medium(plan, index, links, seed, queue, &path_of)).collect()
}

/// The medium `index` of the plan, with these links. `paths` holds the path of every link.
fn build_medium(
    plan: &Plan,
    index: usize,
    links: &[LinkId],
    seed: u64,
    queue: BuildQueue<'_>,
    paths: &Arc<IndexVec<LinkId, u32>>,
) -> WifiMedium {
    let mut nodes = Vec::new();
    let mut queues = Vec::new();
    let categories = if plan.media[index].edca.is_some() { AccessCategory::COUNT as u32 } else { 1 };
    let mut station_of = BTreeMap::new();
    for &link in links {
        let one = &plan.links[link];
        station_of.entry(one.from).or_insert_with(|| {
            nodes.push(plan.nodes[one.from as usize].to_string());
            queues.extend((0..categories).map(|category| QueueConfig {
                limit: limit(one.capacity),
                counts_in_service: one.discipline.computed().unwrap_or_default().counts_in_service,
                discipline: queue(link, category),
            }));
            nodes.len() as u32 - 1
        });
    }
    let path = |&link: &LinkId| {
        let one = &plan.links[link];
        let radio = one.radio?;
        let to = station_of.get(&one.to).copied();
        Some(PathConfig { from: station_of[&one.from], to, mode: mode(radio.mode), error: radio.frame_error })
    };
    let path_configs: Vec<PathConfig> = links.iter().filter_map(path).collect();
    let stream = Stream::new(seed, Purpose::Medium, index as u64);
    WifiMedium {
        medium: Medium::new(rules(&plan.media[index], &station_of), queues, &path_configs, stream),
        name: plan.media[index].name.clone(),
        nodes,
        marked: vec![0; links.len()],
        paths: Arc::clone(paths),
        armed: NEVER,
        taken: Vec::new(),
    }
}

impl WifiMedium {
    /// Adds a packet to the queue of a link's sending node.
    #[allow(clippy::inline_always)] // its only caller is the event loop
    #[inline(always)]
    pub(crate) fn offer(
        &mut self,
        now: Time,
        link: LinkId,
        one: QueuedPacket<Packet>,
        dropped: &mut Vec<QueuedPacket<Packet>>,
    ) {
        self.medium.offer(now, self.paths[link], one, dropped);
    }

    /// The counters and the backlog of a link; `lost` counts the packets lost on the wire behind the medium.
    pub(crate) fn snapshot(&mut self, now: Time, link: LinkId, lost: u64) -> LinkSnapshot {
        self.medium.process_until(now);
        let path = self.paths[link];
        let totals = self.medium.path_totals(now, path);
        let (queue_packets, queue_bytes) = self.medium.path_backlog(now, path);
        let (packet_ns, byte_ns) = self.medium.path_integrals(now, path);
        let oldest = self.medium.path_oldest(path).filter(|_| queue_packets > 0);
        let age = oldest.map_or(Duration::ZERO, |since| now.saturating_since(since));
        LinkSnapshot {
            arrived: totals.accepted + totals.dropped,
            dropped: totals.dropped,
            lost: lost + totals.given_up,
            marked: self.marked[path as usize],
            sent_packets: totals.sent,
            sent_bytes: totals.sent_bytes,
            queue_packets,
            queue_bytes,
            packet_ns,
            byte_ns,
            carriable_bytes: None,
            age: Some(age),
        }
    }

    /// The maximum number of packets of a link in the queue of its sending node.
    pub(crate) fn max_queue_length(&self, link: LinkId) -> u64 {
        self.medium.path_max_queue_length(self.paths[link])
    }

    /// The time of a new entry on the agenda, if it precedes the earliest one.
    pub(crate) fn arm(&mut self) -> Option<Time> {
        let next = self.medium.next();
        (next < self.armed).then(|| {
            self.armed = next;
            next
        })
    }

    /// Advances the medium to `now`, unless its entry on the agenda is outdated. Appends packets that left it to
    /// `taken`. Returns the time of its next entry.
    #[allow(clippy::inline_always)] // its only caller is the event loop
    #[inline(always)]
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
        self.medium.process_until(now);
        self.medium.take(now, taken, dropped);
        self.arm()
    }

    /// Counts a packet that was delivered on `link` with a CE mark.
    pub(crate) fn count_mark(&mut self, link: LinkId) {
        self.marked[self.paths[link] as usize] += 1;
    }

    /// The airtime of each direction of each connection until `now`, by [`QueuedPacket::flow`].
    pub(crate) fn flow_airtimes(&mut self, now: Time) -> impl Iterator<Item = (u64, Duration)> + '_ {
        self.medium.process_until(now);
        self.medium.flow_airtimes()
    }

    /// Appends the counters of the stations at `now` to `rows`.
    pub(crate) fn stations(&mut self, now: Time, rows: &mut Vec<StationRow>) {
        self.medium.process_until(now);
        for (station, node) in (0..).zip(&self.nodes) {
            let counters = self.medium.counters(now, station);
            let (queue_packets, _) = self.medium.backlog(now, station);
            let (queue_packet_ns, _) = self.medium.integrals(now, station);
            rows.push(StationRow {
                time_ns: now.as_nanos(),
                medium: self.name.clone(),
                station: node.clone(),
                attempts: counters.attempts,
                failures: counters.failures,
                collisions: counters.collisions,
                frame_errors: counters.errors,
                given_up_packets: counters.given_up,
                sent_packets: counters.sent,
                sent_bytes: counters.sent_bytes,
                dropped_packets: counters.dropped,
                airtime_ns: counters.airtime_ns,
                queue_packets,
                queue_packet_ns: queue_packet_ns as f64,
                max_queue_packets: self.medium.max_queue_length(station),
            });
        }
    }
}
