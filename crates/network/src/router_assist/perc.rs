//! The router's half of PERC: max-min shares by messages, without measuring.
//!
//! Source: L. Jose, L. Yan, M. Alizadeh, G. Varghese, N. McKeown, S. Katti, "High speed networks need proactive
//! congestion control", HotNets 2015.
//!
//! ```text
//! x_f = least share that the other links of flow f allotted                                     (1)
//! R   = (C − Σ_{f∈E} x_f) / (n − |E|),  E = flows with x_f < R;  flow f gets min(R, x_f)          (2)
//! ```
//!
//! Every packet is a message here. A flow from which nothing came for a second is dropped.

use cwndlab_config::{Faults, Reader, Table};
use cwndlab_units::{Duration, Time};

use super::arrival::Arrival;
use super::configuration::Configuration;
use super::header::{Header, MAX_HOPS};

/// The scheme's entry.
pub static SPEC: Table =
    Table::new("perc", "PERC: the exact max-min share, by messages; asked by `perc`.", &[]).class("Perc");

/// The configuration: there is nothing to set.
#[derive(Clone, Debug, PartialEq)]
pub struct Config;

impl Configuration for Config {
    type Agent = Perc;

    const COUNTS_HEADERS: bool = true;
    const IS_RETURNED: bool = true;

    fn read(_: &Reader<'_>, _: &mut Faults) -> Option<Self> {
        Some(Self)
    }

    fn build(&self, capacity: f64) -> Perc {
        Perc::new(capacity)
    }
}

/// A flow that is silent for so long is forgotten.
const GONE: Duration = Duration::from_secs(1);

/// The share of a flow that nothing else limits, on a line of `capacity` with these demands: (2). `demands` is sorted here.
#[must_use]
pub fn share(capacity: f64, demands: &mut [f64]) -> f64 {
    demands.sort_by(f64::total_cmp);
    let (mut left, mut flows) = (capacity, demands.len());
    for demand in demands.iter() {
        if *demand * flows as f64 >= left {
            break;
        }
        left -= demand;
        flows -= 1;
    }
    if flows == 0 {
        // All are limited elsewhere: one may have what the others leave.
        left + demands.last().copied().unwrap_or(0.0)
    } else {
        left / flows as f64
    }
}

/// Max-min shares of flows over links, exactly: synchronous rounds of the messages until nothing moves. `routes[f]` holds
/// the links of flow f. Links as many as there are bottleneck levels bound the rounds.
#[must_use]
pub fn max_min(capacities: &[f64], routes: &[Vec<usize>]) -> Vec<f64> {
    let mut shares: Vec<Vec<f64>> = routes.iter().map(|route| vec![f64::INFINITY; route.len()]).collect();
    for _ in 0..4 * (capacities.len() + 1) {
        let mut next = shares.clone();
        let mut moved = false;
        for (link, capacity) in capacities.iter().enumerate() {
            let crossing: Vec<(usize, usize)> = routes
                .iter()
                .enumerate()
                .flat_map(|(flow, route)| route.iter().enumerate().map(move |(hop, at)| (flow, hop, *at)))
                .filter(|(_, _, at)| *at == link)
                .map(|(flow, hop, _)| (flow, hop))
                .collect();
            let demand = |flow: usize, hop: usize| least_but(&shares[flow], hop);
            let mut demands: Vec<f64> = crossing.iter().map(|&(flow, hop)| demand(flow, hop)).collect();
            let fair = share(*capacity, &mut demands);
            for &(flow, hop) in &crossing {
                moved |= (fair / shares[flow][hop] - 1.0).abs() > 1e-12;
                next[flow][hop] = fair;
            }
        }
        shares = next;
        if !moved {
            break;
        }
    }
    shares.iter().map(|route| route.iter().copied().fold(f64::INFINITY, f64::min)).collect()
}

/// The least share of the other links.
fn least_but(shares: &[f64], hop: usize) -> f64 {
    let others = shares.iter().enumerate().filter(|(at, _)| *at != hop);
    others.map(|(_, share)| *share).fold(f64::INFINITY, f64::min)
}

/// What a router keeps of a flow.
#[derive(Clone, Copy, Debug)]
struct Entry {
    flow: u32,
    demand: f64,
    seen: Time,
}

/// What a router keeps.
#[derive(Clone, Debug)]
pub struct Perc {
    capacity: f64,
    flows: Vec<Entry>,
    scratch: Vec<f64>,
}

impl Perc {
    /// An agent of a line of `capacity`.
    #[must_use]
    pub fn new(capacity: f64) -> Self {
        Self { capacity, flows: Vec::new(), scratch: Vec::new() }
    }

    pub(super) fn pass(&mut self, arrival: Arrival, header: Option<&mut Header>) {
        let Some(header) = header else { return };
        let hop = usize::from(arrival.hop).min(MAX_HOPS - 1);
        let demand = least_but(&header.shares, hop); // (1)
        let now = arrival.now;
        self.flows.retain(|one| one.flow == arrival.flow || one.seen + GONE > now);
        match self.flows.iter_mut().find(|one| one.flow == arrival.flow) {
            Some(one) => (one.demand, one.seen) = (demand, now),
            None => self.flows.push(Entry { flow: arrival.flow, demand, seen: now }),
        }
        self.scratch.clear();
        self.scratch.extend(self.flows.iter().map(|one| one.demand));
        let fair = share(self.capacity, &mut self.scratch); // (2)
        header.shares[hop] = fair;
        header.rate = header.rate.min(fair).min(demand);
    }
}

#[cfg(test)]
mod tests {
    use super::super::arrival::scripted::packet;
    use super::super::Scheme;
    use super::*;
    use proptest::prelude::*;

    /// The sheet: demands of 2, 8 and 10 on 10 get 2, 4, 4; three without limit on 9 get 3 each.
    #[test]
    fn a_line_is_filled_like_water() {
        assert_eq!(share(10.0, &mut [2.0, 8.0, 10.0]), 4.0);
        assert_eq!(share(9.0, &mut [f64::INFINITY; 3]), 3.0);
    }

    /// The sheet: C1 = 10 with A and B, C2 = 4 with B and C: B = C = 2, A = 8.
    #[test]
    fn two_links_find_the_max_min_shares() {
        assert_eq!(max_min(&[10.0, 4.0], &[vec![0], vec![0, 1], vec![1]]), [8.0, 2.0, 2.0]);
    }

    /// The same by messages: each flow carries what it heard through both routers a few times.
    #[test]
    fn routers_agree_after_a_few_rounds() {
        let mut routers = [Perc::new(10.0), Perc::new(4.0)];
        let routes: [&[usize]; 3] = [&[0], &[0, 1], &[1]];
        let mut shares = [[f64::INFINITY; MAX_HOPS]; 3];
        let mut rates = [0.0; 3];
        for round in 0..6u64 {
            for (flow, route) in routes.iter().enumerate() {
                let mut header = Header::new(Scheme::Perc, f64::INFINITY, Duration::ZERO);
                header.shares = shares[flow];
                for (hop, &router) in route.iter().enumerate() {
                    let arrival = Arrival { flow: flow as u32, hop: hop as u8, ..packet(round) };
                    routers[router].pass(arrival, Some(&mut header));
                }
                shares[flow] = header.shares;
                rates[flow] = header.rate;
            }
        }
        assert_eq!(rates, [8.0, 2.0, 2.0]);
    }

    /// Max-min by progressive filling, another way to the same shares.
    fn filled(capacities: &[f64], routes: &[Vec<usize>]) -> Vec<f64> {
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
        fn messages_and_filling_agree(
            capacities in prop::collection::vec(1.0f64..100.0, 1..5),
            routes in prop::collection::vec(prop::collection::btree_set(0usize..5, 1..4), 1..7),
        ) {
            let routes: Vec<Vec<usize>> = routes.into_iter()
                .map(|route| {
                    let links: std::collections::BTreeSet<_> = route.into_iter().map(|l| l % capacities.len()).collect();
                    links.into_iter().collect()
                }).collect();
            for (ours, theirs) in max_min(&capacities, &routes).iter().zip(filled(&capacities, &routes)) {
                prop_assert!((ours / theirs - 1.0).abs() < 1e-9, "{ours} {theirs}");
            }
        }
    }
}
