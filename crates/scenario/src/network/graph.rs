//! A graph: nodes and links as written, and the flows' routes.

use std::collections::BTreeSet;

use cwndlab_config::Faults;
use cwndlab_network::aqm::Size;

use super::air;
use super::builder::Network;
use super::placed::{singles, Placed};
use super::routes::Routes;
use crate::schema::{Flow, Link, Medium, NamedLink, Schema};

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
    for one in links {
        let both = one.duplex && !pairs.contains(&(one.to.as_str(), one.from.as_str()));
        add_link(one, both, &schema.media, network);
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
            placed.push(one.on(forward, reverse));
        }
    }
    placed
}

/// Adds a link, and with `both` the way back, which loses nothing.
fn add_link(one: &NamedLink, both: bool, media: &[Medium], network: &mut Network) {
    let on_air = air::radio(one.radio.as_ref(), media);
    let (default, rate) = match on_air {
        Some((_, rate)) => (air::STATION_QUEUE, Some(rate)),
        None => (Size::Bdp(1.0, None), one.link.rate),
    };
    let link = Link { rate, ..one.link.clone() };
    let mut add = |name: String, from: &str, to: &str, link: &Link| {
        let index = network.add(name, from, to, link, default, link.rate.is_some());
        network.links[index as usize].radio = on_air.map(|(radio, _)| radio);
    };
    add(one.name.clone(), &one.from, &one.to, &link);
    if both {
        add(format!("{}-{}", one.to, one.from), &one.to, &one.from, &link.without_losses());
    }
}

/// Index of the node where the flow begins (`from`) or ends (`to`); `None` is a fault.
fn end(flow: &Flow, key: &str, node: Option<&String>, network: &Network, faults: &mut Faults) -> Option<u32> {
    let path = format!("{}.{key}", flow.path);
    let Some(node) = node else {
        faults.add(path, "is missing", format!("the node of the flow's end: '{key} = \"a\"'"));
        return None;
    };
    let found = network.index.get(node).copied();
    if found.is_none() {
        faults.add(path, format!("no node is called '{node}'"), format!("there are {}", network.nodes.join(", ")));
    }
    found
}
