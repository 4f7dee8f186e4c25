//! The stations of media with a channel, and the power that each receives from each other one.

use std::collections::{BTreeMap, BTreeSet};

use cwndlab_config::Faults;
use cwndlab_network::wifi::neighbourhood::PathLoss;

use super::builder::Network;
use crate::plan::{MediumPlan, NeighbourhoodPlan};
use crate::schema::{Medium, Place, Propagation, Schema, Topology};

/// Transmit power of a node that does not state it, dBm: that of ns-3.
const TRANSMIT_DBM: f64 = 16.0;
/// Highest channel number of the 2.4 GHz band.
const LAST_AT_2_4_GHZ: u32 = 13;

/// The plan of a graph's neighbourhood; it is empty without channels.
pub(super) fn plan(schema: &Schema, media: &[MediumPlan], network: &Network, faults: &mut Faults) -> NeighbourhoodPlan {
    let Topology::Graph(graph) = &schema.network.topology else { return NeighbourhoodPlan::default() };
    let stations = stations(media, network, faults);
    check_media(schema, faults);
    let known = known_powers(schema, network, &stations, faults);
    let name = |station: usize| network.nodes[stations[station].0 as usize].to_string();
    let place = |station: usize| graph.places.get(&name(station)).copied().unwrap_or_default();
    let mut unplaced = BTreeSet::new();
    let mut received_dbm = vec![vec![f64::NEG_INFINITY; stations.len()]; stations.len()];
    for from in 0..stations.len() {
        for to in (0..stations.len()).filter(|&to| to != from) {
            let pair = (stations[from].0, stations[to].0);
            let loss =
                path_loss(&schema.network.propagation, media[stations[from].1 as usize].channel.map(|one| one.number));
            received_dbm[from][to] = match (known.get(&pair), positions(place(from), place(to))) {
                (Some(dbm), _) => *dbm,
                (None, Some(metres)) => place(from).transmit_power.unwrap_or(TRANSMIT_DBM) - loss.db(metres),
                // Powers alone: pairs that are not named do not receive each other.
                (None, None) if !known.is_empty() => f64::NEG_INFINITY,
                (None, None) => {
                    unplaced.extend([from, to].into_iter().filter(|&one| !is_placed(place(one))));
                    f64::NEG_INFINITY
                }
            };
        }
    }
    for station in unplaced {
        let what = format!("'{}' has no position, and its medium has a channel", name(station));
        faults.add("node", what, "write 'x' and 'y' in metres in its '[[node]]', or '[[received]]' powers");
    }
    NeighbourhoodPlan { stations, received_dbm }
}

/// Rejects media with a channel whose stations follow different rules, and what only a medium without a channel has.
fn check_media(schema: &Schema, faults: &mut Faults) {
    let mut with_channel = schema.network.media.iter().filter(|medium| medium.channel.is_some());
    let Some(first) = with_channel.clone().next() else { return };
    for one in with_channel.clone() {
        for (key, is_there) in [("edca", one.edca.is_some()), ("beacon", one.beacon.is_some())] {
            if is_there {
                let hint = "remove it, or the channel";
                faults.add(format!("{}.{key}", one.path), "is not modelled on a medium with a channel", hint);
            }
        }
    }
    let rules = |one: &Medium| {
        let channel = one.channel.map(|channel| (channel.block_ack_request, channel.energy_detection));
        (one.standard, one.access, one.aggregation, one.keeps_turn, channel)
    };
    if let Some(other) = with_channel.find(|one| rules(one) != rules(first)) {
        let what = format!("'{}' has another standard or other rules of access than '{}'", other.name, first.name);
        faults.add(&*other.path, what, "media with a channel have the same ones; links may have rates of their own");
    }
}

/// Node and medium of the ends of all links on media with a channel, each node once.
fn stations(media: &[MediumPlan], network: &Network, faults: &mut Faults) -> Vec<(u32, u32)> {
    let mut medium_of: BTreeMap<u32, u32> = BTreeMap::new();
    let mut stations = Vec::new();
    for link in network.links.iter() {
        let Some(radio) = link.radio.filter(|radio| media[radio.medium as usize].channel.is_some()) else { continue };
        for node in [link.from, link.to] {
            let first = *medium_of.entry(node).or_insert_with(|| {
                stations.push((node, radio.medium));
                radio.medium
            });
            if first != radio.medium {
                let what = format!(
                    "'{}' is on the media '{}' and '{}'",
                    network.nodes[node as usize], media[first as usize].name, media[radio.medium as usize].name
                );
                faults.add("medium", what, "a node has one radio: join two nodes by a link");
            }
        }
    }
    stations
}

/// Stated powers by sending and receiving node, those of the other direction included.
fn known_powers(
    schema: &Schema,
    network: &Network,
    stations: &[(u32, u32)],
    faults: &mut Faults,
) -> BTreeMap<(u32, u32), f64> {
    let (mut stated, mut mirrored) = (BTreeMap::new(), BTreeMap::new());
    for one in &schema.network.received {
        let mut node = |key: &str, name: &str| {
            let found = network.index.get(name).copied();
            let found = found.filter(|node| stations.iter().any(|station| station.0 == *node));
            if found.is_none() {
                let what = format!("'{name}' is no node on a medium with a channel");
                faults.add(
                    format!("{}.{key}", &*one.path),
                    what,
                    "write 'channel' in its '[[medium]]', or another node",
                );
            }
            found
        };
        let (Some(from), Some(to)) = (node("from", &one.from), node("to", &one.to)) else { continue };
        if stated.insert((from, to), one.dbm).is_some() || from == to {
            faults.add(&*one.path, format!("a second power from '{}' to '{}'", one.from, one.to), "remove it");
        }
        mirrored.insert((to, from), one.dbm);
    }
    mirrored.extend(stated);
    mirrored
}

fn is_placed(place: Place) -> bool {
    place.x.is_some() && place.y.is_some()
}

/// Distance of two places, m.
fn positions(one: Place, other: Place) -> Option<f64> {
    let (x, y) = (one.x? - other.x?, one.y? - other.y?);
    Some(cwndlab_units::maths::sqrt(x * x + y * y))
}

fn path_loss(propagation: &Propagation, channel: Option<u32>) -> PathLoss {
    let is_low = channel.is_some_and(|number| number <= LAST_AT_2_4_GHZ);
    let default = if is_low { PathLoss::AT_2_4_GHZ } else { PathLoss::AT_5_GHZ };
    PathLoss { at_1_m_db: propagation.loss_at_1_m.unwrap_or(default.at_1_m_db), exponent: propagation.exponent }
}
