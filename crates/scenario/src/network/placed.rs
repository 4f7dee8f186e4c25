//! The flows of a scenario one by one, as a topology places them on routes.

use cwndlab_config::Faults;
use cwndlab_units::Duration;

use crate::schema::{Flow, Schema};

/// One flow of a `count`, with its routes.
pub(super) struct Placed<'a> {
    pub(super) flow: &'a Flow,
    pub(super) number: u64,
    pub(super) name: String,
    pub(super) forward: Vec<u32>,
    pub(super) reverse: Vec<u32>,
}

/// Every flow as often as its `count` says, with its index over all.
pub(super) fn expand(schema: &Schema) -> impl Iterator<Item = (usize, &Flow, u64, String)> {
    schema
        .flows
        .iter()
        .enumerate()
        .flat_map(|(n, flow)| (0..flow.count).map(move |number| (n, flow, number)))
        .enumerate()
        .map(|(index, (n, flow, number))| {
            let name = flow.name.clone().unwrap_or_else(|| format!("flow{n}"));
            (index, flow, number, if flow.count > 1 { format!("{name}-{}", number + 1) } else { name })
        })
}

/// The flow's RTT beyond what the links between the routers take; `None` is a fault.
pub(super) fn rest(flow: &Flow, taken: u64, faults: &mut Faults) -> Option<u64> {
    let Some(rtt) = flow.rtt else {
        faults.add(format!("{}.rtt", flow.path), "is missing", "the base RTT of the flow: 'rtt = \"50 ms\"'");
        return None;
    };
    if rtt.0 < taken {
        let needed = Duration(taken);
        faults.add(
            format!("{}.rtt", flow.path),
            format!("{rtt} is shorter than the {needed} that the links between the routers take both ways"),
            "a longer rtt, or a shorter delay of the links",
        );
        return None;
    }
    Some(rtt.0 - taken)
}
