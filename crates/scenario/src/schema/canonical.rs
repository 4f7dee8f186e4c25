//! The form that is hashed.

use serde_json::{json, Value};

use super::{Access, Link, Schema, Topology};
use crate::class::Class;
use crate::document::SCHEMA_VERSION;
use crate::plan::{LinePlan, Stack};
use crate::trace;

/// Values of a stack that came after the first release, where they are what was done before: left out, so that hashes stand.
const BEFORE: [&str; 4] =
    ["rto_arithmetic: Exact, ", "rto_restart: NewData, ", "ack_counting: Bytes, ", "rules: Rfc, "];

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
            // What is not there is left out, so that new kinds of lines leave old scenarios' hashes alone.
            match &link.line {
                LinePlan::Rate => {}
                LinePlan::Trace { stamps, bytes, offset } => {
                    form["trace"] = json!({ "sha256": trace::sha256(stamps), "bytes": bytes, "offset_ns": offset.0 });
                }
                bucket @ LinePlan::TokenBucket { .. } => form["line"] = format!("{bucket:?}").into(),
            }
            if !link.schedule.steps.is_empty() {
                form["schedule"] = format!("{:?}", link.schedule).into();
            }
            if let Some(harq) = link.harq {
                form["harq"] = format!("{harq:?}").into();
            }
            if !link.agents.is_empty() {
                form["agents"] = format!("{:?}", link.agents).into();
            }
            form
        };
        let plain = |access: &Access| {
            let agents = access.agents.as_ref().map_or_else(String::new, |agents| format!(", agents: {agents:?}"));
            format!("Access {{ rate: {:?}, queue: {:?}{agents} }}", access.rate, access.queue)
        };
        let stack = |stack: &Stack| BEFORE.iter().fold(format!("{stack:?}"), |text, was| text.replace(was, ""));
        let topology = match &self.topology {
            Topology::Dumbbell(forward, reverse, access) => {
                json!({ "dumbbell": { "bottleneck": link(forward), "reverse": link(reverse), "access": plain(access) } })
            }
            Topology::ParkingLot(hops, access) => {
                json!({ "parking_lot": { "hops": hops.iter().map(link).collect::<Vec<_>>(), "access": plain(access) } })
            }
            Topology::Graph(nodes, links) => json!({
                "nodes": nodes,
                "links": links.iter().map(|one| {
                    let mut form = json!({
                        "name": one.name, "from": one.from, "to": one.to, "duplex": one.duplex, "link": link(&one.link),
                    });
                    if let Some(radio) = &one.radio {
                        form["radio"] = format!("{radio:?}").into();
                    }
                    form
                }).collect::<Vec<_>>(),
            }),
            Topology::Wlan(wlan) => json!({ "wlan": format!("{wlan:?}") }),
        };
        let flows: Vec<Value> = self
            .flows
            .iter()
            .map(|flow| {
                let mut form = json!({
                    "algorithm": flow.algorithm, "name": flow.name, "rtt_ns": flow.rtt.map(|rtt| rtt.0), "reverse": flow.reverse,
                    "start_ns": flow.start.0, "stop_ns": flow.stop.map(|stop| stop.0), "jitter": format!("{:?}", flow.jitter),
                    "count": flow.count, "step_ns": flow.step.0, "workload": format!("{:?}", flow.workload), "profile": flow.profile,
                    "stack": stack(&flow.stack), "control": format!("{:?}", flow.control), "ends": format!("{:?}", flow.ends),
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
        if !self.media.is_empty() {
            form["media"] = format!("{:?}", self.media).into();
        }
        // What no flow names means nothing.
        let used: Vec<Value> = self.used_classes().map(Class::canonical).collect();
        if !used.is_empty() {
            form["algorithms"] = Value::Array(used);
        }
        form
    }
}
