//! Which links need no event of their own.

use cwndlab_network::link::Link;
use cwndlab_scenario::plan::Plan;

use crate::service::COMPUTED;

/// Links that one other link feeds, and nobody else: what leaves the feeder arrives there in the same order, so its
/// departure can be computed when the feeder's is. Sampled links stay apart: their queue is looked at in its own time;
/// so do those that serve by event.
pub(crate) fn fuse(plan: &Plan, links: &[Link], server_of: &[u32]) -> Vec<bool> {
    #[derive(Clone, Copy, PartialEq)]
    enum Feeder {
        Nobody,
        Link(u32),
        Several,
    }
    let mut feeders = vec![Feeder::Nobody; links.len()];
    for flow in &plan.flows {
        for path in [&flow.forward, &flow.reverse] {
            let mut previous = None;
            for &link in path {
                let feeder = &mut feeders[link as usize];
                *feeder = match (previous, *feeder) {
                    (Some(one), Feeder::Nobody) => Feeder::Link(one),
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
