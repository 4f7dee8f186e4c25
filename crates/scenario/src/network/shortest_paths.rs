//! Static shortest paths by delay, then by number of hops, then by the order of the links.
//!
//! If most nodes are hosts, the work is linear in the size of the network. A node with a single neighbour is not on the
//! path between two other nodes. Removing such nodes repeatedly leaves the core of the network. A path leads from its
//! source up to the core, through the core, and down to its destination. In the core, a node with a single outgoing
//! link needs no decision. Dijkstra's shortest-path tree is computed only from a node with a choice.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use cwndlab_units::{IndexVec, LinkId};

use crate::plan::LinkPlan;

/// Maximum number of entries of all cached trees, 64 MB.
const MAX_TREE_ENTRIES: usize = 16_000_000;

/// A node outside the core.
#[derive(Clone, Copy)]
struct OutsideCore {
    /// The neighbour towards the core.
    parent: u32,
    /// The best link to the parent.
    up: LinkId,
    /// The best link from the parent.
    down: LinkId,
}

/// The shortest paths of a network.
pub(super) struct ShortestPaths<'a> {
    links: &'a IndexVec<LinkId, LinkPlan>,
    outside: Vec<Option<OutsideCore>>,
    /// For each node of the core: its links to other nodes of the core.
    leaving: Vec<Vec<LinkId>>,
    /// Shortest-path trees by source: for each node the last link of its path.
    trees: BTreeMap<u32, Vec<LinkId>>,
    /// Number of computed trees.
    pub(super) trees_computed: usize,
}

/// For each node its distinct neighbours in either direction.
fn neighbours(nodes: usize, links: &[LinkPlan]) -> Vec<Vec<u32>> {
    let mut of = vec![Vec::new(); nodes];
    for link in links {
        of[link.from as usize].push(link.to);
        of[link.to as usize].push(link.from);
    }
    for all in &mut of {
        all.sort_unstable();
        all.dedup();
    }
    of
}

/// The nodes outside the core, without their links.
fn outside_core(nodes: usize, links: &[LinkPlan]) -> Vec<Option<OutsideCore>> {
    let neighbours = neighbours(nodes, links);
    let mut left: Vec<usize> = neighbours.iter().map(Vec::len).collect();
    let mut outside: Vec<Option<OutsideCore>> = vec![None; nodes];
    let mut open: Vec<u32> = (0..nodes as u32).filter(|&node| left[node as usize] == 1).collect();
    while let Some(node) = open.pop() {
        let parent = neighbours[node as usize].iter().find(|&&one| outside[one as usize].is_none());
        let Some(&parent) = parent else { continue }; // the root of a tree
        outside[node as usize] = Some(OutsideCore { parent, up: LinkId::NONE, down: LinkId::NONE });
        left[parent as usize] -= 1;
        if left[parent as usize] == 1 {
            open.push(parent);
        }
    }
    outside
}

impl<'a> ShortestPaths<'a> {
    pub(super) fn new(nodes: usize, links: &'a IndexVec<LinkId, LinkPlan>) -> Self {
        let mut outside = outside_core(nodes, links);
        let mut leaving = vec![Vec::new(); nodes];
        let better = |known: LinkId, id: LinkId| known == LinkId::NONE || links[id].delay < links[known].delay;
        for (id, link) in links.enumerate() {
            let from = link.from as usize;
            let to = link.to as usize;
            if let Some(at) = outside[from].as_mut().filter(|at| at.parent == link.to) {
                at.up = if better(at.up, id) { id } else { at.up };
            } else if let Some(at) = outside[to].as_mut().filter(|at| at.parent == link.from) {
                at.down = if better(at.down, id) { id } else { at.down };
            } else {
                leaving[from].push(id);
            }
        }
        Self { links, outside, leaving, trees: BTreeMap::new(), trees_computed: 0 }
    }

    /// The node and its ancestors, up to and including the first node of the core.
    fn ancestors(&self, node: u32) -> Vec<u32> {
        std::iter::successors(Some(node), |&node| Some(self.outside[node as usize]?.parent)).collect()
    }

    /// The links of the shortest path; `None` if there is no path.
    pub(super) fn path(&mut self, from: u32, to: u32) -> Option<Vec<LinkId>> {
        let mut up = self.ancestors(from);
        let mut down = self.ancestors(to);
        let through = if up.last() == down.last() {
            // Both nodes have the same root: the path turns at their lowest common ancestor.
            let same = up.iter().rev().zip(down.iter().rev()).take_while(|(one, other)| one == other).count();
            up.truncate(up.len() - same);
            down.truncate(down.len() - same);
            Vec::new()
        } else {
            self.through_core(up.pop()?, down.pop()?)?
        };
        let links =
            |node: &u32| self.outside[*node as usize].map_or((LinkId::NONE, LinkId::NONE), |at| (at.up, at.down));
        let up = up.iter().map(|node| links(node).0);
        let path: Vec<LinkId> = up.chain(through).chain(down.iter().rev().map(|node| links(node).1)).collect();
        path.iter().all(|&link| link != LinkId::NONE).then_some(path)
    }

    /// The shortest path between two nodes of the core.
    fn through_core(&mut self, from: u32, to: u32) -> Option<Vec<LinkId>> {
        let mut path = Vec::new();
        let mut node = from;
        let mut last = None;
        while node != to {
            let Some(link) = self.only_link(node, last) else {
                path.extend(self.by_tree(node, to)?);
                break;
            };
            if path.len() > self.leaving.len() {
                return None; // a cycle
            }
            path.push(link);
            (last, node) = (Some(node), self.links[link].to);
        }
        Some(path)
    }

    /// The best link to the next node of a path that came from `last`, if only one next node is possible.
    fn only_link(&self, node: u32, last: Option<u32>) -> Option<LinkId> {
        let links = || self.leaving[node as usize].iter().filter(|&&link| Some(self.links[link].to) != last);
        let to = self.links[*links().next()?].to;
        let best = links().min_by_key(|&&link| self.links[link].delay).copied();
        best.filter(|_| links().all(|&link| self.links[link].to == to))
    }

    /// The shortest path between two nodes of the core by the tree of the first node.
    fn by_tree(&mut self, from: u32, to: u32) -> Option<Vec<LinkId>> {
        if !self.trees.contains_key(&from) {
            if (self.trees.len() + 1) * self.leaving.len() > MAX_TREE_ENTRIES {
                self.trees.clear();
            }
            self.trees_computed += 1;
            self.trees.insert(from, self.tree(from));
        }
        let tree = &self.trees[&from];
        (tree[to as usize] != LinkId::NONE).then(|| self.walk_back(tree, from, to))
    }

    /// The path of a tree from its source to this node.
    fn walk_back(&self, tree: &[LinkId], from: u32, mut to: u32) -> Vec<LinkId> {
        let mut path = Vec::new();
        while to != from {
            path.push(tree[to as usize]);
            to = self.links[tree[to as usize]].from;
        }
        path.reverse();
        path
    }

    /// The last links of the shortest paths from a node of the core to all others (Dijkstra).
    fn tree(&self, from: u32) -> Vec<LinkId> {
        let mut best = vec![(u64::MAX, u32::MAX); self.leaving.len()];
        let mut tree = vec![LinkId::NONE; self.leaving.len()];
        best[from as usize] = (0, 0);
        let mut open = BinaryHeap::from([Reverse((0u64, 0u32, from))]);
        while let Some(Reverse((delay, hops, node))) = open.pop() {
            if best[node as usize] != (delay, hops) {
                continue;
            }
            for &id in &self.leaving[node as usize] {
                let link = &self.links[id];
                let to = link.to as usize;
                let length = (delay.saturating_add(link.delay.as_nanos()), hops + 1);
                if length < best[to] {
                    best[to] = length;
                    tree[to] = id;
                    open.push(Reverse((length.0, length.1, link.to)));
                } else if length == best[to] && self.comes_first(&tree, from, id, tree[to]) {
                    tree[to] = id;
                }
            }
        }
        tree
    }

    /// Whether, of two equally long paths that end with these links, the first one is smaller in the order of links.
    fn comes_first(&self, tree: &[LinkId], from: u32, one: LinkId, other: LinkId) -> bool {
        let path = |last: LinkId| (self.walk_back(tree, from, self.links[last].from), last);
        path(one) < path(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::builder::Network;
    use crate::schema::{Link, Queue};
    use cwndlab_network::aqm::CapacitySpec;
    use cwndlab_units::Duration;

    /// A network with these links, each with a delay of 1 ms.
    fn network(ends: &[(u32, u32)]) -> Network {
        let mut network = Network::default();
        let link = Link::plain("link", None, Duration::from_millis(1), Queue::drop_tail(CapacitySpec::Unlimited));
        let declared = network.template(&link, CapacitySpec::Unlimited, false, None);
        for &ends in ends {
            network.add(None, ends, link.delay, &declared);
        }
        network
    }

    /// 1,000 hosts at each of two routers: there is a single path, and no tree is computed. By hand, with the links in
    /// pairs: links 2 and 3 connect host 2 and router 0, links 2002 and 2003 host 1002 and router 1.
    #[test]
    fn hosts_at_routers_need_no_trees() {
        let both = |host: u32, router: u32| [(host, router), (router, host)];
        let hosts = (2..2002).flat_map(|host| both(host, u32::from(host >= 1002)));
        let network = network(&both(0, 1).into_iter().chain(hosts).collect::<Vec<_>>());
        let mut shortest = ShortestPaths::new(2002, &network.links);
        let route = |links: [u32; 3]| Some(links.map(LinkId::from).to_vec());
        for host in 0..1000 {
            let near = 2 + 2 * host;
            let far = 2002 + 2 * host;
            assert_eq!(shortest.path(2 + host, 1002 + host), route([near, 0, far + 1]));
            assert_eq!(shortest.path(1002 + host, 2 + host), route([far, 1, near + 1]));
        }
        assert_eq!(shortest.trees_computed, 0);
    }

    /// 1,000 hosts at each of three routers in a triangle, where paths have a choice: one tree for each router. The
    /// same holds if each host receives from a different router than it sends to.
    #[test]
    fn one_tree_per_router_is_computed() {
        for away in [0, 1] {
            let routers = [(0, 1), (1, 0), (1, 2), (2, 1), (2, 0), (0, 2)];
            let hosts = (3..3003).flat_map(|host| [(host, host % 3), ((host + away) % 3, host)]);
            let network = network(&routers.into_iter().chain(hosts).collect::<Vec<_>>());
            let mut shortest = ShortestPaths::new(3003, &network.links);
            for host in 3..3002 {
                assert!(shortest.path(host, host + 1).is_some() && shortest.path(host + 1, host).is_some());
            }
            assert_eq!(shortest.trees_computed, 3);
        }
    }
}
