//! Media of 802.11 and their links.

use std::collections::{BTreeMap, BTreeSet};

use cwndlab_config::Faults;
use cwndlab_network::aqm::CapacitySpec;
use cwndlab_network::wifi::neighbourhood::PathLoss;
use cwndlab_network::wifi::phy::Mode;
use cwndlab_units::Rate;

use super::builder::Network;
use crate::plan::NeighbourhoodPlan;
use crate::plan::{Capacity, LinkPlan, MediumPlan, RadioPlan};
use crate::schema::{Graph, LinkRadio, Medium, Place, Radio, Schema};

/// Default capacity of a station's queue on the medium of a graph.
pub(super) const STATION_QUEUE: CapacitySpec = CapacitySpec::Packets(100);

impl Medium {
    pub(super) fn plan(&self, access_point: Option<u32>) -> MediumPlan {
        MediumPlan {
            name: self.name.clone(),
            standard: self.standard,
            access: self.access,
            edca: self.edca,
            access_point,
            aggregation: self.aggregation,
            keeps_turn: self.keeps_turn,
            beacon: self.beacon,
            channel: self.channel,
        }
    }
}

impl Radio {
    pub(super) fn plan(&self, medium: &Medium, index: u32) -> RadioPlan {
        RadioPlan {
            medium: index,
            mode: self.mode.unwrap_or(medium.mode).on(medium.standard, medium.channel.map_or(20, |one| one.width_mhz)),
            frame_error: self.frame_error.unwrap_or(medium.frame_error),
        }
    }
}

/// The radio parameters of a graph's link, and its rate on the medium; `media` by name.
pub(super) fn radio(link: &LinkRadio, media: &BTreeMap<&str, (u32, &Medium)>) -> Option<(RadioPlan, Rate)> {
    let &(index, medium) = media.get(link.medium.as_deref()?)?;
    let plan = link.radio.plan(medium, index);
    Some((plan, Rate(plan.mode.rate_bps())))
}

/// The media of a graph; each station has one queue.
pub(super) fn media(schema: &Schema, network: &Network, faults: &mut Faults) -> Vec<MediumPlan> {
    let mut on = vec![Vec::new(); schema.network.media.len()];
    for link in &network.links {
        if let Some(radio) = link.radio {
            on[radio.medium as usize].push(link);
        }
    }
    let plans =
        schema.network.media.iter().zip(&on).map(|(medium, on)| plan_medium(medium, on, network, faults)).collect();
    reject_unequal_queues(network, faults);
    plans
}

/// The plan of a medium with these links.
fn plan_medium(medium: &Medium, on: &[&LinkPlan], network: &Network, faults: &mut Faults) -> MediumPlan {
    if on.is_empty() {
        faults.add(&medium.path, "has no links", format!("write 'medium = \"{}\"' in a link", medium.name));
    }
    let modes = on.iter().filter_map(|link| link.radio).map(|radio| radio.mode).filter(|mode| !mode.exists());
    let missing = modes.filter_map(|mode| match mode {
        Mode::Ht { mcs, streams, .. } => Some((mcs, streams)),
        Mode::Ofdm { .. } | Mode::He(_) => None,
    });
    for (mcs, streams) in missing.collect::<BTreeSet<_>>() {
        let what = format!("MCS {mcs} with {streams} streams is no mode of this width");
        faults.add(&medium.path, what, "a smaller 'mcs'");
    }
    let Some(name) = &medium.access_point else { return medium.plan(None) };
    let sender = network.index.get(name.as_str()).copied();
    if !on.iter().any(|link| Some(link.from) == sender) {
        let senders: Vec<String> = on.iter().map(|link| network.nodes[link.from as usize].to_string()).collect();
        faults.add(
            format!("{}.access_point", medium.path),
            format!("no link leaves '{name}' on this medium"),
            format!("one of {}", senders.join(", ")),
        );
    }
    medium.plan(sender)
}

/// Rejects different queues of links that leave the same station on a medium, since a station has one queue.
fn reject_unequal_queues(network: &Network, faults: &mut Faults) {
    let mut firsts = BTreeMap::new();
    for (id, link) in network.links.enumerate() {
        let Some(radio) = link.radio else { continue };
        let first = *firsts.entry((radio.medium, link.from)).or_insert(id);
        if network.links[first].discipline != link.discipline || network.sizes[first].0 != network.sizes[id].0 {
            faults.add(
                format!("{}.queue", network.sizes[id].1),
                format!(
                    "'{}' has a different queue on the link '{}'",
                    network.nodes[link.from as usize],
                    network.links[first].name(&network.nodes)
                ),
                "a station has one queue for all its links on a medium",
            );
        }
    }
}

/// Rejects shapers of stations and of users of a cell, which take packets from their queue when they can send, and at no
/// other time.
pub(super) fn reject_shapers(network: &Network, faults: &mut Faults) {
    let shared = |link: &LinkPlan| link.radio.is_some() || link.cell.is_some();
    let shapers = network.links.enumerate().filter(|(_, link)| shared(link) && link.discipline.shapes());
    let places: BTreeSet<&str> = shapers.map(|(id, _)| &*network.sizes[id].1).collect();
    for place in places {
        let hint = "remove 'bandwidth' of its queue, or shape on a link before it";
        faults.add(place, "a link on a medium or a cell has no shaper", hint);
    }
}

/// Sets the capacity of a station's queue to the maximum over its links.
pub(super) fn join_queues(links: &mut [LinkPlan]) {
    let size = |capacity: Capacity| match capacity {
        Capacity::Unlimited => u64::MAX,
        Capacity::Packets(n) => u64::from(n),
        Capacity::Bytes(bytes) => bytes.0,
    };
    let station = |link: &LinkPlan| link.radio.map(|radio| (radio.medium, link.from));
    let mut largest: BTreeMap<(u32, u32), Capacity> = BTreeMap::new();
    for link in links.iter() {
        let Some(station) = station(link) else { continue };
        let capacity = largest.entry(station).or_insert(link.capacity);
        if size(link.capacity) >= size(*capacity) {
            *capacity = link.capacity;
        }
    }
    for link in links {
        if let Some(station) = station(link) {
            link.capacity = largest[&station];
        }
    }
}

/// The stations of the media with a channel, and the powers that they receive; `None` if there are none.
pub(super) fn neighbourhood(
    schema: &Schema,
    graph: &Graph,
    network: &Network,
    faults: &mut Faults,
) -> Option<NeighbourhoodPlan> {
    let media = &schema.network.media;
    let mut stations: Vec<(u32, u32)> = Vec::new();
    let mut known = BTreeSet::new();
    for link in &network.links {
        let Some(radio) = link.radio.filter(|radio| media[radio.medium as usize].channel.is_some()) else { continue };
        let ends = [link.from, link.to].map(|node| (radio.medium, node));
        stations.extend(ends.into_iter().filter(|station| known.insert(*station)));
    }
    if stations.is_empty() {
        return None;
    }
    let given = given_powers(schema, graph, network, &stations, faults);
    let place = |node: u32| graph.places.get(&network.nodes[node as usize].to_string()).copied().unwrap_or_default();
    let places: Vec<Place> = stations.iter().map(|&(_, node)| place(node)).collect();
    let mut missing = BTreeSet::new();
    let mut received_dbm = vec![vec![0.0; stations.len()]; stations.len()];
    for (from, row) in received_dbm.iter_mut().enumerate() {
        let loss = path_loss(schema, &media[stations[from].0 as usize]);
        for (to, dbm) in row.iter_mut().enumerate().filter(|one| one.0 != from) {
            let pair = (stations[from].1, stations[to].1);
            let power = given.get(&pair).or_else(|| given.get(&(pair.1, pair.0))).copied();
            *dbm = power.or_else(|| received(places[from], places[to], loss)).unwrap_or_else(|| {
                missing.extend([from, to].into_iter().filter(|&end| places[end].position.is_none()));
                0.0
            });
        }
    }
    for station in missing {
        let (medium, node) = stations[station];
        faults.add(
            &media[medium as usize].path,
            format!("the node '{}' has no position", network.nodes[node as usize]),
            "write 'position = [3, 4.5]' in its '[[node]]', or a '[[received]]' power for each pair with it",
        );
    }
    Some(NeighbourhoodPlan { stations, received_dbm })
}

/// Received power by positions, dBm.
fn received(from: Place, to: Place, loss: PathLoss) -> Option<f64> {
    Some(from.transmit_dbm - loss.db(PathLoss::distance(from.position?, to.position?)))
}

/// The path loss on the channel of a medium.
fn path_loss(schema: &Schema, medium: &Medium) -> PathLoss {
    let high = medium.channel.is_some_and(|channel| channel.number > 13);
    let default = if high { PathLoss::AT_5_GHZ } else { PathLoss::AT_2_4_GHZ };
    let given = &schema.network.propagation;
    PathLoss {
        at_1_m_db: given.loss_at_1_m.unwrap_or(default.at_1_m_db),
        exponent: given.exponent.unwrap_or(default.exponent),
    }
}

/// The `received` powers by nodes; the last one of a pair counts.
fn given_powers(
    schema: &Schema,
    graph: &Graph,
    network: &Network,
    stations: &[(u32, u32)],
    faults: &mut Faults,
) -> BTreeMap<(u32, u32), f64> {
    let on: BTreeSet<u32> = stations.iter().map(|station| station.1).collect();
    let mut powers = BTreeMap::new();
    for one in &schema.network.received {
        let mut members = |key: &str, name: &str| {
            let count = graph.groups.get(name).copied().unwrap_or(1);
            let nodes = (0..count).filter_map(|number| network.index.get(&*graph.instance(name, number)));
            let nodes: Vec<u32> = nodes.copied().filter(|node| on.contains(node)).collect();
            if nodes.is_empty() {
                let hint = "name a node of a link on a medium with a channel";
                faults.add(format!("{}.{key}", one.path), format!("'{name}' is not a station"), hint);
            }
            nodes
        };
        let (from, to) = (members("from", &one.from), members("to", &one.to));
        powers.extend(from.iter().flat_map(|&from| to.iter().map(move |&to| ((from, to), one.dbm))));
    }
    powers
}
