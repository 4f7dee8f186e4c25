//! Static shortest paths by delay, then by hops, then by the links' order.
//!
//! The work grows with the network and not with its square, where most nodes are hosts. A node with one neighbour only lies on
//! no way between two others; nor does a node that has one left when those are taken away, and so on. What remains is the
//! core. A way leads from its source up to the core, through it, and down to its destination. In the core a node with one
//! link out leaves no choice either. Only where there is one, Dijkstra's tree of the shortest paths to all nodes is made.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::plan::LinkPlan;

/// Stands for no link.
const NONE: u32 = u32::MAX;
/// Trees are kept up to this number of their entries, 64 MB.
const MOST_KEPT: usize = 16_000_000;

/// A node outside of the core.
#[derive(Clone, Copy)]
struct Hanging {
    /// Its neighbour on the way to the core.
    parent: u32,
    /// The best link there.
    up: u32,
    /// The best link back.
    down: u32,
}

/// The shortest paths of a network.
pub(super) struct Shortest<'a> {
    links: &'a [LinkPlan],
    hanging: Vec<Option<Hanging>>,
    /// By node of the core: links that leave it to others of the core.
    leaving: Vec<Vec<u32>>,
    /// By source: for each node the last link of the way there.
    trees: BTreeMap<u32, Vec<u32>>,
    /// How many trees were made.
    pub(super) made: usize,
}

/// By node: its neighbours in either direction, once each.
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

/// The nodes outside of the core, without their links.
fn hanging(nodes: usize, links: &[LinkPlan]) -> Vec<Option<Hanging>> {
    let neighbours = neighbours(nodes, links);
    let mut left: Vec<usize> = neighbours.iter().map(Vec::len).collect();
    let mut hanging: Vec<Option<Hanging>> = vec![None; nodes];
    let mut open: Vec<u32> = (0..nodes as u32).filter(|&node| left[node as usize] == 1).collect();
    while let Some(node) = open.pop() {
        let parent = neighbours[node as usize].iter().find(|&&one| hanging[one as usize].is_none());
        let Some(&parent) = parent else { continue }; // the last of a tree
        hanging[node as usize] = Some(Hanging { parent, up: NONE, down: NONE });
        left[parent as usize] -= 1;
        if left[parent as usize] == 1 {
            open.push(parent);
        }
    }
    hanging
}

impl<'a> Shortest<'a> {
    pub(super) fn new(nodes: usize, links: &'a [LinkPlan]) -> Self {
        let (mut hanging, mut leaving) = (hanging(nodes, links), vec![Vec::new(); nodes]);
        let better =
            |known: u32, index: u32| known == NONE || links[index as usize].delay < links[known as usize].delay;
        for (index, link) in (0u32..).zip(links) {
            let (from, to) = (link.from as usize, link.to as usize);
            if let Some(at) = hanging[from].as_mut().filter(|at| at.parent == link.to) {
                at.up = if better(at.up, index) { index } else { at.up };
            } else if let Some(at) = hanging[to].as_mut().filter(|at| at.parent == link.from) {
                at.down = if better(at.down, index) { index } else { at.down };
            } else {
                leaving[from].push(index);
            }
        }
        Self { links, hanging, leaving, trees: BTreeMap::new(), made: 0 }
    }

    /// The node and those between it and the core, the first node of the core included.
    fn ancestors(&self, node: u32) -> Vec<u32> {
        std::iter::successors(Some(node), |&node| Some(self.hanging[node as usize]?.parent)).collect()
    }

    /// The links of the shortest path; `None` if there is no path.
    pub(super) fn path(&mut self, from: u32, to: u32) -> Option<Vec<u32>> {
        let (mut up, mut down) = (self.ancestors(from), self.ancestors(to));
        let through = if up.last() == down.last() {
            // Both hang from the same node: the way turns where it meets the other.
            let same = up.iter().rev().zip(down.iter().rev()).take_while(|(one, other)| one == other).count();
            up.truncate(up.len() - same);
            down.truncate(down.len() - same);
            Vec::new()
        } else {
            self.through_core(up.pop()?, down.pop()?)?
        };
        let links = |node: &u32| self.hanging[*node as usize].map_or((NONE, NONE), |at| (at.up, at.down));
        let up = up.iter().map(|node| links(node).0);
        let path: Vec<u32> = up.chain(through).chain(down.iter().rev().map(|node| links(node).1)).collect();
        path.iter().all(|&link| link != NONE).then_some(path)
    }

    /// The shortest path between two nodes of the core.
    fn through_core(&mut self, from: u32, to: u32) -> Option<Vec<u32>> {
        let (mut path, mut node, mut last) = (Vec::new(), from, NONE);
        while node != to {
            let Some(link) = self.only_way(node, last) else {
                path.extend(self.by_tree(node, to)?);
                break;
            };
            if path.len() > self.leaving.len() {
                return None; // a circle
            }
            path.push(link);
            (last, node) = (node, self.links[link as usize].to);
        }
        Some(path)
    }

    /// The best link to the only node where a way that came from `last` can go on from here, if there is just one.
    fn only_way(&self, node: u32, last: u32) -> Option<u32> {
        let links = || self.leaving[node as usize].iter().filter(|&&link| self.links[link as usize].to != last);
        let to = self.links[*links().next()? as usize].to;
        let best = links().min_by_key(|&&link| self.links[link as usize].delay).copied();
        best.filter(|_| links().all(|&link| self.links[link as usize].to == to))
    }

    /// The shortest path between two nodes of the core by the tree of the first one.
    fn by_tree(&mut self, from: u32, to: u32) -> Option<Vec<u32>> {
        if !self.trees.contains_key(&from) {
            if (self.trees.len() + 1) * self.leaving.len() > MOST_KEPT {
                self.trees.clear();
            }
            self.made += 1;
            self.trees.insert(from, self.tree(from));
        }
        let tree = &self.trees[&from];
        (tree[to as usize] != NONE).then(|| self.walk_back(tree, from, to))
    }

    /// The links of a tree that lead from its source to this node.
    fn walk_back(&self, tree: &[u32], from: u32, mut to: u32) -> Vec<u32> {
        let mut path = Vec::new();
        while to != from {
            path.push(tree[to as usize]);
            to = self.links[tree[to as usize] as usize].from;
        }
        path.reverse();
        path
    }

    /// The last links of the shortest paths from a node of the core to all others (Dijkstra).
    fn tree(&self, from: u32) -> Vec<u32> {
        let mut best = vec![(u64::MAX, u32::MAX); self.leaving.len()];
        let mut tree = vec![NONE; self.leaving.len()];
        best[from as usize] = (0, 0);
        let mut open = BinaryHeap::from([Reverse((0u64, 0u32, from))]);
        while let Some(Reverse((delay, hops, node))) = open.pop() {
            if best[node as usize] != (delay, hops) {
                continue;
            }
            for &index in &self.leaving[node as usize] {
                let link = &self.links[index as usize];
                let (to, length) = (link.to as usize, (delay.saturating_add(link.delay.0), hops + 1));
                if length < best[to] {
                    best[to] = length;
                    tree[to] = index;
                    open.push(Reverse((length.0, length.1, link.to)));
                } else if length == best[to] && self.comes_first(&tree, from, index, tree[to]) {
                    tree[to] = index;
                }
            }
        }
        tree
    }

    /// Of two equally long ways to a node, which end with these links, the first one has the earlier links.
    fn comes_first(&self, tree: &[u32], from: u32, one: u32, other: u32) -> bool {
        let way = |last: u32| (self.walk_back(tree, from, self.links[last as usize].from), last);
        way(one) < way(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::builder::Network;
    use crate::schema::{Link, Queue};
    use cwndlab_network::aqm::Size;
    use cwndlab_units::Duration;

    /// Links between nodes of these numbers, 1 ms long.
    fn network(ends: &[(u32, u32)]) -> Network {
        let mut network = Network::default();
        let link = Link::plain("link", None, Duration::from_millis(1), Queue::drop_tail(Size::Unlimited));
        let declared = network.declare(&link, Size::Unlimited, false, None);
        for &ends in ends {
            network.add(None, ends, link.delay, &declared);
        }
        network
    }

    /// 1,000 hosts at each of two routers: there is one way only, and no tree is made. By hand, with the links in pairs:
    /// host 2 is joined to router 0 by links 2 and 3, host 1002 to router 1 by 2002 and 2003.
    #[test]
    fn hosts_at_routers_need_no_trees() {
        let both = |host: u32, router: u32| [(host, router), (router, host)];
        let hosts = (2..2002).flat_map(|host| both(host, u32::from(host >= 1002)));
        let network = network(&both(0, 1).into_iter().chain(hosts).collect::<Vec<_>>());
        let mut shortest = Shortest::new(2002, &network.links);
        for host in 0..1000 {
            let (near, far) = (2 + 2 * host, 2002 + 2 * host);
            assert_eq!(shortest.path(2 + host, 1002 + host), Some(vec![near, 0, far + 1]));
            assert_eq!(shortest.path(1002 + host, 2 + host), Some(vec![far, 1, near + 1]));
        }
        assert_eq!(shortest.made, 0);
    }

    /// 1,000 hosts at each of three routers in a triangle, where a way has a choice: one tree for each router. So too if
    /// each host is reached from another router than the one that it sends to.
    #[test]
    fn every_router_needs_one_tree() {
        for away in [0, 1] {
            let routers = [(0, 1), (1, 0), (1, 2), (2, 1), (2, 0), (0, 2)];
            let hosts = (3..3003).flat_map(|host| [(host, host % 3), ((host + away) % 3, host)]);
            let network = network(&routers.into_iter().chain(hosts).collect::<Vec<_>>());
            let mut shortest = Shortest::new(3003, &network.links);
            for host in 3..3002 {
                assert!(shortest.path(host, host + 1).is_some() && shortest.path(host + 1, host).is_some());
            }
            assert_eq!(shortest.made, 3);
        }
    }
}
