//! The individual flows of a scenario, and their routes.

use std::sync::Arc;

use cwndlab_config::Faults;
use cwndlab_units::{Duration, LinkId};

use crate::plan::Name;
use crate::schema::{Flow, Schema};

/// A flow with its routes.
pub(super) struct RoutedFlow<'a> {
    pub(super) single: FlowInstance<'a>,
    /// Links from sender to receiver.
    pub(super) forward: Box<[LinkId]>,
    /// Links from receiver to sender.
    pub(super) reverse: Box<[LinkId]>,
}

impl RoutedFlow<'_> {
    /// All links of both routes.
    pub(super) fn links(&self) -> impl Iterator<Item = LinkId> + '_ {
        self.forward.iter().chain(&*self.reverse).copied()
    }
}

/// One of the flows of a `count`.
pub(super) struct FlowInstance<'a> {
    pub(super) flow: &'a Flow,
    /// Index of the `[[flow]]` that defines it.
    pub(super) entry: usize,
    /// Index among the flows of the `count`.
    pub(super) number: u64,
    /// Index among all flows.
    pub(super) index: usize,
    /// Name in the records.
    pub(super) name: Name,
}

impl<'a> FlowInstance<'a> {
    /// The flow with these routes.
    pub(super) fn with_routes(self, forward: Box<[LinkId]>, reverse: Box<[LinkId]>) -> RoutedFlow<'a> {
        RoutedFlow { single: self, forward, reverse }
    }

    /// The flow's base RTT minus the delay `taken` of the links between the routers, ns; `None` after a fault.
    pub(super) fn remaining_rtt(&self, taken: u64, faults: &mut Faults) -> Option<u64> {
        let flow = self.flow;
        let Some(rtt) = flow.rtt else {
            faults.add(format!("{}.rtt", flow.path), "is missing", "the base RTT of the flow: 'rtt = \"50 ms\"'");
            return None;
        };
        if rtt.as_nanos() < taken {
            let needed = Duration::from_nanos(taken);
            faults.add(
                format!("{}.rtt", flow.path),
                format!("{rtt} is shorter than {needed}, the round-trip delay of the links between the routers"),
                "increase rtt, or reduce the delay of the links",
            );
            return None;
        }
        Some(rtt.as_nanos() - taken)
    }
}

/// All flows, each repeated `count` times.
pub(super) fn flow_instances(schema: &Schema) -> impl Iterator<Item = FlowInstance<'_>> {
    let each = schema.flow.iter().enumerate().flat_map(|(entry, flow)| {
        let count = flow.count;
        let name = flow.name.clone().unwrap_or_else(|| format!("flow{entry}"));
        let text: Arc<str> = if count > 1 { format!("{name}-").into() } else { name.into() };
        (0..count).map(move |number| {
            let text = text.clone();
            let name = if count > 1 { Name::numbered(text, number as u32 + 1) } else { text.into() };
            (entry, flow, number, name)
        })
    });
    each.enumerate().map(|(index, (entry, flow, number, name))| FlowInstance { flow, entry, number, index, name })
}
