//! Servers: links with a queue discipline, 802.11 media and cells, whose departures are events.

use cwndlab_network::aqm_link::AqmLink;
use cwndlab_network::random::{Purpose, Stream};
use cwndlab_scenario::plan::Plan;
use cwndlab_units::{IndexVec, LinkId, ServerId};

use crate::build_links::{build_line, build_queue};
use crate::cell::{self, CellServer};
use crate::packet::Packet;
use crate::wifi::{self, WifiMedium};

/// Stands for the server of a link whose departures are computed on arrival.
pub(crate) const COMPUTED: ServerId = ServerId::NONE;

/// A server, which has entries on the agenda.
#[derive(Debug)]
pub(crate) enum Server {
    /// The queue and the line of one link.
    Line(Box<AqmLink<Packet>>),
    /// An 802.11 medium shared by several links.
    Wifi(Box<WifiMedium>),
    /// A cell shared by several links.
    Cell(Box<CellServer>),
}

impl Server {
    /// Memory in use, bytes.
    pub(crate) fn memory(&self) -> usize {
        match self {
            Self::Line(aqm_link) => aqm_link.memory(),
            Self::Wifi(wifi) => wifi.memory(),
            Self::Cell(one) => one.cell.memory(),
        }
    }
}

/// The servers, and the server of each link.
pub(crate) fn build(plan: &Plan, seed: u64) -> (IndexVec<ServerId, Server>, IndexVec<LinkId, ServerId>) {
    let queue = |link: LinkId, category: u32| {
        let plan = &plan.links[link];
        build_queue(plan, plan.rate?, Stream::of_part(seed, Purpose::Queue, category, link.into()))
    };
    let (media, medium_of) = wifi::build(plan, seed, &queue);
    let mut servers: IndexVec<ServerId, Server> =
        media.into_iter().map(|medium| Server::Wifi(Box::new(medium))).collect();
    let first_cell = servers.len() as u32;
    let queue = |link: LinkId| {
        let plan = &plan.links[link];
        build_queue(plan, plan.rate?, Stream::new(seed, Purpose::Queue, link.into()))
    };
    for one in cell::build(plan, seed, &queue) {
        servers.push(Server::Cell(Box::new(one)));
    }
    let server_of = plan
        .links
        .enumerate()
        .map(|(link, plan)| {
            if let Some(radio) = plan.radio {
                return medium_of[radio.medium as usize].into();
            }
            if let Some(channel) = plan.cell {
                return (first_cell + channel.cell).into();
            }
            // Without a rate there is no queue, and a discipline has no effect.
            let Some(rate) = plan.rate else { return COMPUTED };
            let stream = Stream::new(seed, Purpose::Queue, link.into());
            let Some(queue) = build_queue(plan, rate, stream) else { return COMPUTED };
            servers.push(Server::Line(Box::new(AqmLink::new(queue, build_line(plan), rate))))
        })
        .collect();
    (servers, server_of)
}
