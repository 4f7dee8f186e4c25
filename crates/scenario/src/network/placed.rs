//! The flows of a scenario one by one, and the routes on which a topology places them.

use std::sync::Arc;

use cwndlab_config::Faults;
use cwndlab_units::Duration;

use crate::plan::Name;
use crate::schema::{Flow, Schema};

/// A flow with its routes.
pub(super) struct Placed<'a> {
    pub(super) single: Single<'a>,
    /// Links from sender to receiver.
    pub(super) forward: Box<[u32]>,
    /// Links from receiver to sender.
    pub(super) reverse: Box<[u32]>,
}

impl Placed<'_> {
    /// Indices of all links that it crosses, in both directions.
    pub(super) fn links(&self) -> impl Iterator<Item = u32> + '_ {
        self.forward.iter().chain(&*self.reverse).copied()
    }
}

/// One flow of a `count`.
pub(super) struct Single<'a> {
    pub(super) flow: &'a Flow,
    /// Which `[[flow]]` of the scenario says what it is.
    pub(super) entry: usize,
    /// Its index among the flows of the `count`.
    pub(super) number: u64,
    /// Its index among all flows.
    pub(super) index: usize,
    /// Its label.
    pub(super) name: Name,
}

impl<'a> Single<'a> {
    /// It goes by these links.
    pub(super) fn on(self, forward: Box<[u32]>, reverse: Box<[u32]>) -> Placed<'a> {
        Placed { single: self, forward, reverse }
    }

    /// Its RTT beyond what the links between the routers take; `None` is a fault.
    pub(super) fn rest(&self, taken: u64, faults: &mut Faults) -> Option<u64> {
        let flow = self.flow;
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
}

/// Every flow as often as its `count` says.
pub(super) fn singles(schema: &Schema) -> impl Iterator<Item = Single<'_>> {
    let each = schema.flows.iter().enumerate().flat_map(|(entry, flow)| {
        let count = flow.timing.count;
        let name = flow.name.clone().unwrap_or_else(|| format!("flow{entry}"));
        let text: Arc<str> = if count > 1 { format!("{name}-").into() } else { name.into() };
        (0..count).map(move |number| {
            let text = text.clone();
            let name = if count > 1 { Name::numbered(text, number as u32 + 1) } else { text.into() };
            (entry, flow, number, name)
        })
    });
    each.enumerate().map(|(index, (entry, flow, number, name))| Single { flow, entry, number, index, name })
}
