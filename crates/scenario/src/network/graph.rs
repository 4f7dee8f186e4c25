//! Nodes and links as written, and routes between them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use cwndlab_config::Faults;
use cwndlab_network::aqm::Size;

use super::air;
use super::builder::Network;
use super::placed::{expand, Placed};
use crate::schema::{Flow, Link, NamedLink, Schema};

/// What finds routes: the links by name and by the node that they leave, and the shortest paths found so far.
struct Routes<'a> {
    network: &'a Network,
    by_name: BTreeMap<&'a str, u32>,
    leaving: Vec<Vec<u32>>,
    shortest: BTreeMap<(u32, u32), Option<Vec<u32>>>,
}

impl<'a> Routes<'a> {
    fn new(network: &'a Network) -> Self {
        let mut leaving = vec![Vec::new(); network.nodes.len()];
        let mut by_name = BTreeMap::new();
        for (index, link) in (0u32..).zip(&network.links) {
            leaving[link.from as usize].push(index);
            by_name.entry(link.name.as_str()).or_insert(index);
        }
        Self { network, by_name, leaving, shortest: BTreeMap::new() }
    }

    /// The static shortest path by delay, then by hops, then by the links' order (Dijkstra).
    fn shortest(&mut self, from: u32, to: u32) -> Option<Vec<u32>> {
        if let Some(known) = self.shortest.get(&(from, to)) {
            return known.clone();
        }
        let mut done = vec![false; self.leaving.len()];
        let mut open = BinaryHeap::from([Reverse((0u64, 0usize, Vec::new(), from))]);
        let mut found = None;
        while let Some(Reverse((delay, hops, route, node))) = open.pop() {
            if std::mem::replace(&mut done[node as usize], true) {
                continue;
            }
            if node == to {
                found = Some(route);
                break;
            }
            for &index in &self.leaving[node as usize] {
                let link = &self.network.links[index as usize];
                if !done[link.to as usize] {
                    let longer = [route.as_slice(), &[index]].concat();
                    open.push(Reverse((delay.saturating_add(link.delay.0), hops + 1, longer, link.to)));
                }
            }
        }
        self.shortest.insert((from, to), found.clone());
        found
    }
}

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
        let on_air = air::radio(one.radio.as_ref(), &schema.media);
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
        let given = pairs.contains(&(one.to.as_str(), one.from.as_str()));
        if one.duplex && !given {
            let plain = link.without_losses();
            add(format!("{}-{}", one.to, one.from), &one.to, &one.from, &plain);
        }
    }
    let (mut placed, mut routes) = (Vec::new(), Routes::new(network));
    for (_, flow, number, name) in expand(schema) {
        let mut end = |key: &str, node: &Option<String>| {
            let Some(node) = node else {
                faults.add(
                    format!("{}.{key}", flow.path),
                    "is missing",
                    format!("the node of the flow's end: '{key} = \"a\"'"),
                );
                return None;
            };
            let at = routes.network.index.get(node).copied();
            if at.is_none() {
                faults.add(
                    format!("{}.{key}", flow.path),
                    format!("no node is called '{node}'"),
                    format!("there are {}", nodes.join(", ")),
                );
            }
            at
        };
        let (from, to) = (end("from", &flow.ends.0), end("to", &flow.ends.1));
        let (Some(from), Some(to)) = (from, to) else { continue };
        let forward = route(flow, "route", flow.routes.0.as_ref(), from, to, &mut routes, faults);
        let reverse = route(flow, "reverse_route", flow.routes.1.as_ref(), to, from, &mut routes, faults);
        if let (Some(forward), Some(reverse)) = (forward, reverse) {
            placed.push(Placed { flow, number, name, forward, reverse });
        }
    }
    placed
}

fn route(
    flow: &Flow,
    key: &str,
    names: Option<&Vec<String>>,
    from: u32,
    to: u32,
    routes: &mut Routes<'_>,
    faults: &mut Faults,
) -> Option<Vec<u32>> {
    let network = routes.network;
    let path = format!("{}.{key}", flow.path);
    let name = |node: u32| network.nodes[node as usize].clone();
    if from == to {
        faults.add(path, "the flow ends where it begins", "");
        return None;
    }
    let Some(names) = names else {
        let found = routes.shortest(from, to);
        if found.is_none() {
            faults.add(path, format!("no way leads from '{}' to '{}'", name(from), name(to)), "add a link");
        }
        return found;
    };
    let (mut at, mut route, mut seen) = (from, Vec::new(), BTreeSet::from([from]));
    for wanted in names {
        let Some(&index) = routes.by_name.get(wanted.as_str()) else {
            faults.add(path, format!("no link is called '{wanted}'"), "");
            return None;
        };
        let link = &network.links[index as usize];
        if link.from != at {
            faults.add(
                path,
                format!("'{wanted}' begins at '{}', but the route stands at '{}'", name(link.from), name(at)),
                "",
            );
            return None;
        }
        at = link.to;
        if !seen.insert(at) {
            faults.add(path, format!("the route comes to '{}' twice", name(at)), "a route has no cycle");
            return None;
        }
        route.push(index);
    }
    if at != to {
        faults.add(path, format!("the route ends at '{}', not at '{}'", name(at), name(to)), "");
        return None;
    }
    Some(route)
}
