//! Reads the network: its topology and its media.

use std::collections::{BTreeMap, BTreeSet};

use cwndlab_config::{fields, Faults, Field, FieldType, Kind, Reader, Tables};

use super::cell::Cell;
use super::medium::Medium;
use super::networks::{Dumbbell, NamedLink, Node, ParkingLot, Wlan, NAMED_LINK};
use super::radio_fields::{Propagation, Received};

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

fields! {
    /// The tables of a network.
    struct NetworkFields {
        /// one bottleneck
        dumbbell: Option<Dumbbell> = absent(""),
        /// bottlenecks in series
        parking_lot: Option<ParkingLot> = absent(""),
        /// a wireless LAN
        wlan: Option<Wlan> = absent(""),
        /// nodes of a graph
        node: Tables<Node> = absent("the nodes of the links", Vec::new()),
        /// media of 802.11 that links of a graph share
        medium: Tables<Medium> = absent("", Vec::new()),
        /// path loss between stations on media with a channel
        propagation: Option<Propagation> = absent("log-distance, exponent 3"),
        /// received powers of stations on media with a channel
        received: Tables<Received> = absent("by positions", Vec::new()),
        /// cells of LTE or NR that links of a graph share
        cell: Tables<Cell> = absent("", Vec::new()),
        /// links of a graph
        link: NamedLinks = absent("", Vec::new()),
    }
}

/// The network of a scenario.
#[derive(Clone, Debug)]
pub struct Network {
    /// Its topology.
    pub topology: Topology,
    /// Media of a graph.
    pub media: Vec<Medium>,
    /// Path loss between stations on media with a channel.
    pub propagation: Propagation,
    /// Received powers in place of those by positions.
    pub received: Vec<Received>,
    /// Cells of a graph.
    pub cells: Vec<Cell>,
}

/// The topology of a network.
#[allow(clippy::large_enum_variant, reason = "there is one per scenario")]
#[derive(Clone, Debug)]
pub enum Topology {
    /// A bottleneck in both directions, and access links.
    Dumbbell(Dumbbell),
    /// Bottlenecks in series, and access links.
    ParkingLot(ParkingLot),
    /// Nodes and links.
    Graph(Graph),
    /// A wireless LAN.
    Wlan(Wlan),
}

/// Nodes and links, of which a node with a count, and each link at it, stands for several.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Names of the nodes.
    pub nodes: Vec<String>,
    /// The links.
    pub links: Vec<NamedLink>,
    /// Nodes with a count.
    pub groups: BTreeMap<String, u64>,
    /// By name of the node, position and transmit power.
    pub places: BTreeMap<String, Place>,
}

/// Position in metres, and transmit power in dBm.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Position.
    pub position: Option<[f64; 2]>,
    /// Transmit power.
    pub transmit_dbm: f64,
}

impl Default for Place {
    /// ns-3's transmit power.
    fn default() -> Self {
        Self { position: None, transmit_dbm: 16.0 }
    }
}

impl Graph {
    /// The node that stands for `name` in the instance `number`, from 0: itself, or one of its group in turn.
    #[must_use]
    pub fn instance(&self, name: &str, number: u64) -> String {
        match self.groups.get(name) {
            Some(count) => format!("{name}-{}", number % count + 1),
            None => name.to_owned(),
        }
    }
}

impl Network {
    pub(super) const FIELDS: &'static [Field] = NetworkFields::FIELDS;

    pub(super) fn read(table: &Reader<'_>, faults: &mut Faults) -> Option<Self> {
        let kinds: Vec<&str> =
            ["dumbbell", "parking_lot", "wlan", "link"].into_iter().filter(|key| table.gives(key)).collect();
        reject_foreign_fields(table, &kinds, faults);
        match kinds[..] {
            [] => faults.add("", "there is no network", "write '[dumbbell]', '[parking_lot]', '[wlan]' or '[[link]]'"),
            [first, second, ..] => {
                faults.add(second, format!("conflicts with '{first}'"), "use one kind of network");
            }
            [_] => {}
        }
        let NetworkFields { dumbbell, parking_lot, wlan, node, medium, propagation, received, cell, link } =
            NetworkFields::read(table, faults)?;
        reject_equal_names("medium", medium.iter().map(|one| (&*one.path, &one.name)), faults);
        reject_equal_names("cell", cell.iter().map(|one| (&*one.path, &one.name)), faults);
        let topology = match (dumbbell, parking_lot, wlan) {
            (Some(dumbbell), ..) => Topology::Dumbbell(dumbbell),
            (_, Some(parking_lot), _) => Topology::ParkingLot(parking_lot),
            (.., Some(wlan)) => Topology::Wlan(wlan),
            (None, None, None) => {
                let all_nodes = table.items("node", &mut Faults::default()).len() == node.len();
                graph(&node, all_nodes, link, faults)
            }
        };
        for key in ["propagation", "received"].into_iter().filter(|key| table.gives(key)) {
            if medium.iter().all(|one| one.channel.is_none()) {
                faults.add(key, "no medium has a channel", "write 'channel = 1' in a '[[medium]]'");
            }
        }
        let propagation = propagation.unwrap_or_default();
        Some(Self { topology, media: medium, propagation, received, cells: cell })
    }
}

/// Rejects equal names of tables of a kind, given with their paths.
fn reject_equal_names<'a>(kind: &str, tables: impl Iterator<Item = (&'a str, &'a String)>, faults: &mut Faults) {
    let mut names = BTreeSet::new();
    for (path, name) in tables {
        if !names.insert(name) {
            let what = format!("'{name}' is the name of another {kind}");
            faults.add(format!("{path}.name"), what, "names are unique");
        }
    }
}

/// Rejects fields of other topologies.
fn reject_foreign_fields(table: &Reader<'_>, kinds: &[&str], faults: &mut Faults) {
    for key in ["node", "medium", "propagation", "received", "cell"]
        .into_iter()
        .filter(|key| table.gives(key) && !kinds.contains(&"link"))
    {
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

/// The links of a graph; each has the parameters of its medium.
enum NamedLinks {}

impl FieldType for NamedLinks {
    type Value = Vec<NamedLink>;

    const KIND: Kind = Kind::Tables(&NAMED_LINK);

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<Vec<NamedLink>> {
        let media = <Tables<Medium>>::read(table, "medium", &mut Faults::default())?;
        let stated = table.items("medium", &mut Faults::default());
        let names: Vec<&str> = stated.iter().filter_map(|(_, medium)| medium["name"].as_str()).collect();
        let cells = table.items("cell", &mut Faults::default());
        let cells: Vec<&str> = cells.iter().filter_map(|(_, cell)| cell["name"].as_str()).collect();
        let mut links = Vec::new();
        for (path, item) in table.tables(name, faults) {
            let Some(inner) = Reader::new(item, path, &NAMED_LINK, faults) else { continue };
            let Some(mut link) = inner.read_valid(NamedLink::read, faults) else { continue };
            link.link.line.complete(&inner, faults);
            link.radio.check(&inner, &media, &names, faults);
            link.cell.check(&inner, &link.link.line.schedule.steps, &cells, faults);
            links.push(link);
        }
        Some(links)
    }
}

/// The topology of these nodes and links; with faulty nodes left out, `all_nodes` is false.
fn graph(declared: &[Node], all_nodes: bool, links: Vec<NamedLink>, faults: &mut Faults) -> Topology {
    let mut graph = Graph { nodes: Vec::new(), links, groups: BTreeMap::new(), places: BTreeMap::new() };
    let mut known = BTreeSet::new();
    for Node { path, name, count, position, transmit_power } in declared {
        let members: Vec<String> = match *count {
            Some(count) => {
                graph.groups.insert(name.clone(), count);
                (0..count).map(|number| graph.instance(name, number)).collect()
            }
            None => vec![name.clone()],
        };
        let whole = count.map(|_| name);
        for one in members.iter().chain(whole) {
            if !known.insert(one.clone()) {
                faults.add(format!("{path}.name"), format!("'{one}' is the name of another node"), "names are unique");
            }
        }
        let default = Place::default();
        let transmit_dbm = transmit_power.unwrap_or(default.transmit_dbm);
        let place = Place { position: *position, transmit_dbm };
        graph.places.extend(members.iter().map(|member| (member.clone(), place)));
        graph.nodes.extend(members);
    }
    let mut names = BTreeSet::new();
    for one in &graph.links {
        let path = &one.link.path;
        for (key, node) in [("from", &one.from), ("to", &one.to)] {
            if known.insert(node.clone()) {
                if all_nodes && !declared.is_empty() {
                    let hint = "add a '[[node]]', or remove all '[[node]]'s";
                    faults.add(format!("{path}.{key}"), format!("no node is called '{node}'"), hint);
                }
                graph.nodes.push(node.clone());
            }
        }
        if one.from == one.to {
            faults.add(format!("{path}.to"), "the link ends at its start", "");
        }
        let name = one.name.clone().unwrap_or_else(|| format!("{}-{}", one.from, one.to));
        if !names.insert(name.clone()) {
            faults.add(format!("{path}.name"), format!("'{name}' is the name of another link"), "names are unique");
        }
    }
    graph.links = instances(&graph, faults);
    Topology::Graph(graph)
}

/// The links of a graph, each at a node with a count once for every such node.
fn instances(graph: &Graph, faults: &mut Faults) -> Vec<NamedLink> {
    let mut all = Vec::new();
    for one in &graph.links {
        let counts = [&one.from, &one.to].map(|node| graph.groups.get(node).copied());
        let count = match counts {
            [Some(from), Some(to)] if from != to => {
                let what = format!("'{}' has {from} nodes, '{}' has {to}", one.from, one.to);
                faults.add(format!("{}.to", one.link.path), what, "a link between two groups joins equal numbers");
                continue;
            }
            [None, None] => {
                all.push(one.clone());
                continue;
            }
            [from, to] => from.or(to).unwrap_or(1),
        };
        all.extend((0..count).map(|number| NamedLink {
            name: one.name.as_ref().map(|name| format!("{name}-{}", number + 1)),
            from: graph.instance(&one.from, number),
            to: graph.instance(&one.to, number),
            ..one.clone()
        }));
    }
    all
}
