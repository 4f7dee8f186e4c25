//! The wireless LAN topology: servers, wires, an access point and stations.

use std::sync::Arc;

use cwndlab_config::Faults;
use cwndlab_units::{Duration, LinkId, Rate};

use super::builder::{Network, SharedMedium};
use super::radio_links::STATION_QUEUE;
use super::routed_flows::{flow_instances, RoutedFlow};
use crate::plan::{MediumPlan, Name, RadioPlan};
use crate::schema::{Link, Queue, Radio, Schema, Wlan};

/// Servers — wires — access point ))) stations, with one station and one server per flow. The delay of a flow is that
/// of its wires.
pub(super) fn wlan<'a>(
    schema: &'a Schema,
    wlan: &Wlan,
    network: &mut Network,
    faults: &mut Faults,
) -> (Vec<RoutedFlow<'a>>, Vec<MediumPlan>) {
    let ap = network.node("ap");
    let default = Radio::default();
    let wire = network.access_template(&wlan.wire);
    let (servers, names): (Arc<str>, Arc<str>) = ("s".into(), "sta".into());
    let mut placed = Vec::new();
    let mut stations = 0;
    for one in flow_instances(schema) {
        stations = one.index + 1;
        let Some(rest) = one.remaining_rtt(0, faults) else { continue };
        let station = network.add_node(Name::numbered(names.clone(), one.index as u32));
        let server = network.add_node(Name::numbered(servers.clone(), one.index as u32));
        let radio = wlan.stations.get(one.index).unwrap_or(&default).plan(&wlan.medium, 0);
        let down = add_radio((ap, station), radio, wlan.queue, network);
        let up = add_radio((station, ap), radio, wlan.station_queue, network);
        let out = network.add(None, (server, ap), Duration::from_nanos(rest / 2 + rest % 2), &wire);
        let home = network.add(None, (ap, server), Duration::from_nanos(rest / 2), &wire);
        let mut forward = Box::from([out, down]);
        let mut reverse = Box::from([up, home]);
        if one.flow.is_reverse() {
            std::mem::swap(&mut forward, &mut reverse);
        }
        placed.push(one.with_routes(forward, reverse));
    }
    if wlan.stations.len() > stations {
        faults.add(
            format!("wlan.stations[{stations}]"),
            format!("the number of flows is only {stations}"),
            "one station per flow, in the order of the flows",
        );
    }
    (placed, vec![wlan.medium.plan(Some(0))])
}

/// Adds a link on the medium.
fn add_radio(ends: (u32, u32), radio: RadioPlan, queue: Queue, network: &mut Network) -> LinkId {
    let link = Link::plain("wlan", Some(Rate(radio.mode.rate_bps())), Duration::ZERO, queue);
    let declared = network.template(&link, STATION_QUEUE, true, Some(SharedMedium::Wifi(radio)));
    network.add(None, ends, link.delay, &declared)
}
