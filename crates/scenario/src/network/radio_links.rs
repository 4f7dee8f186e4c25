//! Media of 802.11 and their links.

use std::collections::{BTreeMap, BTreeSet};

use cwndlab_config::Faults;
use cwndlab_network::aqm::CapacitySpec;
use cwndlab_units::Rate;

use super::builder::Network;
use crate::plan::{Capacity, LinkPlan, MediumPlan, RadioPlan};
use crate::schema::{LinkRadio, Medium, Radio, Schema};

/// Default capacity of a station's queue on the medium of a graph.
pub(super) const STATION_QUEUE: CapacitySpec = CapacitySpec::Packets(100);

impl Medium {
    pub(super) fn plan(&self, access_point: Option<u32>) -> MediumPlan {
        MediumPlan {
            name: self.name.clone(),
            standard: self.standard,
            access: self.access,
            edca: self.edca,
            access_point,
            aggregation: self.aggregation,
            keeps_turn: self.keeps_turn,
            beacon: self.beacon,
        }
    }
}

impl Radio {
    pub(super) fn plan(&self, medium: &Medium, index: u32) -> RadioPlan {
        RadioPlan {
            medium: index,
            mode: self.mode.unwrap_or(medium.mode),
            frame_error: self.frame_error.unwrap_or(medium.frame_error),
        }
    }
}

/// The radio parameters of a graph's link, and its rate on the medium; `media` by name.
pub(super) fn radio(link: &LinkRadio, media: &BTreeMap<&str, (u32, &Medium)>) -> Option<(RadioPlan, Rate)> {
    let &(index, medium) = media.get(link.medium.as_deref()?)?;
    let plan = link.radio.plan(medium, index);
    Some((plan, plan.mode.rate()))
}

/// The media of a graph; each station has one queue.
pub(super) fn media(schema: &Schema, network: &Network, faults: &mut Faults) -> Vec<MediumPlan> {
    let mut on = vec![Vec::new(); schema.network.media.len()];
    for link in &network.links {
        if let Some(radio) = link.radio {
            on[radio.medium as usize].push(link);
        }
    }
    let plans =
        schema.network.media.iter().zip(&on).map(|(medium, on)| plan_medium(medium, on, network, faults)).collect();
    reject_unequal_queues(network, faults);
    plans
}

/// The plan of a medium with these links.
fn plan_medium(medium: &Medium, on: &[&LinkPlan], network: &Network, faults: &mut Faults) -> MediumPlan {
    if on.is_empty() {
        faults.add(&medium.path, "has no links", format!("write 'medium = \"{}\"' in a link", medium.name));
    }
    let Some(name) = &medium.access_point else { return medium.plan(None) };
    let sender = network.index.get(name.as_str()).copied();
    if !on.iter().any(|link| Some(link.from) == sender) {
        let senders: Vec<String> = on.iter().map(|link| network.nodes[link.from as usize].to_string()).collect();
        faults.add(
            format!("{}.access_point", medium.path),
            format!("no link leaves '{name}' on this medium"),
            format!("one of {}", senders.join(", ")),
        );
    }
    medium.plan(sender)
}

/// Rejects different queues of links that leave the same station on a medium, since a station has one queue.
fn reject_unequal_queues(network: &Network, faults: &mut Faults) {
    let mut firsts = BTreeMap::new();
    for (id, link) in network.links.enumerate() {
        let Some(radio) = link.radio else { continue };
        let first = *firsts.entry((radio.medium, link.from)).or_insert(id);
        if network.links[first].discipline != link.discipline || network.sizes[first].0 != network.sizes[id].0 {
            faults.add(
                format!("{}.queue", network.sizes[id].1),
                format!(
                    "'{}' has a different queue on the link '{}'",
                    network.nodes[link.from as usize],
                    network.links[first].name(&network.nodes)
                ),
                "a station has one queue for all its links on a medium",
            );
        }
    }
}

/// Rejects shapers of stations and of users of a cell, which take packets from their queue when they can send, and at no
/// other time.
pub(super) fn reject_shapers(network: &Network, faults: &mut Faults) {
    let shared = |link: &LinkPlan| link.radio.is_some() || link.cell.is_some();
    let shapers = network.links.enumerate().filter(|(_, link)| shared(link) && link.discipline.shapes());
    let places: BTreeSet<&str> = shapers.map(|(id, _)| &*network.sizes[id].1).collect();
    for place in places {
        let hint = "remove 'bandwidth' of its queue, or shape on a link before it";
        faults.add(place, "a link on a medium or a cell has no shaper", hint);
    }
}

/// Sets the capacity of a station's queue to the maximum over its links.
pub(super) fn join_queues(links: &mut [LinkPlan]) {
    let size = |capacity: Capacity| match capacity {
        Capacity::Unlimited => u64::MAX,
        Capacity::Packets(n) => u64::from(n),
        Capacity::Bytes(bytes) => bytes.0,
    };
    let station = |link: &LinkPlan| link.radio.map(|radio| (radio.medium, link.from));
    let mut largest: BTreeMap<(u32, u32), Capacity> = BTreeMap::new();
    for link in links.iter() {
        let Some(station) = station(link) else { continue };
        let capacity = largest.entry(station).or_insert(link.capacity);
        if size(link.capacity) >= size(*capacity) {
            *capacity = link.capacity;
        }
    }
    for link in links {
        if let Some(station) = station(link) {
            link.capacity = largest[&station];
        }
    }
}
