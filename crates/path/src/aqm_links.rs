//! Links whose packets leave by event: a discipline and a line each.

use std::fmt;

use cwndlab_network::discipline::{
    Adapt, Codel, CodelConfig, Discipline, DualPi2, DualPi2Config, Fair, FairConfig, Manager, Pie, PieConfig, Red,
    RedConfig,
};
use cwndlab_network::random::Stream;
use cwndlab_network::served::Served;
use cwndlab_scenario::plan::{CodelPlan, DisciplinePlan, LinkPlan, ManagerPlan, PiePlan, Plan, RedPlan};
use cwndlab_units::Rate;

use crate::build_links::build_line;
use crate::build_links::limit;
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
        served: Box<Served<Packet>>,
    },
    /// A medium that several links share.
    Wifi(Box<WifiMedium>),
}

impl Server {
    /// Memory held, bytes.
    pub(crate) fn memory(&self) -> usize {
        match self {
            Self::Line { served, .. } => served.memory(),
            Self::Wifi(wifi) => wifi.medium.memory(),
        }
    }
}

/// The servers, and the server of each link.
pub(crate) fn build(plan: &Plan, seed: u64) -> (Vec<Server>, Vec<u32>) {
    let mut servers: Vec<Server> = (0..plan.media.len())
        .map(|index| {
            let queue = |link: u32| {
                let plan = &plan.links[link as usize];
                discipline(plan, plan.rate?, Stream::new(seed, QUEUE_STREAM, u64::from(link)))
            };
            Server::Wifi(Box::new(wifi::build(plan, index, seed, queue)))
        })
        .collect();
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
            let Some(queue) = discipline(link, rate, stream) else { return COMPUTED };
            servers.push(Server::Line {
                link: index as u32,
                served: Box::new(Served::new(queue, build_line(link), rate)),
            });
            servers.len() as u32 - 1
        })
        .collect();
    (servers, server_of)
}

fn codel(plan: &CodelPlan) -> CodelConfig {
    CodelConfig { target: plan.target.0, interval: plan.interval.0, ecn: plan.ecn, mtu: 1500 }
}

fn pie(plan: &PiePlan) -> PieConfig {
    PieConfig {
        target: plan.target.0,
        update: plan.update.0,
        alpha: plan.alpha,
        beta: plan.beta,
        burst: plan.burst.0,
        ecn: plan.ecn,
        mark_below: plan.mark_below,
        packet: plan.packet.0,
    }
}

fn red(plan: &RedPlan, rate: Rate) -> RedConfig {
    let packet_time = rate.time_for(plan.packet).0 as f64;
    let min_th = plan.min_th.unwrap_or_else(|| RedConfig::automatic_min_th(plan.delay.0, packet_time));
    RedConfig {
        weight: plan.weight.unwrap_or_else(|| RedConfig::automatic_weight(packet_time)),
        min_th,
        max_th: plan.max_th.unwrap_or(3.0 * min_th),
        max_p: plan.max_p,
        gentle: plan.gentle,
        wait: plan.wait,
        ecn: plan.ecn,
        adapt: plan.adaptive.map(|interval| Adapt { interval: interval.0, alpha: 0.01, beta: 0.9 }),
        packet_time,
    }
}

fn discipline<P: Copy + Default + fmt::Debug + Send + 'static>(
    link: &LinkPlan,
    rate: Rate,
    stream: Stream,
) -> Option<Box<dyn Discipline<P>>> {
    let capacity = limit(link.queue.capacity);
    Some(match &link.queue.discipline {
        DisciplinePlan::DropTail => return None,
        DisciplinePlan::Red(plan) => Box::new(Red::new(red(plan, rate), capacity, stream)),
        DisciplinePlan::Codel(plan) => Box::new(Codel::new(codel(plan), capacity)),
        DisciplinePlan::Pie(plan) => Box::new(Pie::new(pie(plan), capacity, stream)),
        DisciplinePlan::DualPi2(plan) => {
            let config = DualPi2Config {
                target: plan.target.0,
                update: plan.update.0,
                alpha: plan.alpha,
                beta: plan.beta,
                coupling: plan.coupling,
                l_min: plan.l_min.0,
                l_range: plan.l_range.0,
                protection: plan.protection,
            };
            Box::new(DualPi2::new(config, capacity))
        }
        DisciplinePlan::Fair { queues, quantum, batch, manager } => {
            let manager = match manager {
                ManagerPlan::None => Manager::None,
                ManagerPlan::Codel(plan) => Manager::Codel(codel(plan)),
                ManagerPlan::Pie(plan) => Manager::Pie(pie(plan)),
            };
            let config = FairConfig { queues: *queues, quantum: quantum.0 as u32, batch: *batch, manager };
            Box::new(Fair::new(config, capacity, stream))
        }
    })
}
