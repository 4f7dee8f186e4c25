//! The parking lot: a row of bottlenecks, and access links at its routers.

use cwndlab_config::Faults;
use cwndlab_network::aqm::Size;
use cwndlab_units::Duration;

use super::builder::Network;
use super::placed::{expand, rest, Placed};
use crate::schema::{Access, Link, Schema};

pub(super) fn parking_lot<'a>(
    schema: &'a Schema,
    hops: &[Link],
    access: &Access,
    network: &mut Network,
    faults: &mut Faults,
) -> Vec<Placed<'a>> {
    let router = |n: usize| format!("r{}", n + 1);
    let agents = access.agents.clone().or_else(|| hops.first().map(|hop| hop.agents.clone()));
    let access = &Access { agents, ..access.clone() };
    let mut ways = Vec::new();
    for (n, hop) in hops.iter().enumerate() {
        let there = network.add(format!("hop{}", n + 1), &router(n), &router(n + 1), hop, Size::Bdp(1.0, None), true);
        let plain = hop.without_losses();
        let back = network.add(
            format!("hop{}-reverse", n + 1),
            &router(n + 1),
            &router(n),
            &plain,
            Size::Bdp(1.0, None),
            true,
        );
        ways.push((there, back, 2 * hop.delay.0));
    }
    let mut placed = Vec::new();
    for (index, flow, number, name) in expand(schema) {
        let last = hops.len() as u64 + 1;
        let (enter, leave) = (flow.hops.0.unwrap_or(1), flow.hops.1.unwrap_or(last));
        if enter >= leave || leave > last {
            faults.add(
                format!("{}.leave", flow.path),
                format!("from router {enter} to router {leave} there is no way"),
                format!("routers count from 1 to {last}; a flow leaves after it enters"),
            );
            continue;
        }
        let (enter, leave) = (enter as usize - 1, leave as usize - 1);
        let taken = ways[enter..leave].iter().map(|(_, _, delay)| delay).sum();
        let Some(rest) = rest(flow, taken, faults) else { continue };
        let (s, d) = (format!("s{index}"), format!("d{index}"));
        let (near, far) = if flow.reverse { (router(leave), router(enter)) } else { (router(enter), router(leave)) };
        let quarter = |n: u64| Duration(rest / 4 + u64::from(n < rest % 4));
        let up = network.access(&s, &near, access, quarter(0));
        let down = network.access(&far, &d, access, quarter(1));
        let back_up = network.access(&d, &far, access, quarter(2));
        let back_down = network.access(&near, &s, access, quarter(3));
        let mut there: Vec<u32> = ways[enter..leave].iter().map(|way| way.0).collect();
        let mut back: Vec<u32> = ways[enter..leave].iter().rev().map(|way| way.1).collect();
        if flow.reverse {
            std::mem::swap(&mut there, &mut back);
        }
        let route = |first, middle: Vec<u32>, last| [vec![first], middle, vec![last]].concat();
        placed.push(Placed {
            flow,
            number,
            name,
            forward: route(up, there, down),
            reverse: route(back_up, back, back_down),
        });
    }
    placed
}
