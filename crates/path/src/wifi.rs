//! The 802.11 media of a plan. Several links share a medium, with a queue for each sending node, or one for each access
//! category. All media with a channel are one neighbourhood.

use std::collections::BTreeMap;
use std::sync::Arc;

use cwndlab_network::aqm::{Discipline, QueuedPacket};
use cwndlab_network::queue::Limit;
use cwndlab_network::random::{Purpose, Stream};
use cwndlab_network::wifi::neighbourhood::{Channel, Neighbourhood, Radio, RateControl};
use cwndlab_network::wifi::phy::{dsss_airtime, Mode, ACK_BYTES, CF_END_BYTES};
use cwndlab_network::wifi::{
    AccessCategory, AccessParameters, Beacon, Deferral, Edca, FrameOutcome, Medium, PathConfig, QueueConfig, Routed,
    Rules, Stations, NEVER,
};
use cwndlab_records::rows::StationRow;
use cwndlab_scenario::plan::{
    AccessPlan, ChannelPlan, EdcaPlan, MediumPlan, NeighbourhoodPlan, Plan, RateAdaptation, StandardPlan,
};
use cwndlab_units::{Duration, FlowId, IndexVec, LinkId, Time};

use crate::build_links::limit;
use crate::lifetimes::Lifetimes;
use crate::link_snapshot::LinkSnapshot;
use crate::medium_time;
use crate::packet::Packet;

/// The stations of a medium, or of all media with a channel.
#[allow(clippy::large_enum_variant, reason = "its owner is in a box")]
#[derive(Debug)]
enum Air {
    /// Stations that all receive each other.
    Medium(Medium<Packet>),
    /// Stations that receive each other by their powers.
    Neighbourhood(Neighbourhood<Packet>),
}

/// Calls a method that both kinds of [`Air`] have.
macro_rules! either {
    ($air:expr, $one:ident => $call:expr) => {
        match $air {
            Air::Medium($one) => $call,
            Air::Neighbourhood($one) => $call,
        }
    };
}

/// A medium, or the neighbourhood, and the links on it.
#[derive(Debug)]
pub(crate) struct WifiMedium {
    /// Channel access, frames, stations.
    air: Air,
    /// By link of the plan, its path on its medium.
    paths: Arc<IndexVec<LinkId, u32>>,
    /// Packets delivered with a CE mark, by path.
    marked: Vec<u64>,
    /// The medium and the node of each station.
    names: Vec<(String, String)>,
    /// By link and flow, the category of packets without admitted medium time.
    downgraded: Downgraded,
    /// The earliest entry on the agenda.
    armed: Time,
    /// Buffer for packets that have left the medium.
    pub(crate) taken: Vec<FrameOutcome<Packet>>,
}

/// The airtime of a frame at the lowest rate of the band: 1 Mbit/s, or 6 Mbit/s at 5 GHz, which has no DSSS.
fn lowest_airtime(at_5_ghz: bool, bytes: u32) -> Duration {
    if at_5_ghz {
        Mode::Ofdm { bits: 24 }.airtime(bytes)
    } else {
        dsss_airtime(bytes)
    }
}

/// EDCA with the parameters of the plan in place of the defaults of an access category.
fn edca(plan: EdcaPlan, access: &AccessPlan, access_point: Option<u32>, at_5_ghz: bool) -> Edca {
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
        protection: plan.protection,
        cf_end: lowest_airtime(at_5_ghz, CF_END_BYTES),
        ..defaults
    }
}

fn rules(plan: &MediumPlan, stations: &BTreeMap<u32, u32>) -> Rules {
    let base = match plan.standard {
        StandardPlan::ErpOfdm if plan.edca.is_some() => Rules::erp_ofdm().with_qos(),
        StandardPlan::ErpOfdm => Rules::erp_ofdm(),
        StandardPlan::Ht => Rules::ht(),
        StandardPlan::Vht => Rules::vht(),
        StandardPlan::He => Rules::he(),
    };
    let access_point = plan.access_point.and_then(|node| stations.get(&node).copied());
    let at_5_ghz = plan.channel.is_some_and(|channel| channel.number > 13) || plan.standard == StandardPlan::Vht;
    let lowest = |bytes| lowest_airtime(at_5_ghz, bytes);
    Rules {
        slot: plan.access.slot,
        access: AccessParameters { cw_min: plan.access.cw_min, cw_max: plan.access.cw_max, ..base.access },
        short_attempts: plan.access.short_attempts,
        long_attempts: plan.access.long_attempts,
        rts_above: plan.access.rts_above.map(|bytes| bytes.0.min(u64::from(u32::MAX)) as u32),
        eifs_ack: plan.access.eifs.then(|| lowest(ACK_BYTES)),
        aggregation: base.aggregation.filter(|_| plan.aggregation),
        block_ack_request: plan.channel.is_some_and(|channel| channel.block_ack_request),
        lifetime: plan.channel.and_then(|channel| channel.lifetime),
        power_save: plan.channel.and_then(|channel| channel.power_save),
        energy_detection_dbm: plan.channel.map_or(base.energy_detection_dbm, |channel| channel.energy_detection),
        deferral: if plan.keeps_turn { Deferral::Keeps } else { Deferral::Draws },
        edca: plan.edca.map(|one| edca(one, &plan.access, access_point, at_5_ghz)),
        beacon: plan.beacon.zip(access_point).map(|(beacon, station)| Beacon {
            station,
            interval: beacon.interval,
            airtime: lowest(beacon.bytes),
            bytes: beacon.bytes,
        }),
        ..base
    }
}

/// Builds the queue discipline of the sending node of a link, if it has one, for an access category.
type BuildQueue<'a> = &'a dyn Fn(LinkId, u32) -> Option<Box<dyn Discipline<Routed<Packet>>>>;

/// The media of the plan, and the index of that of each medium: those with a channel are one neighbourhood.
pub(crate) fn build(plan: &Plan, seed: u64, queue: BuildQueue<'_>) -> (Vec<WifiMedium>, Vec<u32>) {
    let mut links: Vec<Vec<LinkId>> = Vec::new();
    let mut firsts = Vec::new();
    let mut neighbourhood = None;
    let mut index_of = Vec::new();
    for (number, medium) in plan.media.iter().enumerate() {
        let known = neighbourhood.filter(|_| medium.channel.is_some());
        let index = known.unwrap_or(links.len() as u32);
        if known.is_none() {
            links.push(Vec::new());
            firsts.push(number);
            neighbourhood = neighbourhood.or(medium.channel.map(|_| index));
        }
        index_of.push(index);
    }
    let mut path_of: IndexVec<LinkId, u32> = vec![u32::MAX; plan.links.len()].into();
    for (id, one) in plan.links.enumerate() {
        if let Some(radio) = one.radio {
            let links = &mut links[index_of[radio.medium as usize] as usize];
            path_of[id] = links.len() as u32;
            links.push(id);
        }
    }
    let paths = Arc::new(path_of);
    let media = firsts.iter().zip(&links).map(|(&first, links)| {
        let stream = Stream::new(seed, Purpose::Medium, first as u64);
        let (air, stations) = match &plan.neighbourhood {
            Some(all) if plan.media[first].channel.is_some() => {
                (Air::Neighbourhood(build_neighbourhood(plan, all, links, queue, stream)), all.stations.clone())
            }
            _ => {
                let (medium, nodes) = build_medium(plan, first, links, queue, stream);
                (Air::Medium(medium), nodes.into_iter().map(|node| (first as u32, node)).collect())
            }
        };
        let name = |&(medium, node): &(u32, u32)| {
            (plan.media[medium as usize].name.clone(), plan.nodes[node as usize].to_string())
        };
        WifiMedium {
            air,
            names: stations.iter().map(name).collect(),
            marked: vec![0; links.len()],
            paths: Arc::clone(&paths),
            downgraded: downgraded(plan, seed),
            armed: NEVER,
            taken: Vec::new(),
        }
    });
    (media.collect(), index_of)
}

/// By link and flow, the category of the packets of flows without admitted medium time in this run.
type Downgraded = Option<Box<BTreeMap<(LinkId, FlowId), AccessCategory>>>;

fn downgraded(plan: &Plan, seed: u64) -> Downgraded {
    if !medium_time::is_controlled(plan) {
        return None;
    }
    let all = medium_time::categories(plan, &Lifetimes::new(plan, seed).downgraded);
    (!all.is_empty()).then(|| Box::new(all))
}

/// The queues of the sending node of a link, one for each access category.
fn queues<'a>(
    plan: &'a Plan,
    link: LinkId,
    categories: usize,
    queue: BuildQueue<'a>,
) -> impl Iterator<Item = QueueConfig<Packet>> + 'a {
    let one = &plan.links[link];
    let computed = one.discipline.computed().unwrap_or_default();
    (0..categories as u32).map(move |category| QueueConfig {
        limit: limit(one.capacity),
        counts_in_service: computed.counts_in_service,
        mark_above: computed.mark_above,
        discipline: queue(link, category),
    })
}

/// The medium `index` of the plan, with these links, and the node of each station.
fn build_medium(
    plan: &Plan,
    index: usize,
    links: &[LinkId],
    queue: BuildQueue<'_>,
    stream: Stream,
) -> (Medium<Packet>, Vec<u32>) {
    let mut nodes = Vec::new();
    let mut all_queues = Vec::new();
    let categories = if plan.media[index].edca.is_some() { AccessCategory::COUNT } else { 1 };
    let mut station_of = BTreeMap::new();
    for &link in links {
        let from = plan.links[link].from;
        station_of.entry(from).or_insert_with(|| {
            nodes.push(from);
            all_queues.extend(queues(plan, link, categories, queue));
            nodes.len() as u32 - 1
        });
    }
    let path = |&link: &LinkId| {
        let one = &plan.links[link];
        let radio = one.radio?;
        let to = station_of.get(&one.to).copied();
        Some(PathConfig { from: station_of[&one.from], to, mode: radio.mode, error: radio.frame_error })
    };
    let paths: Vec<PathConfig> = links.iter().filter_map(path).collect();
    (Medium::new(rules(&plan.media[index], &station_of), all_queues, &paths, stream), nodes)
}

/// The stations of all media with a channel, with these links.
fn build_neighbourhood(
    plan: &Plan,
    all: &NeighbourhoodPlan,
    links: &[LinkId],
    queue: BuildQueue<'_>,
    stream: Stream,
) -> Neighbourhood<Packet> {
    let stations: BTreeMap<(u32, u32), u32> = all.stations.iter().copied().zip(0..).collect();
    let on = |medium: u32| {
        let on = stations.range((medium, 0)..=(medium, u32::MAX));
        on.map(|(&(_, node), &station)| (node, station)).collect::<BTreeMap<_, _>>()
    };
    let rules = plan.media.iter().zip(0..).map(|(medium, index)| rules(medium, &on(index)));
    let rules: Vec<Rules> = rules.collect();
    let categories = if plan.media.iter().any(|one| one.channel.is_some() && one.edca.is_some()) {
        AccessCategory::COUNT
    } else {
        1
    };
    let paths = links.iter().filter_map(|&link| {
        let one = &plan.links[link];
        let radio = one.radio?;
        let station = |node| stations[&(radio.medium, node)];
        let control = match plan.media[radio.medium as usize].channel?.rate_adaptation {
            RateAdaptation::Fixed => RateControl::Fixed,
            RateAdaptation::Ideal => RateControl::Ideal,
            RateAdaptation::Minstrel => RateControl::Minstrel,
        };
        let (from, to, mode) = (station(one.from), Some(station(one.to)), radio.mode);
        Some((PathConfig { from, to, mode, error: radio.frame_error }, control))
    });
    let paths: Vec<(PathConfig, RateControl)> = paths.collect();
    let mut all_queues = Vec::new();
    for station in 0..all.stations.len() as u32 {
        match paths.iter().position(|path| path.0.from == station) {
            Some(path) => all_queues.extend(queues(plan, links[path], categories, queue)),
            None => all_queues.extend((0..categories).map(|_| QueueConfig::drop_tail(Limit::Unlimited, true))),
        }
    }
    let channel = |&(medium, _): &(u32, u32)| {
        let ChannelPlan { number, width_mhz, .. } = plan.media[medium as usize].channel?;
        Some(Channel { number, width_mhz: u32::from(width_mhz) })
    };
    let channels: Vec<Channel> = all.stations.iter().filter_map(channel).collect();
    let media: Vec<u32> = all.stations.iter().map(|station| station.0).collect();
    Neighbourhood::new(rules, &media, Radio::new(&all.received_dbm, &channels), all_queues, &paths, stream)
}

impl WifiMedium {
    /// Adds a packet to the queue of a link's sending node.
    #[allow(clippy::inline_always)] // its only caller is the event loop
    #[inline(always)]
    pub(crate) fn offer(
        &mut self,
        now: Time,
        link: LinkId,
        flow: FlowId,
        mut one: QueuedPacket<Packet>,
        dropped: &mut Vec<QueuedPacket<Packet>>,
    ) {
        let path = self.paths[link];
        if let Some(category) = self.downgraded.as_ref().and_then(|all| all.get(&(link, flow))) {
            one.dscp = category.example(); // on this medium only: the next queue has the flow's
        }
        either!(&mut self.air, air => air.offer(now, path, one, dropped));
    }

    /// The counters and the backlog of a link; `lost` counts the packets lost on the wire behind the medium.
    pub(crate) fn snapshot(&mut self, now: Time, link: LinkId, lost: u64) -> LinkSnapshot {
        either!(&mut self.air, air => air.process_until(now));
        let path = self.paths[link];
        let stations = self.stations();
        let totals = stations.path_totals(now, path);
        let (queue_packets, queue_bytes) = stations.path_backlog(now, path);
        let (packet_ns, byte_ns) = stations.path_integrals(now, path);
        let held = match &self.air {
            Air::Neighbourhood(all) => all.held_since(path),
            Air::Medium(_) => None,
        };
        let oldest = [stations.path_oldest(path).filter(|_| queue_packets > 0), held].into_iter().flatten().min();
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
        self.stations().path_max_queue_length(self.paths[link])
    }

    /// The time of a new entry on the agenda, if it precedes the earliest one.
    pub(crate) fn arm(&mut self) -> Option<Time> {
        let next = either!(&self.air, air => air.next());
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
        either!(&mut self.air, air => {
            air.process_until(now);
            air.take(now, taken, dropped);
        });
        self.arm()
    }

    /// Counts a packet that was delivered on `link` with a CE mark.
    pub(crate) fn count_mark(&mut self, link: LinkId) {
        self.marked[self.paths[link] as usize] += 1;
    }

    /// The airtime of each direction of each connection until `now`, by [`QueuedPacket::flow`].
    pub(crate) fn flow_airtimes(&mut self, now: Time) -> impl Iterator<Item = (u64, Duration)> + '_ {
        either!(&mut self.air, air => air.process_until(now));
        self.stations().flow_airtimes()
    }

    /// Memory in use, bytes.
    pub(crate) fn memory(&self) -> usize {
        self.stations().memory()
    }

    fn stations(&self) -> &Stations<Packet> {
        either!(&self.air, air => air.stations())
    }

    /// Appends the counters of the stations at `now` to `rows`.
    pub(crate) fn station_rows(&mut self, now: Time, rows: &mut Vec<StationRow>) {
        either!(&mut self.air, air => air.process_until(now));
        let stations = self.stations();
        for (station, (medium, node)) in (0..).zip(&self.names) {
            let counters = stations.counters(now, station);
            let mut row = StationRow {
                time_ns: now.as_nanos(),
                medium: medium.clone(),
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
                queue_packets: stations.backlog(now, station).0,
                queue_packet_ns: stations.integrals(now, station).0 as f64,
                max_queue_packets: stations.max_queue_length(station),
                ..StationRow::default()
            };
            if let Air::Neighbourhood(all) = &self.air {
                let (causes, busy) = (all.loss_causes(station), all.busy_times(now, station));
                row.same_slot_failures = Some(causes.same_slot);
                row.hidden_failures = Some(causes.hidden);
                row.noise_failures = Some(causes.noise);
                row.sending_ns = Some(busy.sending.as_nanos());
                row.receiving_ns = Some(busy.receiving.as_nanos());
                row.overheard_ns = Some(busy.overheard.as_nanos());
                row.energy_ns = Some(busy.energy.as_nanos());
            }
            rows.push(row);
        }
    }
}
