//! Links whose packets leave by event: a discipline and a line each.

use cwndlab_network::aqm_link::AqmLink;
use cwndlab_network::random::Stream;
use cwndlab_scenario::plan::Plan;

use crate::build_links::{build_line, build_queue};
use crate::packet::Packet;
use crate::wifi::{self, WifiMedium};

/// Purpose of random streams.
const QUEUE_STREAM: u64 = 5;

/// In place of a server's number: the link's departures are computed on arrival.
pub(crate) const COMPUTED: u32 = u32::MAX;

/// What has an entry of its own on the agenda.
#[derive(Debug)]
pub(crate) enum Server {
    /// The line of one link.
    Line {
        /// The link.
        link: u32,
        /// Its queue and its line.
        aqm_link: Box<AqmLink<Packet>>,
    },
    /// A medium that several links share.
    Wifi(Box<WifiMedium>),
}

impl Server {
    /// Memory held, bytes.
    pub(crate) fn memory(&self) -> usize {
        match self {
            Self::Line { aqm_link, .. } => aqm_link.memory(),
            Self::Wifi(wifi) => wifi.medium.memory(),
        }
    }
}

/// The servers, and the server of each link.
pub(crate) fn build(plan: &Plan, seed: u64) -> (Vec<Server>, Vec<u32>) {
    let queue = |link: u32| {
        let plan = &plan.links[link as usize];
        build_queue(plan, plan.rate?, Stream::new(seed, QUEUE_STREAM, u64::from(link)))
    };
    let media = wifi::build(plan, seed, &queue);
    let mut servers: Vec<Server> = media.into_iter().map(|medium| Server::Wifi(Box::new(medium))).collect();
    let server_of = plan
        .links
        .iter()
        .enumerate()
        .map(|(index, link)| {
            if let Some(radio) = link.radio {
                return radio.medium;
            }
            // Without a rate nothing ever waits, and no discipline has anything to decide.
            let Some(rate) = link.rate else { return COMPUTED };
            let stream = Stream::new(seed, QUEUE_STREAM, index as u64);
            let Some(queue) = build_queue(link, rate, stream) else { return COMPUTED };
            servers.push(Server::Line {
                link: index as u32,
                aqm_link: Box::new(AqmLink::new(queue, build_line(link), rate)),
            });
            servers.len() as u32 - 1
        })
        .collect();
    (servers, server_of)
}
