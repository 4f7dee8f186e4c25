//! Routes through a graph: the shortest, and those that a scenario names link by link.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use cwndlab_config::Faults;

use super::builder::Network;

/// What finds routes: the links by name and by the node that they leave, and the shortest paths found so far.
pub(super) struct Routes<'a> {
    network: &'a Network,
    by_name: BTreeMap<&'a str, u32>,
    leaving: Vec<Vec<u32>>,
    shortest: BTreeMap<(u32, u32), Option<Vec<u32>>>,
}

impl<'a> Routes<'a> {
    pub(super) fn new(network: &'a Network) -> Self {
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

    /// The route from one node to another: over the links of these names, else the shortest. `None` is a fault of `path`.
    pub(super) fn between(
        &mut self,
        (from, to): (u32, u32),
        names: Option<&[String]>,
        path: String,
        faults: &mut Faults,
    ) -> Option<Vec<u32>> {
        if from == to {
            faults.add(path, "the flow ends where it begins", "");
            return None;
        }
        if let Some(names) = names {
            return self.by_names((from, to), names).map_err(|(what, hint)| faults.add(path, what, hint)).ok();
        }
        let found = self.shortest(from, to);
        if found.is_none() {
            let what = format!("no way leads from '{}' to '{}'", self.node(from), self.node(to));
            faults.add(path, what, "add a link");
        }
        found
    }

    /// The links of these names; else what is wrong with them, and a hint.
    fn by_names(&self, (from, to): (u32, u32), names: &[String]) -> Result<Vec<u32>, (String, &'static str)> {
        let (mut node, mut route, mut seen) = (from, Vec::new(), BTreeSet::from([from]));
        for wanted in names {
            let Some(&index) = self.by_name.get(wanted.as_str()) else {
                return Err((format!("no link is called '{wanted}'"), ""));
            };
            let link = &self.network.links[index as usize];
            if link.from != node {
                let (begins, stands) = (self.node(link.from), self.node(node));
                return Err((format!("'{wanted}' begins at '{begins}', but the route stands at '{stands}'"), ""));
            }
            node = link.to;
            if !seen.insert(node) {
                return Err((format!("the route comes to '{}' twice", self.node(node)), "a route has no cycle"));
            }
            route.push(index);
        }
        if node != to {
            return Err((format!("the route ends at '{}', not at '{}'", self.node(node), self.node(to)), ""));
        }
        Ok(route)
    }

    fn node(&self, index: u32) -> &'a str {
        &self.network.nodes[index as usize]
    }
}
