//! Access links: from hosts to routers, and the wires of a wireless LAN.

use std::sync::Arc;

use cwndlab_network::aqm::Size;
use cwndlab_units::Duration;

use super::builder::{Declared, Network};
use crate::plan::Name;
use crate::schema::{Access, Link};

/// Hosts of flows: their links are alike but for their delays, and they have one name each with the flow's index behind it.
pub(super) struct Hosts {
    link: Declared,
    sources: Arc<str>,
    destinations: Arc<str>,
}

impl Hosts {
    /// Hosts whose links to their routers are these.
    pub(super) fn new(access: &Access, network: &mut Network) -> Self {
        Self { link: network.declare_access(access), sources: "s".into(), destinations: "d".into() }
    }

    /// Adds the hosts of the flow of this index and their four links, to the routers `near` its source and `far` from it,
    /// which take `rest` ns together. The routes that lead over them and, between the routers, over `there` and `back`.
    pub(super) fn add(
        &self,
        index: usize,
        (near, far): (u32, u32),
        rest: u64,
        (there, back): (&[u32], &[u32]),
        network: &mut Network,
    ) -> (Box<[u32]>, Box<[u32]>) {
        let source = network.add_node(Name::numbered(self.sources.clone(), index as u32));
        let destination = network.add_node(Name::numbered(self.destinations.clone(), index as u32));
        let ends = [(source, near), (far, destination), (destination, far), (near, source)];
        let delay = |n: u64| Duration(rest / 4 + u64::from(n < rest % 4));
        let [up, down, back_up, back_down] =
            [0, 1, 2, 3].map(|n| network.add(None, ends[n], delay(n as u64), &self.link));
        let route = |first: u32, middle: &[u32], last: u32| [&[first], middle, &[last]].concat().into_boxed_slice();
        (route(up, there, down), route(back_up, back, back_down))
    }
}

impl Network {
    /// What access links have in common.
    pub(super) fn declare_access(&mut self, access: &Access) -> Declared {
        let mut link = Link::plain("access", access.rate, Duration::ZERO, access.queue);
        link.agents = access.agents.clone().unwrap_or_default();
        self.declare(&link, Size::Unlimited, false, None)
    }
}
