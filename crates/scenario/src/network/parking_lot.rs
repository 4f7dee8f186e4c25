//! The parking lot: a row of bottlenecks, and access links at its routers.

use std::ops::Range;

use cwndlab_config::Faults;
use cwndlab_network::aqm::Size;

use super::builder::Network;
use super::placed::{singles, Placed};
use crate::schema::{Access, Flow, Link, Schema};

/// A bottleneck in both directions.
struct Hop {
    there: u32,
    back: u32,
    /// Delay both ways, ns.
    delay: u64,
}

pub(super) fn parking_lot<'a>(
    schema: &'a Schema,
    hops: &[Link],
    access: &Access,
    network: &mut Network,
    faults: &mut Faults,
) -> Vec<Placed<'a>> {
    let agents = access.agents.clone().or_else(|| hops.first().map(|hop| hop.agents.clone()));
    let access = &Access { agents, ..access.clone() };
    let hops: Vec<Hop> = hops.iter().enumerate().map(|(n, link)| add_hop(n, link, network)).collect();
    let mut placed = Vec::new();
    for one in singles(schema) {
        let Some(crossed) = crossed(one.flow, hops.len(), faults) else { continue };
        let (mut near, mut far) = (router(crossed.start), router(crossed.end));
        let hops = &hops[crossed];
        let Some(rest) = one.rest(hops.iter().map(|hop| hop.delay).sum(), faults) else { continue };
        let mut there: Vec<u32> = hops.iter().map(|hop| hop.there).collect();
        let mut back: Vec<u32> = hops.iter().rev().map(|hop| hop.back).collect();
        if one.flow.reverse {
            std::mem::swap(&mut near, &mut far);
            std::mem::swap(&mut there, &mut back);
        }
        let (forward, reverse) = network.hosts(one.index, (&near, &far), access, rest).routes(&there, &back);
        placed.push(one.on(forward, reverse));
    }
    placed
}

/// Name of a router; they are written from 1 on.
fn router(index: usize) -> String {
    format!("r{}", index + 1)
}

/// Adds the hop of this index in both directions; the way back loses nothing.
fn add_hop(index: usize, link: &Link, network: &mut Network) -> Hop {
    let (near, far, name) = (router(index), router(index + 1), format!("hop{}", index + 1));
    let plain = link.without_losses();
    let there = network.add(name.clone(), &near, &far, link, Size::Bdp(1.0, None), true);
    let back = network.add(format!("{name}-reverse"), &far, &near, &plain, Size::Bdp(1.0, None), true);
    Hop { there, back, delay: 2 * link.delay.0 }
}

/// Indices of the hops between the routers where the flow enters and leaves; `None` is a fault.
fn crossed(flow: &Flow, hops: usize, faults: &mut Faults) -> Option<Range<usize>> {
    let last = hops as u64 + 1;
    let (enter, leave) = (flow.hops.0.unwrap_or(1), flow.hops.1.unwrap_or(last));
    if enter >= leave || leave > last {
        faults.add(
            format!("{}.leave", flow.path),
            format!("from router {enter} to router {leave} there is no way"),
            format!("routers count from 1 to {last}; a flow leaves after it enters"),
        );
        return None;
    }
    Some(enter as usize - 1..leave as usize - 1)
}
