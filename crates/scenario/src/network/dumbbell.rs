//! The dumbbell topology: one bottleneck between two routers, and access links.

use cwndlab_config::Faults;
use cwndlab_network::aqm::CapacitySpec;

use super::access::Hosts;
use super::builder::Network;
use super::routed_flows::{flow_instances, RoutedFlow};
use crate::schema::{Access, Dumbbell, Link, Schema};

pub(super) fn dumbbell<'a>(
    schema: &'a Schema,
    Dumbbell { bottleneck: forward, reverse, access }: &Dumbbell,
    network: &mut Network,
    faults: &mut Faults,
) -> Vec<RoutedFlow<'a>> {
    let access = &Access { agents: access.agents.clone().or_else(|| Some(forward.agents.clone())), ..access.clone() };
    let near = network.node("r1");
    let far = network.node("r2");
    let mut bottleneck = |name: &str, ends: (u32, u32), link: &Link| {
        let declared = network.template(link, CapacitySpec::Bdp(1.0, None), true, None);
        network.add(Some(name), ends, link.delay, &declared)
    };
    let there = bottleneck("bottleneck", (near, far), forward);
    let back = bottleneck("bottleneck-reverse", (far, near), reverse);
    let hosts = Hosts::new(access, network);
    let mut placed = Vec::new();
    for one in flow_instances(schema) {
        let Some(rest) = one.remaining_rtt(forward.delay.as_nanos() + reverse.delay.as_nanos(), faults) else {
            continue;
        };
        let (routers, out, home) =
            if one.flow.is_reverse() { ((far, near), back, there) } else { ((near, far), there, back) };
        let (forward, reverse) = hosts.add(one.index, routers, rest, (&[out], &[home]), network);
        placed.push(one.with_routes(forward, reverse));
    }
    placed
}
