//! Routes through a graph: shortest paths and explicit routes.

use std::collections::{BTreeMap, BTreeSet};

use cwndlab_config::Faults;
use cwndlab_units::LinkId;

use super::builder::Network;
use super::shortest_paths::ShortestPaths;
use crate::plan::Name;

/// Route computation, from link names or by shortest paths.
pub(super) struct Routes<'a> {
    network: &'a Network,
    by_name: BTreeMap<String, LinkId>,
    shortest: ShortestPaths<'a>,
}

impl<'a> Routes<'a> {
    pub(super) fn new(network: &'a Network) -> Self {
        let mut by_name = BTreeMap::new();
        for (id, link) in network.links.enumerate() {
            by_name.entry(link.name(&network.nodes)).or_insert(id);
        }
        Self { network, by_name, shortest: ShortestPaths::new(network.nodes.len(), &network.links) }
    }

    /// The route between two nodes: over the links `names`, or else the shortest path. `None` after a fault at `path`.
    pub(super) fn between(
        &mut self,
        (from, to): (u32, u32),
        names: Option<&[String]>,
        path: String,
        faults: &mut Faults,
    ) -> Option<Vec<LinkId>> {
        if from == to {
            faults.add(path, "the flow ends at its start", "");
            return None;
        }
        if let Some(names) = names {
            return self.by_names((from, to), names).map_err(|(what, hint)| faults.add(path, what, hint)).ok();
        }
        let route = self.shortest.path(from, to);
        if route.is_none() {
            let what = format!("there is no path from '{}' to '{}'", self.node(from), self.node(to));
            faults.add(path, what, "add a link");
        }
        route
    }

    /// The links of these names.
    ///
    /// # Errors
    /// A message and a hint if the links do not form a path between the nodes.
    fn by_names(&self, (from, to): (u32, u32), names: &[String]) -> Result<Vec<LinkId>, (String, &'static str)> {
        let mut node = from;
        let mut route = Vec::new();
        let mut visited = BTreeSet::from([from]);
        for name in names {
            let Some(&id) = self.by_name.get(name.as_str()) else {
                return Err((format!("no link is called '{name}'"), ""));
            };
            let link = &self.network.links[id];
            if link.from != node {
                let start = self.node(link.from);
                let end = self.node(node);
                return Err((format!("'{name}' starts at '{start}', but the previous link ends at '{end}'"), ""));
            }
            node = link.to;
            if !visited.insert(node) {
                return Err((format!("the route visits '{}' twice", self.node(node)), "a route has no cycle"));
            }
            route.push(id);
        }
        if node != to {
            return Err((format!("the route ends at '{}', not at '{}'", self.node(node), self.node(to)), ""));
        }
        Ok(route)
    }

    fn node(&self, index: u32) -> &'a Name {
        &self.network.nodes[index as usize]
    }
}
