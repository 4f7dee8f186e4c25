//! The graph topology: explicit nodes and links, and the flows' routes.

use std::collections::{BTreeMap, BTreeSet};

use cwndlab_config::Faults;
use cwndlab_network::aqm::CapacitySpec;

use super::builder::{Network, SharedMedium};
use super::routed_flows::{flow_instances, RoutedFlow};
use super::routes::Routes;
use super::{cell_links, radio_links};
use crate::schema::{Cell, Flow, Graph, Link, Medium, NamedLink, Schema};

/// Maximum number of nodes listed in a message.
const MAX_LISTED_NODES: usize = 20;

pub(super) fn graph<'a>(
    schema: &'a Schema,
    declared: &Graph,
    network: &mut Network,
    faults: &mut Faults,
) -> Vec<RoutedFlow<'a>> {
    let links = &declared.links;
    for node in &declared.nodes {
        network.node(node);
    }
    let pairs: BTreeSet<(&str, &str)> = links.iter().map(|one| (one.from.as_str(), one.to.as_str())).collect();
    let media = (0u32..).zip(&schema.network.media).map(|at| (at.1.name.as_str(), at)).collect();
    let cells = (0u32..).zip(&schema.network.cells).map(|at| (at.1.name.as_str(), at)).collect();
    for one in links {
        let both = one.duplex && !pairs.contains(&(one.to.as_str(), one.from.as_str()));
        add_link(one, both, (&media, &cells), network);
    }
    let mut placed = Vec::new();
    let mut routes = Routes::new(network);
    for one in flow_instances(schema) {
        let flow = one.flow;
        let node = |name: &Option<String>| name.as_ref().map(|name| declared.instance(name, one.number));
        let from = endpoint(flow, "from", node(&flow.from).as_ref(), network, faults);
        let to = endpoint(flow, "to", node(&flow.to).as_ref(), network, faults);
        let (Some(from), Some(to)) = (from, to) else { continue };
        let there = flow.route.as_deref();
        let back = flow.reverse_route.as_deref();
        let forward = routes.between((from, to), there, format!("{}.route", flow.path), faults);
        let reverse = routes.between((to, from), back, format!("{}.reverse_route", flow.path), faults);
        if let (Some(forward), Some(reverse)) = (forward, reverse) {
            placed.push(one.with_routes(forward.into(), reverse.into()));
        }
    }
    placed
}

/// Media and cells by name.
type Shared<'a> = (&'a BTreeMap<&'a str, (u32, &'a Medium)>, &'a BTreeMap<&'a str, (u32, &'a Cell)>);

/// Adds a link, and with `both` the reverse link without losses.
fn add_link(one: &NamedLink, both: bool, (media, cells): Shared<'_>, network: &mut Network) {
    let from = network.node(&one.from);
    let to = network.node(&one.to);
    let mut add = |own_name: Option<&str>, ends: (u32, u32), sender: &str, mut link: Link| {
        let (default, rate, medium) = if let Some((radio, rate)) = radio_links::radio(&one.radio, media) {
            (radio_links::STATION_QUEUE, Some(rate), Some(SharedMedium::Wifi(radio)))
        } else if let Some((channel, rate)) = cell_links::channel(one, sender, cells) {
            (cell_links::USER_QUEUE, Some(rate), Some(SharedMedium::Cell(channel)))
        } else {
            (CapacitySpec::Bdp(1.0, None), link.line.rate, None)
        };
        link.line.rate = rate;
        let declared = network.template(&link, default, rate.is_some(), medium);
        network.add(own_name, ends, link.delay, &declared);
    };
    let own_name = one.name.as_deref().filter(|name| *name != format!("{}-{}", one.from, one.to));
    add(own_name, (from, to), &one.from, one.link.clone());
    if both {
        add(None, (to, from), &one.to, one.link.without_losses());
    }
}

/// Index of the flow's node `from` or `to`; `None` after a fault.
fn endpoint(flow: &Flow, key: &str, node: Option<&String>, network: &Network, faults: &mut Faults) -> Option<u32> {
    let path = format!("{}.{key}", flow.path);
    let Some(node) = node else {
        faults.add(path, "is missing", format!("write '{key} = \"a\"', a node"));
        return None;
    };
    let index = network.index.get(node.as_str()).copied();
    if index.is_none() {
        let named: Vec<String> = network.nodes.iter().take(MAX_LISTED_NODES).map(ToString::to_string).collect();
        let more = if network.nodes.len() > MAX_LISTED_NODES { ", …" } else { "" };
        faults.add(path, format!("no node is called '{node}'"), format!("there are {}{more}", named.join(", ")));
    }
    index
}
