//! Cells of LTE or NR and their links.

use std::collections::BTreeMap;

use cwndlab_config::Faults;
use cwndlab_network::aqm::CapacitySpec;
use cwndlab_network::cell::{cqi_at, transport_block_bytes};
use cwndlab_units::{Bytes, Rate};

use super::builder::Network;
use crate::plan::{CellPlan, UserChannelPlan};
use crate::schema::{Cell, NamedLink, Schema};

/// Default capacity of the queue of a user.
pub(super) const USER_QUEUE: CapacitySpec = CapacitySpec::Bytes(Bytes(1_000_000));

/// The channel of a graph's link in the direction from the node `from`, and its rate alone on the cell; `cells` by name.
pub(super) fn channel(
    link: &NamedLink,
    from: &str,
    cells: &BTreeMap<&str, (u32, &Cell)>,
) -> Option<(UserChannelPlan, Rate)> {
    let &(index, cell) = cells.get(link.cell.cell.as_deref()?)?;
    let uplink = from != cell.base_station;
    let snr_db = link.cell.snr?;
    let configuration = cell.configuration();
    let bits = configuration.block_bits[usize::from(uplink)][usize::from(cqi_at(snr_db))];
    let bytes = transport_block_bytes(bits, configuration.resource_blocks);
    let rate = Rate::of(Bytes(u64::from(bytes)), configuration.technology.tti());
    Some((UserChannelPlan { cell: index, uplink, snr_db, fading: link.cell.fading }, Rate(rate.0.max(1))))
}

/// The cells of a graph with these links.
pub(super) fn cells(schema: &Schema, links: &[NamedLink], network: &Network, faults: &mut Faults) -> Vec<CellPlan> {
    let mut plans = Vec::new();
    for cell in &schema.network.cells {
        let name = &cell.name;
        let on: Vec<&NamedLink> = links.iter().filter(|link| link.cell.cell.as_ref() == Some(name)).collect();
        if !network.index.contains_key(cell.base_station.as_str()) {
            let what = format!("no node is called '{}'", cell.base_station);
            faults.add(
                format!("{}.base_station", cell.path),
                what,
                "name the node at which the links of the cell meet",
            );
        } else if on.is_empty() {
            faults.add(&*cell.path, "has no links", format!("write 'cell = \"{name}\"' in a link"));
        }
        for link in on {
            if ![&link.from, &link.to].contains(&&cell.base_station) {
                let what = format!("the link does not meet the base station '{}'", cell.base_station);
                faults.add(format!("{}.cell", link.link.path), what, "links of a cell lead from it or to it");
            }
        }
        plans.push(CellPlan { name: name.clone(), configuration: cell.configuration() });
    }
    plans
}
