//! A graph: nodes and links as written, and the flows' routes.

use std::collections::{BTreeMap, BTreeSet};

use cwndlab_config::Faults;
use cwndlab_network::aqm::Size;

use super::air;
use super::builder::Network;
use super::placed::{singles, Placed};
use super::routes::Routes;
use crate::schema::{Flow, Link, Medium, NamedLink, Schema};

/// A message names at most so many nodes.
const MOST_NAMED: usize = 20;

pub(super) fn graph<'a>(
    schema: &'a Schema,
    nodes: &[String],
    links: &[NamedLink],
    network: &mut Network,
    faults: &mut Faults,
) -> Vec<Placed<'a>> {
    for node in nodes {
        network.node(node);
    }
    let pairs: BTreeSet<(&str, &str)> = links.iter().map(|one| (one.from.as_str(), one.to.as_str())).collect();
    let media = (0u32..).zip(&schema.media).map(|at| (at.1.name.as_str(), at)).collect();
    for one in links {
        let both = one.duplex && !pairs.contains(&(one.to.as_str(), one.from.as_str()));
        add_link(one, both, &media, network);
    }
    let (mut placed, mut routes) = (Vec::new(), Routes::new(network));
    for one in singles(schema) {
        let flow = one.flow;
        let from = end(flow, "from", flow.ends.0.as_ref(), network, faults);
        let to = end(flow, "to", flow.ends.1.as_ref(), network, faults);
        let (Some(from), Some(to)) = (from, to) else { continue };
        let (there, back) = (flow.routes.0.as_deref(), flow.routes.1.as_deref());
        let forward = routes.between((from, to), there, format!("{}.route", flow.path), faults);
        let reverse = routes.between((to, from), back, format!("{}.reverse_route", flow.path), faults);
        if let (Some(forward), Some(reverse)) = (forward, reverse) {
            placed.push(one.on(forward.into(), reverse.into()));
        }
    }
    placed
}

/// Adds a link, and with `both` the way back, which loses nothing.
fn add_link(one: &NamedLink, both: bool, media: &BTreeMap<&str, (u32, &Medium)>, network: &mut Network) {
    let on_air = air::radio(one.radio.as_ref(), media);
    let (default, rate) = match on_air {
        Some((_, rate)) => (air::STATION_QUEUE, Some(rate)),
        None => (Size::Bdp(1.0, None), one.link.rate),
    };
    let link = Link { rate, ..one.link.clone() };
    let (from, to) = (network.node(&one.from), network.node(&one.to));
    let mut add = |own_name: Option<&str>, ends: (u32, u32), link: &Link| {
        let declared = network.declare(link, default, link.rate.is_some(), on_air.map(|(radio, _)| radio));
        network.add(own_name, ends, link.delay, &declared);
    };
    let own_name = Some(one.name.as_str()).filter(|name| *name != format!("{}-{}", one.from, one.to));
    add(own_name, (from, to), &link);
    if both {
        add(None, (to, from), &link.without_losses());
    }
}

/// Index of the node where the flow begins (`from`) or ends (`to`); `None` is a fault.
fn end(flow: &Flow, key: &str, node: Option<&String>, network: &Network, faults: &mut Faults) -> Option<u32> {
    let path = format!("{}.{key}", flow.path);
    let Some(node) = node else {
        faults.add(path, "is missing", format!("the node of the flow's end: '{key} = \"a\"'"));
        return None;
    };
    let found = network.index.get(node.as_str()).copied();
    if found.is_none() {
        let named: Vec<String> = network.nodes.iter().take(MOST_NAMED).map(ToString::to_string).collect();
        let more = if network.nodes.len() > MOST_NAMED { ", …" } else { "" };
        faults.add(path, format!("no node is called '{node}'"), format!("there are {}{more}", named.join(", ")));
    }
    found
}
