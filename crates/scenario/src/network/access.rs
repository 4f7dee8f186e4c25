//! Access links between hosts and routers, and the wires of a wireless LAN.

use std::sync::Arc;

use cwndlab_network::aqm::CapacitySpec;
use cwndlab_units::{Duration, LinkId};

use super::builder::{LinkTemplate, Network};
use crate::plan::Name;
use crate::schema::{Access, Link};

/// The hosts of flows. Their links differ only in their delays, their names in the index of the flow.
pub(super) struct Hosts {
    link: LinkTemplate,
    sources: Arc<str>,
    destinations: Arc<str>,
}

impl Hosts {
    /// Hosts with these access links.
    pub(super) fn new(access: &Access, network: &mut Network) -> Self {
        Self { link: network.access_template(access), sources: "s".into(), destinations: "d".into() }
    }

    /// Adds the hosts of the flow `index` and their four links to the routers `near` and `far`, with a total delay of
    /// `rest` ns. Returns the forward and the reverse route, with the links `there` and `back` between the routers.
    pub(super) fn add(
        &self,
        index: usize,
        (near, far): (u32, u32),
        rest: u64,
        (there, back): (&[LinkId], &[LinkId]),
        network: &mut Network,
    ) -> (Box<[LinkId]>, Box<[LinkId]>) {
        let source = network.add_node(Name::numbered(self.sources.clone(), index as u32));
        let destination = network.add_node(Name::numbered(self.destinations.clone(), index as u32));
        let ends = [(source, near), (far, destination), (destination, far), (near, source)];
        let delay = |n: u64| Duration::from_nanos(rest / 4 + u64::from(n < rest % 4));
        let [up, down, back_up, back_down] =
            [0, 1, 2, 3].map(|n| network.add(None, ends[n], delay(n as u64), &self.link));
        let route = |first, middle: &[LinkId], last| [&[first], middle, &[last]].concat().into_boxed_slice();
        (route(up, there, down), route(back_up, back, back_down))
    }
}

impl Network {
    /// The template of access links.
    pub(super) fn access_template(&mut self, access: &Access) -> LinkTemplate {
        let mut link = Link::plain("access", access.rate, Duration::ZERO, access.queue);
        link.agents = access.agents.clone().unwrap_or_default();
        self.template(&link, CapacitySpec::Unlimited, false, None)
    }
}
