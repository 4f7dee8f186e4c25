//! Conversion of a scenario to a plan: nodes, links and routes of each kind of topology.

mod access;
mod builder;
mod cell_links;
mod dumbbell;
mod flow_plan;
mod forwarding;
mod graph;
mod interner;
mod parking_lot;
mod queue_sizes;
mod quic_flows;
mod radio_links;
mod routed_flows;
mod routes;
mod row_limits;
mod shortest_paths;
mod wlan;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cwndlab_config::Faults;
use cwndlab_control::{Algorithm, Catalogue};
use cwndlab_units::{Fault, FlowId, LinkId};
use serde_json::Value;

use crate::perturbation;
use crate::plan::{CellPlan, MediumPlan, NeighbourhoodPlan, Plan};
use crate::schema::{Flow, Schema, Topology};
use builder::Network;
use dumbbell::dumbbell;
use flow_plan::FlowPlans;
use graph::graph;
use parking_lot::parking_lot;
use queue_sizes::size_queues;
use routed_flows::RoutedFlow;
use wlan::wlan;

/// Maximum number of flows of a scenario.
const MAX_FLOWS: u64 = 1_000_000;
/// Maximum number of links of a route: the maximum hops of an IP packet (RFC 791, 3.1: the time to live has 8 bits).
const MAX_HOPS: usize = 255;

/// The faults of algorithm texts, for documents without a plan because of other faults.
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

/// Creates the plan, and notes on derived values.
///
/// # Errors
/// All faults of the scenario.
pub fn plan(schema: &Schema, catalogue: &Catalogue, scenario_hash: String) -> Result<(Plan, Vec<String>), Vec<Fault>> {
    let mut faults = Faults::default();
    let mut network = Network { duration: schema.duration, ..Network::default() };
    let mut notes: Vec<String> = schema.used_classes().map(ToString::to_string).collect();
    let algorithms = algorithms(schema, catalogue, &mut faults);
    let flows = schema.flow.iter().map(|flow| flow.count).sum::<u64>();
    if flows > MAX_FLOWS {
        faults.add("flow", format!("there are {flows} flows; the maximum is {MAX_FLOWS}"), "a smaller 'count'");
        return Err(faults.0);
    }
    let (routed, media, neighbourhood) = build_topology(schema, &mut network, &mut faults);
    let cells = plan_cells(schema, &network, &mut faults);
    check_network(&network, &routed, &mut faults);
    if faults.0.is_empty() {
        size_queues(&mut network, &routed, &mut notes, &mut faults);
        radio_links::join_queues(&mut network.links);
    }
    let subscribers = check_flows(&routed, &network, &media, &mut faults);
    if !faults.0.is_empty() {
        return Err(faults.0);
    }
    if schema.perturb {
        notes.push(perturbation::NOTE.to_owned());
    }
    let paths: Vec<&str> = routed.iter().map(|one| &*one.single.flow.path).collect();
    let mut plans = FlowPlans::new(schema, &network, algorithms);
    let flows = routed.into_iter().map(|one| plans.plan(one)).collect();
    let plan = Plan {
        scenario_hash,
        duration: schema.duration,
        measure_from: schema.measure_from,
        perturb: schema.perturb,
        sample_interval: schema.sample_interval,
        packets: schema.packets,
        named_values: schema.named_values.clone(),
        nodes: network.nodes,
        links: network.links,
        media,
        neighbourhood,
        cells,
        flows,
        subscribers,
    };
    let faults = row_limits::check(&plan, &paths);
    if faults.is_empty() {
        Ok((plan, notes))
    } else {
        Err(faults)
    }
}

/// The algorithm of each `[[flow]]`, parsed once for equal texts; `None` over UDP.
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
    let list: Vec<_> = schema.flow.iter().map(&mut parse).collect();
    check_controls(schema, faults);
    quic_flows::check(schema, &list, faults);
    list
}

/// Builds the network of the scenario's topology; returns the flows with their routes, the media, and the stations of
/// those with a channel.
fn build_topology<'a>(
    schema: &'a Schema,
    network: &mut Network,
    faults: &mut Faults,
) -> (Vec<RoutedFlow<'a>>, Vec<MediumPlan>, Option<NeighbourhoodPlan>) {
    match &schema.network.topology {
        Topology::Dumbbell(links) => (dumbbell(schema, links, network, faults), Vec::new(), None),
        Topology::ParkingLot(links) => (parking_lot(schema, links, network, faults), Vec::new(), None),
        Topology::Graph(declared) => {
            let routed = graph(schema, declared, network, faults);
            let media = radio_links::media(schema, network, faults);
            (routed, media, radio_links::neighbourhood(schema, declared, network, faults))
        }
        Topology::Wlan(lan) => {
            let (routed, media) = wlan(schema, lan, network, faults);
            (routed, media, None)
        }
    }
}

/// Checks links and routes of a network whose queues have no size yet.
fn check_network(network: &Network, routed: &[RoutedFlow<'_>], faults: &mut Faults) {
    radio_links::reject_shapers(network, faults);
    reject_unfit_queues(network, faults);
    reject_equal_names(routed, faults);
    reject_long_routes(routed, faults);
}

/// The cells of the scenario's graph.
fn plan_cells(schema: &Schema, network: &Network, faults: &mut Faults) -> Vec<CellPlan> {
    match &schema.network.topology {
        Topology::Graph(declared) => cell_links::cells(schema, &declared.links, network, faults),
        _ => Vec::new(),
    }
}

/// Rejects settings of queues that do not fit the rate of their links.
fn reject_unfit_queues(network: &Network, faults: &mut Faults) {
    let mut places = BTreeSet::new();
    for (link, (_, path)) in network.links.iter().zip(&network.sizes) {
        let Some(fault) = link.rate.and_then(|rate| link.discipline.fault_at(rate)) else { continue };
        let place = format!("{path}.queue.{}", fault.place);
        if places.insert(place.clone()) {
            faults.0.push(fault.at(place));
        }
    }
}

/// Rejects equal names of flows, which identify flows in the records.
fn reject_equal_names(routed: &[RoutedFlow<'_>], faults: &mut Faults) {
    let mut names = BTreeSet::new();
    for RoutedFlow { single, .. } in routed {
        if !names.insert(single.name.to_string()) {
            faults.add(
                format!("{}.name", single.flow.path),
                format!("'{}' is the name of another flow", single.name),
                "names are unique",
            );
        }
    }
}

/// Rejects routes with more links than an IP packet may cross.
fn reject_long_routes(routed: &[RoutedFlow<'_>], faults: &mut Faults) {
    for RoutedFlow { single, forward, reverse } in routed {
        for (direction, route) in [("forward", forward), ("reverse", reverse)] {
            if route.len() > MAX_HOPS {
                faults.add(
                    &*single.flow.path,
                    format!(
                        "the {direction} route of '{}' has {} links; the maximum is {MAX_HOPS}",
                        single.name,
                        route.len()
                    ),
                    "shorten the path",
                );
            }
        }
    }
}

/// Checks the flows of a network without faults; returns the flows that send on the messages of each flow.
fn check_flows(
    routed: &[RoutedFlow<'_>],
    network: &Network,
    media: &[MediumPlan],
    faults: &mut Faults,
) -> BTreeMap<FlowId, Vec<FlowId>> {
    if !faults.0.is_empty() {
        return BTreeMap::new();
    }
    reject_loads_without_line(routed, network, faults);
    reject_reservations_without_admission(routed, network, media, faults);
    forwarding::subscribers(routed, network, faults)
}

/// Rejects unknown classes of media, and parameters that they do not have.
fn check_controls(schema: &Schema, faults: &mut Faults) {
    for flow in &schema.flow {
        let Some(control) = flow.workload.custom_control() else { continue };
        let class = schema.algorithms.iter().find(|class| class.is_media && class.name == control.name());
        if let Err(fault) = control.check(class.map(|class| &class.parameters)) {
            faults.add(format!("{}.workload.control", flow.path), fault.what, fault.hint);
        }
    }
}

/// Rejects a reservation on a route without a link that has admission control, and the size of its packets without it.
fn reject_reservations_without_admission(
    routed: &[RoutedFlow<'_>],
    network: &Network,
    media: &[MediumPlan],
    faults: &mut Faults,
) {
    for RoutedFlow { single, forward, .. } in routed.iter().filter(|routed| routed.single.number == 0) {
        let flow = &single.flow;
        let is_asked = |&link: &LinkId| {
            let link = &network.links[link];
            let edca = link.radio.and_then(|radio| media[radio.medium as usize].edca);
            let controls = edca.is_some_and(|edca| edca.categories[edca.dscp_mapping.category(flow.dscp) as usize].acm);
            link.admission.is_some() || controls
        };
        if flow.reserve.is_some() && !forward.iter().any(is_asked) {
            faults.add(
                format!("{}.reserve", flow.path),
                "no link of the flow's route has admission control",
                "write 'admission = 0.75' at a link with a rate, or 'acm = true' at its access category",
            );
        }
        if flow.msdu.is_some() && flow.reserve.is_none() {
            faults.add(format!("{}.msdu", flow.path), "the flow reserves no rate", "write 'reserve = \"100 kbps\"'");
        }
    }
}

/// Rejects a load on a route without a line that has a rate.
fn reject_loads_without_line(routed: &[RoutedFlow<'_>], network: &Network, faults: &mut Faults) {
    for RoutedFlow { single, forward, .. } in routed.iter().filter(|routed| routed.single.number == 0) {
        if network.slowest(forward).is_none() && single.flow.workload.needs_line() {
            faults.add(
                format!("{}.workload.load", single.flow.path),
                "no line of the flow's route has a rate",
                "use 'per_second'",
            );
        }
    }
}
