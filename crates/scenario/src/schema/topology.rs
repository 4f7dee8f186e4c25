//! Reads the network: its topology and its links.

use std::collections::BTreeSet;

use cwndlab_config::{Faults, Reader};
use cwndlab_network::aqm::CapacitySpec;

use super::link::{read_agents, read_link, read_queue};
use super::medium::{read_radio, read_wlan, Media};
use super::tables::{LINK, NAMED_LINK, NODE};
use super::typed::{Access, Link, NamedLink, Queue, Topology};

/// Fields of a flow that only some topologies support.
const FLOW_FIELDS: &[(&str, &[&str])] = &[
    ("from", &["link"]),
    ("to", &["link"]),
    ("route", &["link"]),
    ("reverse_route", &["link"]),
    ("enter", &["parking_lot"]),
    ("leave", &["parking_lot"]),
    ("rtt", &["dumbbell", "parking_lot", "wlan"]),
    ("direction", &["dumbbell", "parking_lot", "wlan"]),
];

pub(super) fn read_topology(table: &Reader<'_>, media: &Media, faults: &mut Faults) -> Option<Topology> {
    let kinds: Vec<&str> =
        ["dumbbell", "parking_lot", "wlan", "link"].into_iter().filter(|key| table.gives(key)).collect();
    reject_foreign_fields(table, &kinds, faults);
    match kinds[..] {
        ["dumbbell"] => read_dumbbell(&table.table("dumbbell", faults)?, faults),
        ["parking_lot"] => read_parking_lot(&table.table("parking_lot", faults)?, faults),
        ["link"] => read_graph(table, media, faults),
        ["wlan"] => Some(Topology::Wlan(read_wlan(table.get("wlan")?, faults)?)),
        [] => {
            faults.add("", "there is no network", "write '[dumbbell]', '[parking_lot]', '[wlan]' or '[[link]]'");
            None
        }
        _ => {
            faults.add(kinds[1], format!("conflicts with '{}'", kinds[0]), "use one kind of network");
            None
        }
    }
}

/// Rejects fields of other topologies.
fn reject_foreign_fields(table: &Reader<'_>, kinds: &[&str], faults: &mut Faults) {
    for key in ["node", "medium"].into_iter().filter(|key| table.gives(key) && !kinds.contains(&"link")) {
        faults.add(key, "belongs to a network of '[[link]]'s", "remove it, or write the links");
    }
    let &[kind] = kinds else { return };
    for (path, flow) in table.items("flow", &mut Faults::default()) {
        for (key, networks) in FLOW_FIELDS {
            if flow.get(key).is_some() && !networks.contains(&kind) {
                let topology = match *networks {
                    ["link"] => "of '[[link]]'s",
                    ["parking_lot"] => "of '[parking_lot]'",
                    _ => "without '[[link]]'s, which defines them by links and routes",
                };
                faults.add(format!("{path}.{key}"), format!("belongs to a network {topology}"), "remove it");
            }
        }
    }
}

fn read_dumbbell(table: &Reader<'_>, faults: &mut Faults) -> Option<Topology> {
    let value = table.given("bottleneck", faults)?;
    let forward = read_link(value, table.at("bottleneck"), &LINK, None, faults);
    let base = forward.as_ref().map(Link::without_losses);
    let reverse = match table.get("reverse") {
        Some(value) => read_link(value, table.at("reverse"), &LINK, base.as_ref(), faults),
        None => base,
    };
    let access = read_access(table, faults);
    Some(Topology::Dumbbell(forward?, reverse?, access?))
}

fn read_parking_lot(table: &Reader<'_>, faults: &mut Faults) -> Option<Topology> {
    let hops: Vec<_> = table
        .items("hops", faults)
        .into_iter()
        .map(|(path, item)| read_link(item, path, &LINK, None, faults))
        .collect();
    if hops.is_empty() && table.gives("hops") {
        faults.add("parking_lot.hops", "is empty", "write 'hops = [{ rate = \"10 Mbps\", delay = \"5 ms\" }, …]'");
    }
    let access = read_access(table, faults);
    Some(Topology::ParkingLot(hops.into_iter().collect::<Option<_>>()?, access?))
}

fn read_access(table: &Reader<'_>, faults: &mut Faults) -> Option<Access> {
    let unlimited = Queue::drop_tail(CapacitySpec::Unlimited);
    if !table.gives("access") {
        return Some(Access { rate: None, queue: unlimited, agents: None });
    }
    let inner = table.table("access", faults)?;
    let queue = inner.get("queue").and_then(|value| read_queue(value, inner.at("queue"), faults));
    let agents = inner.get("agents").map(|_| read_agents(&inner, faults));
    Some(Access { rate: inner.rate("rate", faults), queue: queue.unwrap_or(unlimited), agents })
}

fn read_graph(table: &Reader<'_>, media: &Media, faults: &mut Faults) -> Option<Topology> {
    let mut nodes = Vec::new();
    let mut known = BTreeSet::new();
    for (path, item) in table.tables("node", faults) {
        let inner = Reader::new(item, path, &NODE, faults)?;
        let name = inner.string("name", faults)?;
        if !known.insert(name.clone()) {
            faults.add(inner.at("name"), format!("'{name}' is the name of another node"), "names are unique");
        }
        nodes.push(name);
    }
    let declared = !nodes.is_empty();
    let mut links = Vec::<NamedLink>::new();
    let mut names = BTreeSet::new();
    for (path, item) in table.tables("link", faults) {
        let Some(link) = read_link(item, path.clone(), &NAMED_LINK, None, faults) else { continue };
        let radio = read_radio(item, path.clone(), media, faults);
        let inner = Reader::new(item, path, &NAMED_LINK, &mut Faults::default())?;
        let ends = ["from", "to"].map(|key| inner.string(key, faults));
        let [Some(from), Some(to)] = ends else { continue };
        for (key, node) in [("from", &from), ("to", &to)] {
            if known.insert(node.clone()) {
                if declared {
                    faults.add(
                        inner.at(key),
                        format!("no node is called '{node}'"),
                        "add a '[[node]]', or remove all '[[node]]'s",
                    );
                }
                nodes.push(node.clone());
            }
        }
        if from == to {
            faults.add(inner.at("to"), "the link ends at its start", "");
        }
        let name = inner.string("name", faults).unwrap_or_else(|| format!("{from}-{to}"));
        if !names.insert(name.clone()) {
            faults.add(inner.at("name"), format!("'{name}' is the name of another link"), "names are unique");
        }
        let duplex = inner.flag("duplex", faults).unwrap_or_default();
        links.push(NamedLink { name, from, to, duplex, radio, link });
    }
    Some(Topology::Graph(nodes, links))
}
