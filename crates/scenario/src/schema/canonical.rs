//! The form that is hashed.

use serde_json::{json, Value};

use super::{Access, Link, Schema, Topology};
use crate::class::Class;
use crate::document::SCHEMA_VERSION;

impl Schema {
    /// The classes that a flow names.
    pub fn used_classes(&self) -> impl Iterator<Item = &Class> {
        self.classes.iter().filter(|class| {
            self.flows.iter().any(|flow| flow.algorithm.as_ref().is_some_and(|text| class.is_named_by(text)))
        })
    }

    /// The canonical form: the same for scenarios that mean the same, whatever their units, defaults and order of keys.
    #[must_use]
    pub fn canonical(&self) -> Value {
        // Debug forms of the typed values: integers in base units, every default filled in, fields in their order.
        let link = |link: &Link| {
            let mut form = json!({
                "rate_bps": link.rate.map(|rate| rate.0), "delay_ns": link.delay.0, "queue": format!("{:?}", link.queue),
                "losses": format!("{:?}", link.losses), "jitter": format!("{:?}", link.jitter), "duplicate": link.duplicate,
            });
            if !link.agents.is_empty() {
                form["agents"] = format!("{:?}", link.agents).into();
            }
            form
        };
        let plain = |access: &Access| {
            let agents = access.agents.as_ref().map_or_else(String::new, |agents| format!(", agents: {agents:?}"));
            format!("Access {{ rate: {:?}, queue: {:?}{agents} }}", access.rate, access.queue)
        };
        let topology = match &self.topology {
            Topology::Dumbbell(forward, reverse, access) => {
                json!({ "dumbbell": { "bottleneck": link(forward), "reverse": link(reverse), "access": plain(access) } })
            }
            Topology::ParkingLot(hops, access) => {
                json!({ "parking_lot": { "hops": hops.iter().map(link).collect::<Vec<_>>(), "access": plain(access) } })
            }
            Topology::Graph(nodes, links) => json!({
                "nodes": nodes,
                "links": links.iter().map(|one| json!({
                    "name": one.name, "from": one.from, "to": one.to, "duplex": one.duplex, "link": link(&one.link),
                })).collect::<Vec<_>>(),
            }),
        };
        let flows: Vec<Value> = self
            .flows
            .iter()
            .map(|flow| {
                let mut form = json!({
                    "algorithm": flow.algorithm, "name": flow.name, "rtt_ns": flow.rtt.map(|rtt| rtt.0), "reverse": flow.reverse,
                    "start_ns": flow.start.0, "stop_ns": flow.stop.map(|stop| stop.0), "jitter": format!("{:?}", flow.jitter),
                    "count": flow.count, "step_ns": flow.step.0, "workload": format!("{:?}", flow.workload), "profile": flow.profile,
                    "stack": format!("{:?}", flow.stack), "control": format!("{:?}", flow.control), "ends": format!("{:?}", flow.ends),
                    "routes": format!("{:?}", flow.routes), "hops": format!("{:?}", flow.hops),
                });
                if flow.algorithm.is_none() {
                    form["transport"] = "udp".into();
                }
                if let Some(gaps) = &flow.gaps {
                    form["gaps"] = format!("{gaps:?}").into();
                }
                form
            })
            .collect();
        let mut form = json!({
            "schema_version": SCHEMA_VERSION, "title": self.title, "duration_ns": self.duration.0,
            "sample_interval_ns": self.sample_interval.0, "packets": self.packets, "measure_from_ns": self.measure_from.0,
            "jitter": format!("{:?}", self.jitter), "topology": topology, "flows": flows,
        });
        // What no flow names means nothing.
        let used: Vec<Value> = self.used_classes().map(Class::canonical).collect();
        if !used.is_empty() {
            form["algorithms"] = Value::Array(used);
        }
        form
    }
}
