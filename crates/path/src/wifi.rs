//! The 802.11 media of a plan: several links share one, with a queue for each sending node.

use cwndlab_network::aqm::{Discipline, Waiting};
use cwndlab_network::random::Stream;
use cwndlab_network::wifi::phy::{dsss_airtime, Mode};
use cwndlab_network::wifi::{Beacon, Deferral, Medium, PathConfig, Routed, Rules, StationConfig, NEVER};
use cwndlab_records::rows::StationRow;
use cwndlab_scenario::plan::{MediumPlan, ModePlan, Plan, StandardPlan};
use cwndlab_units::Time;

use crate::build_links::limit;
use crate::link_snapshot::LinkSnapshot;
use crate::packet::Packet;

/// Purpose of the random stream of a medium.
const MEDIUM_STREAM: u64 = 6;

/// A medium and the links on it.
#[derive(Debug)]
pub(crate) struct WifiMedium {
    /// The medium: channel access, frames, stations.
    pub(crate) medium: Medium<Packet>,
    /// Its name.
    name: String,
    /// By link of the plan: its path, if it is on this medium.
    paths: Vec<u32>,
    /// Packets delivered with a mark, by path.
    marked: Vec<u64>,
    /// The node of each station.
    nodes: Vec<String>,
    /// Its earliest entry on the agenda.
    armed: Time,
}

fn mode(plan: ModePlan) -> Mode {
    match plan {
        ModePlan::Ofdm { mbps } => Mode::Ofdm { bits: u32::from(mbps) * 4 },
        ModePlan::Ht { mcs, streams, short_guard } => Mode::Ht { mcs, streams, short_guard },
    }
}

fn rules(plan: &MediumPlan, nodes: &[u32]) -> Rules {
    let base = match plan.standard {
        StandardPlan::ErpOfdm => Rules::erp_ofdm(),
        StandardPlan::Ht => Rules::ht(),
    };
    Rules {
        slot: plan.slot,
        cw_min: plan.windows.0,
        cw_max: plan.windows.1,
        short_attempts: plan.attempts.0,
        long_attempts: plan.attempts.1,
        rts_above: plan.rts_above.map(|bytes| bytes.0.min(u64::from(u32::MAX)) as u32),
        eifs_ack: plan.eifs.then(Rules::lowest_ack),
        aggregation: base.aggregation.filter(|_| plan.aggregation),
        deferral: if plan.keeps_turn { Deferral::Keeps } else { Deferral::Draws },
        beacon: plan.beacon.and_then(|(node, beacon)| {
            let station = nodes.iter().position(|&one| one == node)? as u32;
            Some(Beacon { station, interval: beacon.interval, airtime: dsss_airtime(beacon.bytes) })
        }),
        ..base
    }
}

/// The medium number `index` of the plan, and the path of each link that is on it.
pub(crate) fn build(
    plan: &Plan,
    index: usize,
    seed: u64,
    discipline: impl Fn(u32) -> Option<Box<dyn Discipline<Routed<Packet>>>>,
) -> WifiMedium {
    let on_medium = |link: &u32| plan.links[*link as usize].radio.is_some_and(|radio| radio.medium as usize == index);
    let links: Vec<u32> = (0..plan.links.len() as u32).filter(on_medium).collect();
    let (mut nodes, mut stations, mut paths) = (Vec::new(), Vec::new(), Vec::new());
    for &link in &links {
        let one = &plan.links[link as usize];
        if !nodes.contains(&one.from) {
            nodes.push(one.from);
            stations.push(StationConfig {
                limit: limit(one.capacity),
                counts_in_service: one.discipline.computed().unwrap_or_default().counts_in_service,
                discipline: discipline(link),
            });
        }
    }
    let station = |node: u32| nodes.iter().position(|&one| one == node).map(|at| at as u32);
    for &link in &links {
        let one = &plan.links[link as usize];
        let (Some(radio), Some(from)) = (one.radio, station(one.from)) else { continue };
        paths.push(PathConfig { from, to: station(one.to), mode: mode(radio.mode), error: radio.frame_error });
    }
    let mut path_of = vec![u32::MAX; plan.links.len()];
    for (path, &link) in (0..).zip(&links) {
        path_of[link as usize] = path;
    }
    let chance = Stream::new(seed, MEDIUM_STREAM, index as u64);
    WifiMedium {
        medium: Medium::new(rules(&plan.media[index], &nodes), stations, &paths, chance),
        name: plan.media[index].name.clone(),
        nodes: nodes.iter().map(|&node| plan.nodes[node as usize].to_string()).collect(),
        marked: vec![0; links.len()],
        paths: path_of,
        armed: NEVER,
    }
}

impl WifiMedium {
    /// Adds a packet to the queue of a link's node.
    pub(crate) fn offer(&mut self, now: Time, link: u32, one: Waiting<Packet>, dropped: &mut Vec<Waiting<Packet>>) {
        self.medium.offer(now, self.paths[link as usize], one, dropped);
    }

    /// The counters and the backlog of a link; `lost` counts the packets lost on the wire behind the medium.
    pub(crate) fn snapshot(&mut self, now: Time, link: u32, lost: u64) -> LinkSnapshot {
        self.medium.settle(now);
        let path = self.paths[link as usize];
        let totals = self.medium.path_totals(now, path);
        let (queue_packets, queue_bytes) = self.medium.path_backlog(now, path);
        let (packet_ns, byte_ns) = self.medium.path_integrals(now, path);
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
            most: self.medium.path_most(path),
            offered_bytes: None,
        }
    }

    /// The time at which the medium needs an entry on the agenda, if that is before its earliest one there.
    pub(crate) fn arm(&mut self) -> Option<Time> {
        let next = self.medium.next();
        (next < self.armed).then(|| {
            self.armed = next;
            next
        })
    }

    /// Advances the medium to `now`; `false` if its entry on the agenda is out of date.
    pub(crate) fn start_service(&mut self, now: Time) -> bool {
        if self.armed != now {
            return false;
        }
        self.armed = NEVER;
        self.medium.settle(now);
        true
    }

    /// Counts the mark of a packet delivered on `link`.
    pub(crate) fn count_delivery(&mut self, link: u32, marked: bool) {
        self.marked[self.paths[link as usize] as usize] += u64::from(marked);
    }

    /// Adds the counters of the stations at `now` to `rows`.
    pub(crate) fn stations(&mut self, now: Time, rows: &mut Vec<StationRow>) {
        self.medium.settle(now);
        for (station, node) in (0..).zip(&self.nodes) {
            let counters = self.medium.counters(now, station);
            let (queue_packets, _) = self.medium.backlog(now, station);
            let (queue_packet_ns, _) = self.medium.integrals(now, station);
            rows.push(StationRow {
                time_ns: now.0,
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
                max_queue_packets: self.medium.most(station),
            });
        }
    }
}
