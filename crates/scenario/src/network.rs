//! From a scenario to the plan: nodes, links and routes of each kind of topology.

mod air;
mod builder;
mod cost;
mod dumbbell;
mod flow_plan;
mod graph;
mod parking_lot;
mod placed;
mod queue_sizes;
mod wlan;

use std::collections::{BTreeMap, BTreeSet};

use cwndlab_config::{Fault, Faults};
use cwndlab_control::{Algorithm, Catalogue};
use serde_json::Value;

use crate::plan::Plan;
use crate::schema::{Flow, Schema, Topology};
use builder::Network;
use flow_plan::flow_plan;
use placed::Placed;

/// The most flows of a scenario.
const MOST_FLOWS: u64 = 1_000_000;
/// The most links of a route: as many as the hops that an IP packet may make (RFC 791, 3.1: the time to live has 8 bits).
const MOST_HOPS: usize = 255;

/// Faults of the algorithms alone, for documents whose other faults forbid a plan.
#[must_use]
pub fn algorithm_faults(document: &Value, catalogue: &Catalogue) -> Vec<Fault> {
    let flows = document.get("flow").and_then(Value::as_array).into_iter().flatten();
    let texts = flows.enumerate().filter_map(|(n, flow)| Some((n, flow.get("algorithm")?.as_str()?)));
    texts
        .filter_map(|(n, text)| {
            let fault = catalogue.parse(text).err()?;
            Some(Fault::new(format!("flow[{n}].algorithm"), fault.what, fault.hint))
        })
        .collect()
}

/// Routes that no packet could travel are faults.
fn refuse_long_routes(placed: &[Placed<'_>], faults: &mut Faults) {
    for one in placed {
        for (way, route) in [("forward", &one.forward), ("reverse", &one.reverse)] {
            if route.len() > MOST_HOPS {
                faults.add(
                    &one.flow.path,
                    format!("the {way} route of '{}' has {} links; {MOST_HOPS} are the most", one.name, route.len()),
                    "shorten the path",
                );
            }
        }
    }
}

/// Makes the plan.
pub fn plan(schema: &Schema, catalogue: &Catalogue, scenario_hash: String) -> Result<(Plan, Vec<String>), Vec<Fault>> {
    let mut faults = Faults::default();
    let mut network = Network { duration: schema.duration, ..Network::default() };
    let mut notes: Vec<String> = schema.used_classes().map(ToString::to_string).collect();
    let algorithms: Vec<Option<Algorithm>> = schema
        .flows
        .iter()
        .map(|flow| {
            catalogue
                .parse(flow.algorithm.as_ref()?)
                .map_err(|fault| faults.add(format!("{}.algorithm", flow.path), fault.what, fault.hint))
                .ok()
        })
        .collect();
    let flows = schema.flows.iter().map(|flow| flow.count).sum::<u64>();
    if flows > MOST_FLOWS {
        faults.add("flow", format!("there are {flows} flows; {MOST_FLOWS} are the most"), "a smaller 'count'");
        return Err(faults.0);
    }
    let mut media = Vec::new();
    let placed = match &schema.topology {
        Topology::Dumbbell(forward, reverse, access) => {
            dumbbell::dumbbell(schema, forward, reverse, access, &mut network, &mut faults)
        }
        Topology::ParkingLot(hops, access) => parking_lot::parking_lot(schema, hops, access, &mut network, &mut faults),
        Topology::Graph(nodes, links) => {
            let placed = graph::graph(schema, nodes, links, &mut network, &mut faults);
            media = air::media(schema, &network, &mut faults);
            placed
        }
        Topology::Wlan(wlan) => {
            let (placed, one) = wlan::wlan(schema, wlan, &mut network, &mut faults);
            media = one;
            placed
        }
    };
    let mut names = BTreeSet::new();
    for one in &placed {
        if !names.insert(one.name.clone()) {
            faults.add(
                format!("{}.name", one.flow.path),
                format!("'{}' is the name of another flow", one.name),
                "names are unique",
            );
        }
    }
    refuse_long_routes(&placed, &mut faults);
    let mut rtts = vec![0; network.links.len()];
    for one in &placed {
        let rtt = network.delay(&one.forward) + network.delay(&one.reverse);
        for &link in one.forward.iter().chain(&one.reverse) {
            rtts[link as usize] = rtts[link as usize].max(rtt);
        }
    }
    if faults.0.is_empty() {
        let used = placed.iter().flat_map(|one| one.forward.iter().chain(&one.reverse)).copied().collect();
        network.size_queues(&rtts, &used, &mut notes, &mut faults);
        air::join_queues(&mut network.links);
    }
    if !faults.0.is_empty() {
        return Err(faults.0);
    }
    for one in placed.iter().filter(|one| one.number == 0) {
        let slowest = network.slowest(&one.forward);
        if slowest.is_none() && one.flow.workload.needs_line() {
            faults.add(
                format!("{}.workload.load", one.flow.path),
                "no line of the flow's route has a rate of which it could be a share",
                "write 'per_second'",
            );
        }
    }
    if !faults.0.is_empty() {
        return Err(faults.0);
    }
    let index: BTreeMap<*const Flow, usize> = schema.flows.iter().map(std::ptr::from_ref).zip(0..).collect();
    let flows = placed
        .iter()
        .map(|one| flow_plan(one, algorithms[index[&std::ptr::from_ref(one.flow)]].clone(), schema, &network))
        .collect();
    let plan = Plan {
        scenario_hash,
        duration: schema.duration,
        measure_from: schema.measure_from,
        sample_interval: schema.sample_interval,
        packets: schema.packets,
        nodes: network.nodes,
        links: network.links,
        media,
        flows,
    };
    let faults = cost::check(&plan, |number| placed[number].flow.path.clone());
    if faults.is_empty() {
        Ok((plan, notes))
    } else {
        Err(faults)
    }
}
