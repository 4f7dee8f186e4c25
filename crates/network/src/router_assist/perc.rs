//! The router side of PERC: max-min shares computed from messages, without measurements.
//!
//! Source: L. Jose, L. Yan, M. Alizadeh, G. Varghese, N. McKeown, S. Katti, "High speed networks need proactive
//! congestion control", HotNets 2015.
//!
//! ```text
//! x_f = minimum share allotted to flow f by its other links                                     (1)
//! R   = (C − Σ_{f∈E} x_f) / (n − |E|),  E = flows with x_f < R;  flow f receives min(R, x_f)     (2)
//! ```
//!
//! Every packet is a message. A flow without packets for one second is removed.

use cwndlab_config::{fields, Table};
use cwndlab_units::{ConnectionId, Duration, Time};

use super::arrival::Arrival;
use super::configuration::Configuration;
use super::header::{Header, MAX_HOPS};

/// The declaration of the scheme.
pub static SPEC: Table = Table::new(
    "perc",
    "PERC: computes exact max-min shares from messages; requested by the algorithm `perc`.",
    &[Config::FIELDS],
)
.class("Perc");

fields! {
    /// The configuration of the agent.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {}
}

impl Configuration for Config {
    type Agent = Perc;

    const COUNTS_HEADERS: bool = true;
    const IS_RETURNED: bool = true;

    fn build(&self, capacity: f64) -> Perc {
        Perc::new(capacity)
    }
}

/// Idle time after which a flow is removed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(1);

/// (2): share of a flow without a limit elsewhere, on a line of `capacity` with these demands. Sorts `demands`.
#[must_use]
pub fn fair_share(capacity: f64, demands: &mut [f64]) -> f64 {
    demands.sort_by(f64::total_cmp);
    let mut left = capacity;
    let mut flows = demands.len();
    for demand in demands.iter() {
        if *demand * flows as f64 >= left {
            break;
        }
        left -= demand;
        flows -= 1;
    }
    if flows == 0 {
        // All flows are limited elsewhere: one flow may use the capacity that the others leave.
        left + demands.last().copied().unwrap_or(0.0)
    } else {
        left / flows as f64
    }
}

/// Exact max-min shares of flows over links, by synchronous rounds of messages until no share changes. `routes[f]`
/// contains the links of flow f. The number of bottleneck levels, at most the number of links, bounds the rounds.
#[must_use]
pub fn max_min(capacities: &[f64], routes: &[Vec<usize>]) -> Vec<f64> {
    let mut shares: Vec<Vec<f64>> = routes.iter().map(|route| vec![f64::INFINITY; route.len()]).collect();
    for _ in 0..4 * (capacities.len() + 1) {
        let mut next = shares.clone();
        let mut changed = false;
        for (link, capacity) in capacities.iter().enumerate() {
            let crossing: Vec<(usize, usize)> = routes
                .iter()
                .enumerate()
                .flat_map(|(flow, route)| route.iter().enumerate().map(move |(hop, at)| (flow, hop, *at)))
                .filter(|(_, _, at)| *at == link)
                .map(|(flow, hop, _)| (flow, hop))
                .collect();
            let demand = |flow: usize, hop: usize| min_of_others(&shares[flow], hop);
            let mut demands: Vec<f64> = crossing.iter().map(|&(flow, hop)| demand(flow, hop)).collect();
            let fair = fair_share(*capacity, &mut demands);
            for &(flow, hop) in &crossing {
                changed |= (fair / shares[flow][hop] - 1.0).abs() > 1e-12;
                next[flow][hop] = fair;
            }
        }
        shares = next;
        if !changed {
            break;
        }
    }
    shares.iter().map(|route| route.iter().copied().fold(f64::INFINITY, f64::min)).collect()
}

/// Minimum share allotted by the links other than `hop`.
fn min_of_others(shares: &[f64], hop: usize) -> f64 {
    let others = shares.iter().enumerate().filter(|(at, _)| *at != hop);
    others.map(|(_, share)| *share).fold(f64::INFINITY, f64::min)
}

/// A router's state of one flow.
#[derive(Clone, Copy, Debug)]
struct Entry {
    flow: ConnectionId,
    demand: f64,
    last_packet: Time,
}

/// The state of a router.
#[derive(Clone, Debug)]
pub struct Perc {
    capacity: f64,
    flows: Vec<Entry>,
    scratch: Vec<f64>,
}

impl Perc {
    /// An agent for a line of `capacity` bit/s.
    #[must_use]
    pub fn new(capacity: f64) -> Self {
        Self { capacity, flows: Vec::new(), scratch: Vec::new() }
    }

    pub(super) fn on_packet(&mut self, arrival: Arrival, header: Option<&mut Header>) {
        let Some(header) = header else { return };
        let hop = usize::from(arrival.hop).min(MAX_HOPS - 1);
        let demand = min_of_others(&header.shares, hop); // (1)
        let now = arrival.now;
        self.flows.retain(|one| one.flow == arrival.connection || one.last_packet + IDLE_TIMEOUT > now);
        match self.flows.iter_mut().find(|one| one.flow == arrival.connection) {
            Some(one) => (one.demand, one.last_packet) = (demand, now),
            None => self.flows.push(Entry { flow: arrival.connection, demand, last_packet: now }),
        }
        self.scratch.clear();
        self.scratch.extend(self.flows.iter().map(|one| one.demand));
        let fair = fair_share(self.capacity, &mut self.scratch); // (2)
        header.shares[hop] = fair;
        header.rate = header.rate.min(fair).min(demand);
    }
}

#[cfg(test)]
mod tests {
    use super::super::arrival::scripted::packet;
    use super::super::scheme::Scheme;
    use super::*;
    use proptest::prelude::*;

    /// `explicit-feedback.md`: demands of 2, 8 and 10 on a line of 10 receive 2, 4, 4; three unlimited demands on a
    /// line of 9 receive 3 each.
    #[test]
    fn shares_of_one_line_are_max_min_fair() {
        assert_eq!(fair_share(10.0, &mut [2.0, 8.0, 10.0]), 4.0);
        assert_eq!(fair_share(9.0, &mut [f64::INFINITY; 3]), 3.0);
    }

    /// `explicit-feedback.md`: C1 = 10 with flows A and B, C2 = 4 with flows B and C: B = C = 2, A = 8.
    #[test]
    fn shares_of_two_links_are_max_min_fair() {
        assert_eq!(max_min(&[10.0, 4.0], &[vec![0], vec![0, 1], vec![1]]), [8.0, 2.0, 2.0]);
    }

    /// The same shares by messages: the header of each flow passes its routers several times.
    #[test]
    fn routers_converge_after_a_few_rounds() {
        let mut routers = [Perc::new(10.0), Perc::new(4.0)];
        let routes: [&[usize]; 3] = [&[0], &[0, 1], &[1]];
        let mut shares = [[f64::INFINITY; MAX_HOPS]; 3];
        let mut rates = [0.0; 3];
        for round in 0..6u64 {
            for (flow, route) in routes.iter().enumerate() {
                let mut header = Header::new(Scheme(0), f64::INFINITY, Duration::ZERO);
                header.shares = shares[flow];
                for (hop, &router) in route.iter().enumerate() {
                    let arrival = Arrival { connection: (flow as u32).into(), hop: hop as u8, ..packet(round) };
                    routers[router].on_packet(arrival, Some(&mut header));
                }
                shares[flow] = header.shares;
                rates[flow] = header.rate;
            }
        }
        assert_eq!(rates, [8.0, 2.0, 2.0]);
    }

    /// Max-min shares by progressive filling, an independent method.
    fn progressive_filling(capacities: &[f64], routes: &[Vec<usize>]) -> Vec<f64> {
        let mut rates: Vec<Option<f64>> = vec![None; routes.len()];
        while rates.iter().any(Option::is_none) {
            let level = |link: usize| {
                let on = |flow: usize| routes[flow].contains(&link);
                let used: f64 = (0..routes.len()).filter(|f| on(*f)).filter_map(|f| rates[f]).sum();
                let open = (0..routes.len()).filter(|f| on(*f) && rates[*f].is_none()).count();
                (open > 0).then(|| (capacities[link] - used) / open as f64)
            };
            let (rate, link) = (0..capacities.len())
                .filter_map(|link| level(link).map(|rate| (rate, link)))
                .min_by(|a, b| a.0.total_cmp(&b.0))
                .unwrap();
            for flow in 0..routes.len() {
                if rates[flow].is_none() && routes[flow].contains(&link) {
                    rates[flow] = Some(rate);
                }
            }
        }
        rates.into_iter().flatten().collect()
    }

    proptest! {
        #[test]
        fn messages_and_progressive_filling_give_equal_shares(
            capacities in prop::collection::vec(1.0f64..100.0, 1..5),
            routes in prop::collection::vec(prop::collection::btree_set(0usize..5, 1..4), 1..7),
        ) {
            let routes: Vec<Vec<usize>> = routes.into_iter()
                .map(|route| {
                    let links: std::collections::BTreeSet<_> = route.into_iter().map(|l| l % capacities.len()).collect();
                    links.into_iter().collect()
                }).collect();
            for (ours, theirs) in max_min(&capacities, &routes).iter().zip(progressive_filling(&capacities, &routes)) {
                prop_assert!((ours / theirs - 1.0).abs() < 1e-9, "{ours} {theirs}");
            }
        }
    }
}
