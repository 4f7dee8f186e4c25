//! Link fusion: links without separate events.

use cwndlab_network::link::Link;
use cwndlab_scenario::plan::Plan;

use crate::aqm_links::COMPUTED;

/// By link, whether it is fused with the preceding link. A link is fused if exactly one other link feeds it: packets
/// arrive in the order in which they leave the feeder, so that both departures are computed together. Sampled links are
/// not fused, because a sample needs their queue at the sampling time. Links with a server have events anyway.
pub(crate) fn fused_links(plan: &Plan, links: &[Link], server_of: &[u32]) -> Vec<bool> {
    #[derive(Clone, Copy, PartialEq)]
    enum Feeder {
        Absent,
        Link(u32),
        Several,
    }
    let mut feeders = vec![Feeder::Absent; links.len()];
    for flow in &plan.flows {
        for path in [&flow.forward, &flow.reverse] {
            let mut previous = None;
            for &link in path {
                let feeder = &mut feeders[link as usize];
                *feeder = match (previous, *feeder) {
                    (Some(one), Feeder::Absent) => Feeder::Link(one),
                    (Some(one), Feeder::Link(other)) if one == other => Feeder::Link(one),
                    _ => Feeder::Several,
                };
                previous = Some(link);
            }
        }
    }
    (0..links.len())
        .map(|index| match feeders[index] {
            Feeder::Link(from) => {
                !plan.links[index].sampled && server_of[index] == COMPUTED && !links[from as usize].reorders()
            }
            _ => false,
        })
        .collect()
}
