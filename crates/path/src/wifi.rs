//! The 802.11 media of a plan. Several links share a medium, with a queue for each sending node, or one for each access category.

use std::collections::BTreeMap;
use std::sync::Arc;

use cwndlab_network::aqm::{Discipline, QueuedPacket};
use cwndlab_network::queue::Limit;
use cwndlab_network::random::{Purpose, Stream};
use cwndlab_network::wifi::neighbourhood::radio::ENERGY_DBM;
use cwndlab_network::wifi::neighbourhood::{self, Channel, NeighbourPathConfig, Neighbourhood, RateControl};
use cwndlab_network::wifi::phy::{dsss_airtime, Mode};
use cwndlab_network::wifi::{
    AccessCategory, AccessParameters, Beacon, Counters, Deferral, Edca, FrameOutcome, Medium, PathConfig, PathTotals,
    QueueConfig, Routed, Rules, NEVER,
};
use cwndlab_records::rows::StationRow;
use cwndlab_scenario::plan::{AccessPlan, AdaptationPlan, EdcaPlan, MediumPlan, ModePlan, Plan, StandardPlan};
use cwndlab_units::{Duration, IndexVec, LinkId, Time};

use crate::build_links::limit;
use crate::link_snapshot::LinkSnapshot;
use crate::packet::Packet;

/// Channel access, frames and stations: of a cell whose stations all receive each other, or of a neighbourhood.
#[derive(Debug)]
pub(crate) enum Air {
    /// A cell.
    Cell(Medium<Packet>),
    /// All cells with a channel.
    Neighbourhood(Neighbourhood<Packet>),
}

/// Calls a method of either.
macro_rules! either {
    ($air:expr, $one:ident => $call:expr) => {
        match $air {
            Air::Cell($one) => $call,
            Air::Neighbourhood($one) => $call,
        }
    };
}

impl Air {
    /// Memory in use, bytes.
    pub(crate) fn memory(&self) -> usize {
        either!(self, air => air.memory())
    }

    fn path_totals(&self, now: Time, path: u32) -> PathTotals {
        match self {
            Self::Cell(medium) => medium.path_totals(now, path),
            Self::Neighbourhood(neighbourhood) => neighbourhood.path_totals(path),
        }
    }

    fn counters(&self, now: Time, station: u32) -> Counters {
        match self {
            Self::Cell(medium) => medium.counters(now, station),
            Self::Neighbourhood(neighbourhood) => neighbourhood.counters(station),
        }
    }
}

/// A medium, or the media of a neighbourhood, and the links on it.
#[derive(Debug)]
pub(crate) struct WifiMedium {
    /// Channel access, frames, stations.
    pub(crate) air: Air,
    /// By link of the plan, its path.
    paths: Arc<IndexVec<LinkId, u32>>,
    /// Packets delivered with a CE mark, by path.
    marked: Vec<u64>,
    /// Medium and node of each station.
    names: Vec<(String, String)>,
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
        block_ack_request: plan.channel.is_some_and(|channel| channel.block_ack_request),
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

/// The media of the plan, those with a channel together, and by medium its place among them.
pub(crate) fn build(plan: &Plan, seed: u64, queue: BuildQueue<'_>) -> (Vec<WifiMedium>, Vec<u32>) {
    let mut places = Vec::new();
    let mut shared = None;
    let mut links: Vec<Vec<LinkId>> = Vec::new();
    for medium in &plan.media {
        let place = if medium.channel.is_some() { shared } else { None }.unwrap_or(links.len());
        if place == links.len() {
            links.push(Vec::new());
        }
        if medium.channel.is_some() {
            shared = Some(place);
        }
        places.push(place as u32);
    }
    let mut path_of: IndexVec<LinkId, u32> = vec![u32::MAX; plan.links.len()].into();
    for (id, one) in plan.links.enumerate() {
        if let Some(radio) = one.radio {
            let links = &mut links[places[radio.medium as usize] as usize];
            path_of[id] = links.len() as u32;
            links.push(id);
        }
    }
    let path_of = Arc::new(path_of);
    let first = |place: usize| places.iter().position(|&one| one as usize == place).unwrap_or_default();
    let one = |(place, links): (usize, &Vec<LinkId>)| {
        let medium = first(place);
        let (air, names) = if plan.media[medium].channel.is_some() {
            build_neighbourhood(plan, medium, links, seed, queue)
        } else {
            build_cell(plan, medium, links, seed, queue)
        };
        let marked = vec![0; links.len()];
        WifiMedium { air, names, marked, paths: Arc::clone(&path_of), armed: NEVER, taken: Vec::new() }
    };
    (links.iter().enumerate().map(one).collect(), places)
}

/// The queue of a link's sending node, for an access category.
fn queue_of(plan: &Plan, link: LinkId, category: u32, queue: BuildQueue<'_>) -> QueueConfig<Packet> {
    let one = &plan.links[link];
    QueueConfig {
        limit: limit(one.capacity),
        counts_in_service: one.discipline.computed().unwrap_or_default().counts_in_service,
        discipline: queue(link, category),
    }
}

/// The medium `index` of the plan, with these links, and the names of its stations.
fn build_cell(
    plan: &Plan,
    index: usize,
    links: &[LinkId],
    seed: u64,
    queue: BuildQueue<'_>,
) -> (Air, Vec<(String, String)>) {
    let mut names = Vec::new();
    let mut queues = Vec::new();
    let categories = if plan.media[index].edca.is_some() { AccessCategory::COUNT as u32 } else { 1 };
    let mut station_of = BTreeMap::new();
    for &link in links {
        let from = plan.links[link].from;
        station_of.entry(from).or_insert_with(|| {
            names.push((plan.media[index].name.clone(), plan.nodes[from as usize].to_string()));
            queues.extend((0..categories).map(|category| queue_of(plan, link, category, queue)));
            names.len() as u32 - 1
        });
    }
    let path = |&link: &LinkId| {
        let one = &plan.links[link];
        let radio = one.radio?;
        let to = station_of.get(&one.to).copied();
        Some(PathConfig { from: station_of[&one.from], to, mode: mode(radio.mode), error: radio.frame_error })
    };
    let paths: Vec<PathConfig> = links.iter().filter_map(path).collect();
    let stream = Stream::new(seed, Purpose::Medium, index as u64);
    (Air::Cell(Medium::new(rules(&plan.media[index], &station_of), queues, &paths, stream)), names)
}

/// The neighbourhood with these links; `index` is its first medium, whose rules all have.
fn build_neighbourhood(
    plan: &Plan,
    index: usize,
    links: &[LinkId],
    seed: u64,
    queue: BuildQueue<'_>,
) -> (Air, Vec<(String, String)>) {
    let stations = &plan.neighbourhood.stations;
    let station_of: BTreeMap<u32, u32> = (0..).zip(stations).map(|(station, &(node, _))| (node, station)).collect();
    let queues = stations.iter().map(|&(node, _)| {
        let own = links.iter().find(|&&link| plan.links[link].from == node);
        own.map_or_else(|| QueueConfig::drop_tail(Limit::Unlimited, false), |&link| queue_of(plan, link, 0, queue))
    });
    let channel = |&(_, medium): &(u32, u32)| {
        plan.media[medium as usize].channel.map(|one| Channel { number: one.number, width_mhz: 20 })
    };
    let channels: Vec<Channel> = stations.iter().filter_map(channel).collect();
    let path = |&link: &LinkId| {
        let one = &plan.links[link];
        let radio = one.radio?;
        let rate_control = rate_control(radio.mode, plan.media[radio.medium as usize].channel?.adaptation);
        let (from, to) = (station_of[&one.from], station_of[&one.to]);
        Some(NeighbourPathConfig { from, to, rate_control, error: radio.frame_error })
    };
    let paths: Vec<NeighbourPathConfig> = links.iter().filter_map(path).collect();
    let energy_dbm = plan.media[index].channel.map_or(ENERGY_DBM, |channel| channel.energy_detection);
    let radio = neighbourhood::Radio::new(&plan.neighbourhood.received_dbm, &channels, energy_dbm);
    let stream = Stream::new(seed, Purpose::Medium, index as u64);
    let rules = rules(&plan.media[index], &station_of);
    let names = stations
        .iter()
        .map(|&(node, medium)| (plan.media[medium as usize].name.clone(), plan.nodes[node as usize].to_string()));
    (Air::Neighbourhood(Neighbourhood::new(rules, radio, queues.collect(), &paths, stream)), names.collect())
}

/// The rate adaptation of a path; streams and guard interval are those of its mode.
fn rate_control(plan: ModePlan, adaptation: AdaptationPlan) -> RateControl {
    match (adaptation, plan) {
        (AdaptationPlan::Fixed, _) => RateControl::Fixed(mode(plan)),
        (AdaptationPlan::Ideal, ModePlan::Ofdm { .. }) => RateControl::IdealOfdm,
        (AdaptationPlan::Ideal, ModePlan::Ht { streams, short_guard, .. }) => {
            RateControl::IdealHt { streams, short_guard }
        }
        (AdaptationPlan::Minstrel, ModePlan::Ofdm { .. }) => RateControl::MinstrelOfdm,
        (AdaptationPlan::Minstrel, ModePlan::Ht { streams, short_guard, .. }) => {
            RateControl::MinstrelHt { streams, short_guard }
        }
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
        either!(&mut self.air, air => air.offer(now, self.paths[link], one, dropped));
    }

    /// The counters and the backlog of a link; `lost` counts the packets lost on the wire behind the medium.
    pub(crate) fn snapshot(&mut self, now: Time, link: LinkId, lost: u64) -> LinkSnapshot {
        self.process_until(now);
        let path = self.paths[link];
        let totals = self.air.path_totals(now, path);
        let (queue_packets, queue_bytes) = either!(&self.air, air => air.path_backlog(now, path));
        let (packet_ns, byte_ns) = either!(&self.air, air => air.path_integrals(now, path));
        let oldest = either!(&self.air, air => air.path_oldest(path)).filter(|_| queue_packets > 0);
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
        either!(&self.air, air => air.path_max_queue_length(self.paths[link]))
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
        self.process_until(now);
        either!(&mut self.air, air => air.take(now, taken, dropped));
        self.arm()
    }

    /// Counts a packet that was delivered on `link` with a CE mark.
    pub(crate) fn count_mark(&mut self, link: LinkId) {
        self.marked[self.paths[link] as usize] += 1;
    }

    /// The airtime of each direction of each connection until `now`, by [`QueuedPacket::flow`].
    pub(crate) fn flow_airtimes(&mut self, now: Time) -> Vec<(u64, Duration)> {
        self.process_until(now);
        either!(&self.air, air => air.flow_airtimes().collect())
    }

    /// Processes what precedes `now`.
    fn process_until(&mut self, now: Time) {
        either!(&mut self.air, air => air.process_until(now));
    }

    /// Appends the counters of the stations at `now` to `rows`.
    pub(crate) fn stations(&mut self, now: Time, rows: &mut Vec<StationRow>) {
        self.process_until(now);
        for (station, (medium, node)) in (0..).zip(&self.names) {
            let counters = self.air.counters(now, station);
            let (queue_packets, _) = either!(&self.air, air => air.backlog(now, station));
            let (queue_packet_ns, _) = either!(&self.air, air => air.integrals(now, station));
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
                queue_packets,
                queue_packet_ns: queue_packet_ns as f64,
                max_queue_packets: either!(&self.air, air => air.max_queue_length(station)),
                ..StationRow::default()
            };
            if let Air::Neighbourhood(neighbourhood) = &self.air {
                count_causes(neighbourhood, now, station, &mut row);
            }
            rows.push(row);
        }
    }
}

/// Failures by cause, and the time by what the station did or sensed.
fn count_causes(neighbourhood: &Neighbourhood<Packet>, now: Time, station: u32, row: &mut StationRow) {
    let causes = neighbourhood.loss_causes(station);
    let busy = neighbourhood.busy_times(now, station);
    row.same_slot_failures = Some(causes.same_slot);
    row.hidden_failures = Some(causes.hidden);
    row.noise_failures = Some(causes.noise);
    row.sending_ns = Some(busy.sending.as_nanos());
    row.receiving_ns = Some(busy.receiving.as_nanos());
    row.overheard_ns = Some(busy.overheard.as_nanos());
    row.energy_ns = Some(busy.energy.as_nanos());
}
