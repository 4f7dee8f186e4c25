//! The parking-lot topology: bottlenecks in series, and access links at their routers.

use std::ops::Range;

use cwndlab_config::Faults;
use cwndlab_network::aqm::CapacitySpec;
use cwndlab_units::LinkId;

use super::access::Hosts;
use super::builder::Network;
use super::routed_flows::{flow_instances, RoutedFlow};
use crate::schema::{Access, Flow, Link, ParkingLot, Schema};

/// A bottleneck in both directions.
struct Hop {
    there: LinkId,
    back: LinkId,
    /// Sum of the delays of both directions, ns.
    delay: u64,
}

pub(super) fn parking_lot<'a>(
    schema: &'a Schema,
    ParkingLot { hops, access }: &ParkingLot,
    network: &mut Network,
    faults: &mut Faults,
) -> Vec<RoutedFlow<'a>> {
    let agents = access.agents.clone().or_else(|| hops.first().map(|hop| hop.agents.clone()));
    let access = &Access { agents, ..access.clone() };
    let hops: Vec<Hop> = hops.iter().enumerate().map(|(n, link)| add_hop(n, link, network)).collect();
    let hosts = Hosts::new(access, network);
    let mut placed = Vec::new();
    for one in flow_instances(schema) {
        let Some(crossed) = crossed(one.flow, hops.len(), faults) else { continue };
        let mut near = router(crossed.start, network);
        let mut far = router(crossed.end, network);
        let hops = &hops[crossed];
        let Some(rest) = one.remaining_rtt(hops.iter().map(|hop| hop.delay).sum(), faults) else { continue };
        let mut there: Vec<LinkId> = hops.iter().map(|hop| hop.there).collect();
        let mut back: Vec<LinkId> = hops.iter().rev().map(|hop| hop.back).collect();
        if one.flow.is_reverse() {
            std::mem::swap(&mut near, &mut far);
            std::mem::swap(&mut there, &mut back);
        }
        let (forward, reverse) = hosts.add(one.index, (near, far), rest, (&there, &back), network);
        placed.push(one.with_routes(forward, reverse));
    }
    placed
}

/// The router `index`; names of routers start at `r1`.
fn router(index: usize, network: &mut Network) -> u32 {
    network.node(&format!("r{}", index + 1))
}

/// Adds the hop `index` in both directions; the reverse link has no losses.
fn add_hop(index: usize, link: &Link, network: &mut Network) -> Hop {
    let near = router(index, network);
    let far = router(index + 1, network);
    let name = format!("hop{}", index + 1);
    let mut add = |name: &str, ends: (u32, u32), link: &Link| {
        let declared = network.template(link, CapacitySpec::Bdp(1.0, None), true, None);
        network.add(Some(name), ends, link.delay, &declared)
    };
    let there = add(&name, (near, far), link);
    let back = add(&format!("{name}-reverse"), (far, near), &link.without_losses());
    Hop { there, back, delay: 2 * link.delay.as_nanos() }
}

/// Indices of the hops between the routers where the flow enters and leaves; `None` after a fault.
fn crossed(flow: &Flow, hops: usize, faults: &mut Faults) -> Option<Range<usize>> {
    let last = hops as u64 + 1;
    let enter = flow.enter.unwrap_or(1);
    let leave = flow.leave.unwrap_or(last);
    if enter >= leave || leave > last {
        faults.add(
            format!("{}.leave", flow.path),
            format!("there is no path from router {enter} to router {leave}"),
            format!("routers are numbered from 1 to {last}, and 'leave' is above 'enter'"),
        );
        return None;
    }
    Some(enter as usize - 1..leave as usize - 1)
}
