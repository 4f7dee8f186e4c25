//! Brokers: flows that send on the messages of other flows.

use std::collections::{BTreeMap, BTreeSet};

use cwndlab_config::Faults;
use cwndlab_traffic::application::ApplicationKind;
use cwndlab_units::spelling::nearest;
use cwndlab_units::FlowId;

use super::builder::Network;
use super::routed_flows::RoutedFlow;

/// The flows that send on the messages of each flow.
pub(super) fn subscribers(
    routed: &[RoutedFlow<'_>],
    network: &Network,
    faults: &mut Faults,
) -> BTreeMap<FlowId, Vec<FlowId>> {
    let mut subscribers: BTreeMap<FlowId, Vec<FlowId>> = BTreeMap::new();
    let brokers = routed.iter().filter(|one| !one.single.flow.workload.sources().is_empty());
    let by_name = if brokers.clone().next().is_some() { flows_by_name(routed) } else { BTreeMap::new() };
    for broker in brokers {
        let first = broker.single.number == 0;
        let place = format!("{}.workload.sources", broker.single.flow.path);
        for name in broker.single.flow.workload.sources() {
            let Some(sources) = by_name.get(name) else {
                if first {
                    let hint = nearest(name, by_name.keys().map(String::as_str));
                    let hint = hint.map_or_else(
                        || "name a flow of this scenario".into(),
                        |near| format!("did you mean '{near}'?"),
                    );
                    faults.add(&*place, format!("there is no flow '{name}'"), hint);
                }
                continue;
            };
            for &source in sources {
                if let Some(what) = unfit(&routed[source], broker, network) {
                    faults.add(&*place, format!("'{}' {what}", routed[source].single.name), "");
                    break;
                }
                let id = FlowId::from(broker.single.index as u32);
                subscribers.entry(FlowId::from(source as u32)).or_default().push(id);
            }
        }
    }
    reject_circles(&subscribers, routed, faults);
    subscribers
}

/// The flows of each declared name and each name of an instance.
fn flows_by_name(routed: &[RoutedFlow<'_>]) -> BTreeMap<String, Vec<usize>> {
    let mut by_name: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, RoutedFlow { single, .. }) in routed.iter().enumerate() {
        by_name.entry(single.name.to_string()).or_default().push(index);
        if let Some(name) = single.flow.name.as_ref().filter(|_| single.flow.count > 1) {
            by_name.entry(name.clone()).or_default().push(index);
        }
    }
    by_name
}

/// What keeps the broker from sending on the messages of the source.
fn unfit(source: &RoutedFlow<'_>, broker: &RoutedFlow<'_>, network: &Network) -> Option<&'static str> {
    let kind = source.single.flow.workload.application_kind();
    if !matches!(kind, ApplicationKind::Dialogue(_) | ApplicationKind::Exchange) {
        return Some("has no messages, as the flows of 'mqtt' and 'coap' have");
    }
    let arrives = source.forward.last().map(|&link| network.links[link].to);
    let leaves = broker.forward.first().map(|&link| network.links[link].from);
    (arrives != leaves)
        .then_some("does not end at the node where this flow starts; write both as 'from' and 'to' of flows")
}

/// Rejects flows that send on their own messages.
fn reject_circles(subscribers: &BTreeMap<FlowId, Vec<FlowId>>, routed: &[RoutedFlow<'_>], faults: &mut Faults) {
    for &start in subscribers.keys() {
        let mut reached = BTreeSet::new();
        let mut open = vec![start];
        while let Some(one) = open.pop() {
            open.extend(subscribers.get(&one).into_iter().flatten().copied().filter(|&next| reached.insert(next)));
        }
        if reached.contains(&start) {
            let place = format!("{}.workload.sources", routed[start.index()].single.flow.path);
            faults.add(place, "the flow would send on its own messages", "");
            return;
        }
    }
}
