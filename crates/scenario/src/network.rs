//! From a scenario to the plan: nodes, links and routes of each kind of topology.

mod access;
mod air;
mod builder;
mod cost;
mod dumbbell;
mod flow_plan;
mod graph;
mod parking_lot;
mod placed;
mod queue_sizes;
mod routes;
mod shared;
mod shortest;
mod wlan;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cwndlab_config::{Fault, Faults};
use cwndlab_control::{Algorithm, Catalogue};
use serde_json::Value;

use crate::plan::{MediumPlan, Plan};
use crate::schema::{Flow, Schema, Topology};
use builder::Network;
use dumbbell::dumbbell;
use flow_plan::FlowPlans;
use graph::graph;
use parking_lot::parking_lot;
use placed::Placed;
use queue_sizes::size_queues;
use wlan::wlan;

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

/// Makes the plan.
pub fn plan(schema: &Schema, catalogue: &Catalogue, scenario_hash: String) -> Result<(Plan, Vec<String>), Vec<Fault>> {
    let mut faults = Faults::default();
    let mut network = Network { duration: schema.duration, ..Network::default() };
    let mut notes: Vec<String> = schema.used_classes().map(ToString::to_string).collect();
    let algorithms = algorithms(schema, catalogue, &mut faults);
    let flows = schema.flows.iter().map(|flow| flow.timing.count).sum::<u64>();
    if flows > MOST_FLOWS {
        faults.add("flow", format!("there are {flows} flows; {MOST_FLOWS} are the most"), "a smaller 'count'");
        return Err(faults.0);
    }
    let (placed, media) = place(schema, &mut network, &mut faults);
    refuse_equal_names(&placed, &mut faults);
    refuse_long_routes(&placed, &mut faults);
    if faults.0.is_empty() {
        size_queues(&mut network, &placed, &mut notes, &mut faults);
        air::join_queues(&mut network.links);
    }
    if faults.0.is_empty() {
        refuse_loads_of_no_line(&placed, &network, &mut faults);
    }
    if !faults.0.is_empty() {
        return Err(faults.0);
    }
    let paths: Vec<&str> = placed.iter().map(|one| one.single.flow.path.as_str()).collect();
    let mut plans = FlowPlans::new(schema, &network, algorithms);
    let flows = placed.into_iter().map(|one| plans.plan(one)).collect();
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
    let faults = cost::check(&plan, &paths);
    if faults.is_empty() {
        Ok((plan, notes))
    } else {
        Err(faults)
    }
}

/// The algorithm of each `[[flow]]`, read once for equal texts; one over UDP has none.
fn algorithms<'a>(schema: &'a Schema, catalogue: &Catalogue, faults: &mut Faults) -> Vec<Option<Arc<Algorithm>>> {
    let mut known: BTreeMap<&str, Arc<Algorithm>> = BTreeMap::new();
    let mut parse = |flow: &'a Flow| {
        let text = flow.algorithm.as_deref()?;
        if let Some(known) = known.get(text) {
            return Some(known.clone());
        }
        let parsed = catalogue.parse(text).map(Arc::new);
        let parsed = parsed.map_err(|fault| faults.add(format!("{}.algorithm", flow.path), fault.what, fault.hint));
        Some(known.entry(text).or_insert(parsed.ok()?).clone())
    };
    schema.flows.iter().map(&mut parse).collect()
}

/// Makes the network of the scenario's kind; the flows with their routes, and the media.
fn place<'a>(schema: &'a Schema, network: &mut Network, faults: &mut Faults) -> (Vec<Placed<'a>>, Vec<MediumPlan>) {
    match &schema.topology {
        Topology::Dumbbell(forward, reverse, access) => {
            (dumbbell(schema, forward, reverse, access, network, faults), Vec::new())
        }
        Topology::ParkingLot(hops, access) => (parking_lot(schema, hops, access, network, faults), Vec::new()),
        Topology::Graph(nodes, links) => {
            let placed = graph(schema, nodes, links, network, faults);
            (placed, air::media(schema, network, faults))
        }
        Topology::Wlan(lan) => wlan(schema, lan, network, faults),
    }
}

/// Records tell flows apart by their names.
fn refuse_equal_names(placed: &[Placed<'_>], faults: &mut Faults) {
    let mut names = BTreeSet::new();
    for Placed { single, .. } in placed {
        if !names.insert(single.name.to_string()) {
            faults.add(
                format!("{}.name", single.flow.path),
                format!("'{}' is the name of another flow", single.name),
                "names are unique",
            );
        }
    }
}

/// Routes that no packet could travel are faults.
fn refuse_long_routes(placed: &[Placed<'_>], faults: &mut Faults) {
    for Placed { single, forward, reverse } in placed {
        for (way, route) in [("forward", forward), ("reverse", reverse)] {
            if route.len() > MOST_HOPS {
                faults.add(
                    &single.flow.path,
                    format!("the {way} route of '{}' has {} links; {MOST_HOPS} are the most", single.name, route.len()),
                    "shorten the path",
                );
            }
        }
    }
}

/// A load is a share of a line's rate: the route has such a line.
fn refuse_loads_of_no_line(placed: &[Placed<'_>], network: &Network, faults: &mut Faults) {
    for Placed { single, forward, .. } in placed.iter().filter(|placed| placed.single.number == 0) {
        if network.slowest(forward).is_none() && single.flow.workload.needs_line() {
            faults.add(
                format!("{}.workload.load", single.flow.path),
                "no line of the flow's route has a rate of which it could be a share",
                "write 'per_second'",
            );
        }
    }
}
