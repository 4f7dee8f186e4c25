//! Link fusion: links without separate events.

use cwndlab_network::link::Link;
use cwndlab_scenario::plan::Plan;
use cwndlab_units::{IndexVec, LinkId, ServerId};

use crate::aqm_links::COMPUTED;
use crate::router_agents::answering_links;

/// By link, whether it is fused with the preceding link. A link is fused if exactly one other link feeds it: packets
/// arrive in the order in which they leave the feeder, so that both departures are computed together. Sampled links are
/// not fused, because a sample needs their queue at the sampling time; nor are links whose agents write into SYN-ACKs,
/// because that needs the load at that time. Links with a server have events anyway.
pub(crate) fn fused_links(
    plan: &Plan,
    links: &IndexVec<LinkId, Link>,
    server_of: &IndexVec<LinkId, ServerId>,
) -> IndexVec<LinkId, bool> {
    #[derive(Clone, Copy, PartialEq)]
    enum Feeder {
        Absent,
        Link(LinkId),
        Several,
    }
    let mut feeders: IndexVec<LinkId, Feeder> = vec![Feeder::Absent; links.len()].into();
    for flow in &plan.flows {
        for path in [&flow.forward, &flow.reverse] {
            let mut previous = None;
            for &link in path {
                let feeder = &mut feeders[link];
                *feeder = match (previous, *feeder) {
                    (Some(one), Feeder::Absent) => Feeder::Link(one),
                    (Some(one), Feeder::Link(other)) if one == other => Feeder::Link(one),
                    _ => Feeder::Several,
                };
                previous = Some(link);
            }
        }
    }
    let answering = answering_links(plan);
    let fused = feeders.enumerate().map(|(link, feeder)| match *feeder {
        Feeder::Link(from) => {
            let at_its_time = plan.links[link].sampled || answering[link];
            !at_its_time && server_of[link] == COMPUTED && !links[from].reorders()
        }
        _ => false,
    });
    fused.collect()
}
