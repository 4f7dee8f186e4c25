//! Nodes and links as written, and routes between them.

use super::air;
use super::{expand, Network, Placed};
use crate::read::Faults;
use crate::schema::{Flow, Link, NamedLink, Schema, Size};

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
        let given = links.iter().any(|other| other.from == one.to && other.to == one.from);
        if one.duplex && !given {
            let plain = link.without_losses();
            add(format!("{}-{}", one.to, one.from), &one.to, &one.from, &plain);
        }
    }
    let mut placed = Vec::new();
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
            let at = nodes.iter().position(|one| one == node);
            if at.is_none() {
                faults.add(
                    format!("{}.{key}", flow.path),
                    format!("no node is called '{node}'"),
                    format!("there are {}", nodes.join(", ")),
                );
            }
            at.map(|at| at as u32)
        };
        let (from, to) = (end("from", &flow.ends.0), end("to", &flow.ends.1));
        let (Some(from), Some(to)) = (from, to) else { continue };
        let forward = route(flow, "route", flow.routes.0.as_ref(), from, to, network, faults);
        let reverse = route(flow, "reverse_route", flow.routes.1.as_ref(), to, from, network, faults);
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
    network: &Network,
    faults: &mut Faults,
) -> Option<Vec<u32>> {
    let path = format!("{}.{key}", flow.path);
    let name = |node: u32| network.nodes[node as usize].clone();
    if from == to {
        faults.add(path, "the flow ends where it begins", "");
        return None;
    }
    let Some(names) = names else {
        let found = network.shortest(from, to);
        if found.is_none() {
            faults.add(path, format!("no way leads from '{}' to '{}'", name(from), name(to)), "add a link");
        }
        return found.filter(|route| route.len() < 255);
    };
    let (mut at, mut route, mut seen) = (from, Vec::new(), vec![from]);
    for wanted in names {
        let Some(index) = network.links.iter().position(|link| link.name == *wanted) else {
            faults.add(path, format!("no link is called '{wanted}'"), "");
            return None;
        };
        let link = &network.links[index];
        if link.from != at {
            faults.add(
                path,
                format!("'{wanted}' begins at '{}', but the route stands at '{}'", name(link.from), name(at)),
                "",
            );
            return None;
        }
        at = link.to;
        if seen.contains(&at) {
            faults.add(path, format!("the route comes to '{}' twice", name(at)), "a route has no cycle");
            return None;
        }
        seen.push(at);
        route.push(index as u32);
    }
    if at != to {
        faults.add(path, format!("the route ends at '{}', not at '{}'", name(at), name(to)), "");
        return None;
    }
    Some(route)
}
