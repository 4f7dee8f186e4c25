//! The wireless LAN: servers, wires, an access point and stations.

use cwndlab_config::Faults;
use cwndlab_units::Duration;

use super::air::STATION_QUEUE;
use super::builder::Network;
use super::placed::{expand, rest, Placed};
use crate::plan::{LinePlan, MediumPlan, SchedulePlan};
use crate::schema::{Link, Queue, Radio, Schema, Wlan};

/// Servers — wires — access point ))) stations, a station and a server for each flow. A flow's delay is the wires'.
pub(super) fn wlan<'a>(
    schema: &'a Schema,
    wlan: &Wlan,
    network: &mut Network,
    faults: &mut Faults,
) -> (Vec<Placed<'a>>, Vec<MediumPlan>) {
    network.node("ap");
    let usual = Radio { medium: wlan.medium.name.clone(), ..Radio::default() };
    let mut placed = Vec::new();
    let mut stations = 0;
    for (index, flow, number, name) in expand(schema) {
        stations = index + 1;
        let Some(rest) = rest(flow, 0, faults) else { continue };
        let (server, station) = (format!("s{index}"), format!("sta{index}"));
        let radio = wlan.stations.get(index).unwrap_or(&usual).plan(&wlan.medium, 0);
        let mut air = |from: &str, to: &str, queue: Queue| {
            let link = Link {
                path: "wlan".to_owned(),
                rate: Some(radio.mode.rate()),
                line: LinePlan::Rate,
                schedule: SchedulePlan::default(),
                harq: None,
                delay: Duration::ZERO,
                queue: Some(queue),
                losses: Vec::new(),
                jitter: None,
                duplicate: 0.0,
                agents: Vec::new(),
            };
            let link = network.add(format!("{from}-{to}"), from, to, &link, STATION_QUEUE, true);
            network.links[link as usize].radio = Some(radio);
            link
        };
        let down = air("ap", &station, wlan.queue);
        let up = air(&station, "ap", wlan.station_queue);
        let out = network.access(&server, "ap", &wlan.wire, Duration(rest / 2 + rest % 2));
        let home = network.access("ap", &server, &wlan.wire, Duration(rest / 2));
        let (mut forward, mut reverse) = (vec![out, down], vec![up, home]);
        if flow.reverse {
            std::mem::swap(&mut forward, &mut reverse);
        }
        placed.push(Placed { flow, number, name, forward, reverse });
    }
    if wlan.stations.len() > stations {
        faults.add(
            format!("wlan.stations[{stations}]"),
            format!("there are only {stations} flows"),
            "every flow has one station, in their order",
        );
    }
    (placed, vec![wlan.medium.plan(Some(0))])
}
