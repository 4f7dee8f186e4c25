//! From a scenario to the plan: nodes, links and routes of each kind of topology.

mod air;
mod cost;
mod graph;

use std::collections::{BTreeMap, BTreeSet};

use cwndlab_config::{Fault, Faults};
use cwndlab_control::{Algorithm, Catalogue, Need, RecoveryKind};
use cwndlab_network::aqm::Size;
use cwndlab_traffic::configuration::PacketSizes;
use cwndlab_traffic::{Workload, UDP_HEADER};
use cwndlab_units::{Bytes, Duration, Rate};
use serde_json::Value;

use crate::plan::{
    Capacity, Ecn, FlowPlan, LinePlan, LinkPlan, Plan, Prr, QueuePlan, Rampdown, RtoRestart, SchedulePlan, Stack,
    StepPlan,
};
use crate::schema::{Access, Flow, Jitter, Link, Queue, Schema, Topology};

/// The packet in which a bandwidth-delay product is counted.
const PACKET: u64 = 1500;
/// The most flows of a scenario.
const MOST_FLOWS: u64 = 1_000_000;
/// The most links of a route: as many as the hops that an IP packet may make (RFC 791, 3.1: the time to live has 8 bits).
const MOST_HOPS: usize = 255;
/// A size that is derived from BDP or time holds at least this many packets.
const FLOOR_PACKETS: u64 = 2;

/// Faults of the algorithms alone, for documents whose other faults forbid a plan.
#[must_use]
pub fn algorithm_faults(document: &Value, catalogue: &Catalogue) -> Vec<Fault> {
    let flows = document.get("flow").and_then(Value::as_array).into_iter().flatten();
    let texts = flows.enumerate().filter_map(|(n, flow)| Some((n, flow.get("algorithm")?.as_str()?)));
    texts
        .filter_map(|(n, text)| {
            let fault = catalogue.parse(text).err()?;
            Some(Fault::new(format!("flow[{n}].algorithm"), fault.what, fault.hint))
        })
        .collect()
}

/// A network under construction.
#[derive(Default)]
struct Network {
    nodes: Vec<String>,
    /// Their indices by name.
    index: BTreeMap<String, u32>,
    links: Vec<LinkPlan>,
    /// The size as written and the place in the document, until the flows' RTTs are known.
    sizes: Vec<(Size, String)>,
    /// How long the scenario runs.
    duration: Duration,
    /// Names of links whose rate is a mean.
    means: BTreeSet<String>,
}

impl Network {
    fn node(&mut self, name: &str) -> u32 {
        if let Some(&at) = self.index.get(name) {
            return at;
        }
        let at = self.nodes.len() as u32;
        self.nodes.push(name.to_owned());
        self.index.insert(name.to_owned(), at);
        at
    }

    fn add(&mut self, name: String, from: &str, to: &str, link: &Link, default: Size, sampled: bool) -> u32 {
        let (from, to) = (self.node(from), self.node(to));
        let queue = link.queue.unwrap_or_else(|| Queue::drop_tail(default));
        let plan = LinkPlan {
            from,
            to,
            rate: self.mean_rate(&name, link),
            line: link.line.clone(),
            schedule: whole(link),
            harq: link.harq,
            name,
            delay: link.delay,
            queue: QueuePlan { capacity: Capacity::Unlimited, discipline: queue.discipline },
            losses: link.losses.clone(),
            jitter: link.jitter,
            duplicate: link.duplicate,
            agents: link.agents.clone(),
            sampled,
            radio: None,
        };
        self.links.push(plan);
        self.sizes.push((
            if link.rate.is_none() && link.queue.is_none() { Size::Unlimited } else { queue.size },
            link.path.clone(),
        ));
        self.links.len() as u32 - 1
    }

    /// The rate by which sizes are derived: of a schedule the mean over its period, or over the run where it has none.
    fn mean_rate(&mut self, name: &str, link: &Link) -> Option<Rate> {
        if link.line != LinePlan::Rate || link.schedule.changes_rate() {
            self.means.insert(name.to_owned());
        }
        if !link.schedule.changes_rate() {
            return link.rate;
        }
        let end = link.schedule.repeat.unwrap_or(self.duration).0.max(1);
        let steps = link.schedule.filled(link.rate.unwrap_or(Rate(0)), link.delay);
        let ends = steps.iter().skip(1).map(|step| step.0 .0).chain([u64::MAX]);
        let carried: u128 = steps
            .iter()
            .zip(ends)
            .map(|(step, until)| u128::from(step.1 .0) * u128::from(until.min(end).saturating_sub(step.0 .0)))
            .sum();
        // A line that rests all the time has the least rate there is: something has to be divided by.
        Some(Rate((carried / u128::from(end)).max(1) as u64))
    }

    fn access(&mut self, from: &str, to: &str, access: &Access, delay: Duration) -> u32 {
        let link = Link {
            path: "access".to_owned(),
            rate: access.rate,
            line: LinePlan::Rate,
            schedule: SchedulePlan::default(),
            harq: None,
            delay,
            queue: Some(access.queue),
            losses: Vec::new(),
            jitter: None,
            duplicate: 0.0,
            agents: access.agents.clone().unwrap_or_default(),
        };
        self.add(format!("{from}-{to}"), from, to, &link, Size::Unlimited, false)
    }

    fn delay(&self, route: &[u32]) -> u64 {
        route.iter().map(|&link| self.links[link as usize].delay.0).sum()
    }

    /// Rate of the slowest line of a route.
    fn slowest(&self, route: &[u32]) -> Option<Rate> {
        route.iter().filter_map(|&link| self.links[link as usize].rate).min()
    }

    /// Sizes in packets or bytes, now that the RTTs of the flows on each link are known.
    fn size_queues(&mut self, rtts: &[u64], used: &BTreeSet<u32>, notes: &mut Vec<String>, faults: &mut Faults) {
        for (index, (size, path)) in self.sizes.iter().enumerate() {
            let link = &mut self.links[index];
            let Some(rate) = link.rate else {
                link.queue.capacity = Capacity::Unlimited; // nothing ever waits
                continue;
            };
            let crossed = used.contains(&(index as u32));
            if crossed && self.means.contains(&link.name) && matches!(size, Size::Time(_) | Size::Bdp(..)) {
                notes.push(format!("{}: its rate changes; the queue is sized by the mean of {rate}", link.name));
            }
            link.queue.capacity = match *size {
                Size::Bdp(_, None) if !crossed => Capacity::Unlimited, // nobody comes this way
                Size::Unlimited => Capacity::Unlimited,
                Size::Packets(n) => Capacity::Packets(n.min(u64::from(u32::MAX)) as u32),
                Size::Bytes(bytes) => Capacity::Bytes(bytes),
                Size::Time(time) => {
                    let bytes = rate.bytes_in(time).0;
                    if bytes < FLOOR_PACKETS * PACKET {
                        notes.push(format!(
                            "{}: {time} of its rate is {bytes} bytes; the queue holds {FLOOR_PACKETS} packets instead",
                            link.name
                        ));
                    }
                    Capacity::Bytes(Bytes(bytes.max(FLOOR_PACKETS * PACKET)))
                }
                Size::Bdp(factor, rtt) => {
                    let rtt = rtt.map_or(rtts[index], |rtt| rtt.0);
                    if rtt == 0 {
                        faults.add(
                            format!("{path}.queue.capacity"),
                            "no flow with a base RTT crosses the link, so its BDP is not known",
                            "write '1 bdp(50 ms)' or a number of packets",
                        );
                    }
                    let exact = rate.0 as f64 * rtt as f64 * 1e-9 / (8 * PACKET) as f64 * factor;
                    let packets = half_to_even(exact);
                    if packets > u64::from(u32::MAX) {
                        faults.add(
                            format!("{path}.queue.capacity"),
                            format!("{factor} bdp are more than {} packets", u32::MAX),
                            "a smaller factor, or a size in bytes",
                        );
                    }
                    if packets < FLOOR_PACKETS {
                        notes.push(format!(
                            "{}: {factor} bdp are {exact:.3} packets; the queue holds {FLOOR_PACKETS} instead",
                            link.name
                        ));
                    }
                    Capacity::Packets(packets.clamp(FLOOR_PACKETS, u64::from(u32::MAX)) as u32)
                }
            };
        }
    }
}

/// The schedule with the link's own rate in force from the start.
fn whole(link: &Link) -> SchedulePlan {
    let mut schedule = link.schedule.clone();
    if schedule.changes_rate() {
        if schedule.steps[0].at > Duration::ZERO {
            schedule.steps.insert(0, StepPlan { rate: link.rate, ..StepPlan::default() });
        } else {
            schedule.steps[0].rate = schedule.steps[0].rate.or(link.rate);
        }
    }
    schedule
}

/// Rounds as IEEE does by default.
fn half_to_even(value: f64) -> u64 {
    let (whole, rest) = (value as u64, value - (value as u64) as f64);
    if rest > 0.5 || (rest == 0.5 && whole % 2 == 1) {
        whole + 1
    } else {
        whole
    }
}

/// One flow of a `count`, with its routes.
struct Placed<'a> {
    flow: &'a Flow,
    number: u64,
    name: String,
    forward: Vec<u32>,
    reverse: Vec<u32>,
}

/// Routes that no packet could travel are faults.
fn refuse_long_routes(placed: &[Placed<'_>], faults: &mut Faults) {
    for one in placed {
        for (way, route) in [("forward", &one.forward), ("reverse", &one.reverse)] {
            if route.len() > MOST_HOPS {
                faults.add(
                    &one.flow.path,
                    format!("the {way} route of '{}' has {} links; {MOST_HOPS} are the most", one.name, route.len()),
                    "shorten the path",
                );
            }
        }
    }
}

/// Makes the plan.
pub fn plan(schema: &Schema, catalogue: &Catalogue, scenario_hash: String) -> Result<(Plan, Vec<String>), Vec<Fault>> {
    let mut faults = Faults::default();
    let mut network = Network { duration: schema.duration, ..Network::default() };
    let mut notes: Vec<String> = schema.used_classes().map(ToString::to_string).collect();
    let algorithms: Vec<Option<Algorithm>> = schema
        .flows
        .iter()
        .map(|flow| {
            catalogue
                .parse(flow.algorithm.as_ref()?)
                .map_err(|fault| faults.add(format!("{}.algorithm", flow.path), fault.what, fault.hint))
                .ok()
        })
        .collect();
    let flows = schema.flows.iter().map(|flow| flow.count).sum::<u64>();
    if flows > MOST_FLOWS {
        faults.add("flow", format!("there are {flows} flows; {MOST_FLOWS} are the most"), "a smaller 'count'");
        return Err(faults.0);
    }
    let mut media = Vec::new();
    let placed = match &schema.topology {
        Topology::Dumbbell(forward, reverse, access) => {
            dumbbell(schema, forward, reverse, access, &mut network, &mut faults)
        }
        Topology::ParkingLot(hops, access) => parking_lot(schema, hops, access, &mut network, &mut faults),
        Topology::Graph(nodes, links) => {
            let placed = graph::graph(schema, nodes, links, &mut network, &mut faults);
            media = air::media(schema, &network, &mut faults);
            placed
        }
        Topology::Wlan(wlan) => {
            let (placed, one) = air::wlan(schema, wlan, &mut network, &mut faults);
            media = one;
            placed
        }
    };
    let mut names = BTreeSet::new();
    for one in &placed {
        if !names.insert(one.name.clone()) {
            faults.add(
                format!("{}.name", one.flow.path),
                format!("'{}' is the name of another flow", one.name),
                "names are unique",
            );
        }
    }
    refuse_long_routes(&placed, &mut faults);
    let mut rtts = vec![0; network.links.len()];
    for one in &placed {
        let rtt = network.delay(&one.forward) + network.delay(&one.reverse);
        for &link in one.forward.iter().chain(&one.reverse) {
            rtts[link as usize] = rtts[link as usize].max(rtt);
        }
    }
    if faults.0.is_empty() {
        let used = placed.iter().flat_map(|one| one.forward.iter().chain(&one.reverse)).copied().collect();
        network.size_queues(&rtts, &used, &mut notes, &mut faults);
        air::join_queues(&mut network.links);
    }
    if !faults.0.is_empty() {
        return Err(faults.0);
    }
    for one in placed.iter().filter(|one| one.number == 0) {
        let slowest = network.slowest(&one.forward);
        if slowest.is_none() && one.flow.workload.needs_line() {
            faults.add(
                format!("{}.workload.load", one.flow.path),
                "no line of the flow's route has a rate of which it could be a share",
                "write 'per_second'",
            );
        }
    }
    if !faults.0.is_empty() {
        return Err(faults.0);
    }
    let index: BTreeMap<*const Flow, usize> = schema.flows.iter().map(std::ptr::from_ref).zip(0..).collect();
    let flows = placed
        .iter()
        .map(|one| flow_plan(one, algorithms[index[&std::ptr::from_ref(one.flow)]].clone(), schema, &network))
        .collect();
    let plan = Plan {
        scenario_hash,
        duration: schema.duration,
        measure_from: schema.measure_from,
        sample_interval: schema.sample_interval,
        packets: schema.packets,
        nodes: network.nodes,
        links: network.links,
        media,
        flows,
    };
    let faults = cost::check(&plan, |number| placed[number].flow.path.clone());
    if faults.is_empty() {
        Ok((plan, notes))
    } else {
        Err(faults)
    }
}

/// Sizes of a flow without a stack: the payload of its largest packet, and the headers of IPv4 and UDP.
fn datagram_stack(workload: &Workload, base: &Stack) -> Stack {
    let mss = workload.packet().map_or(base.mss, |packet| packet - UDP_HEADER);
    Stack { mss, header: UDP_HEADER, ecn: Ecn::Off, ..base.clone() }
}

fn flow_plan(one: &Placed<'_>, algorithm: Option<Algorithm>, schema: &Schema, network: &Network) -> FlowPlan {
    let flow = one.flow;
    let base_rtt = network.delay(&one.forward) + network.delay(&one.reverse);
    let recovery = algorithm.as_ref().and_then(Algorithm::recovery_kind).unwrap_or(flow.recovery);
    let jitter = match flow.jitter.unwrap_or(schema.jitter) {
        Jitter::Fixed(span) => span,
        Jitter::Rtt => Duration(base_rtt),
    };
    let buffer = |&link: &u32| match network.links[link as usize].queue.capacity {
        Capacity::Unlimited => None,
        Capacity::Packets(n) => Some(u64::from(n) * PACKET),
        Capacity::Bytes(bytes) => Some(bytes.0),
    };
    let stack = algorithm
        .as_ref()
        .map_or_else(|| datagram_stack(&flow.workload, &flow.stack), |one| stack(flow, one, recovery));
    let mut workload = flow.workload.clone();
    if let Some(rate) = network.slowest(&one.forward) {
        workload.set_line(rate, &PacketSizes { mss: stack.mss, header: stack.header, ack: stack.ack });
    }
    FlowPlan {
        name: one.name.clone(),
        algorithm_text: algorithm.as_ref().map_or_else(|| "none".to_owned(), |one| text_with_recovery(one, recovery)),
        profile: if algorithm.is_some() { flow.profile.clone() } else { "udp".to_owned() },
        algorithm,
        recovery,
        forward: one.forward.clone(),
        reverse: one.reverse.clone(),
        base_rtt: Duration(base_rtt),
        start: Duration(flow.start.0.saturating_add(one.number.saturating_mul(flow.step.0))),
        start_jitter: jitter,
        number: one.number,
        start_gap: flow.gaps.clone(),
        stop: flow.stop,
        workload,
        stack,
        oracle_buffer: one.forward.iter().filter_map(buffer).min().map(Bytes),
        routers: {
            let rated = one.forward.iter().filter(|&&link| network.links[link as usize].rate.is_some()).count();
            let first = one.forward.first().is_some_and(|&link| network.links[link as usize].rate.is_some());
            rated.saturating_sub(usize::from(first && one.forward.len() > 1)).min(255) as u8
        },
        remote: flow.control,
    }
}

fn text_with_recovery(algorithm: &Algorithm, recovery: RecoveryKind) -> String {
    if algorithm.recovery.is_some() {
        return algorithm.to_string();
    }
    let name = match recovery {
        RecoveryKind::Tahoe => "tahoe",
        RecoveryKind::Reno => "reno",
        RecoveryKind::NewReno => "newreno",
        RecoveryKind::Sack => "sack",
        RecoveryKind::Fack => "fack",
        RecoveryKind::Rack => "rack",
    };
    format!("{algorithm}/{name}")
}

/// What growth and recovery say about the transport goes before the profile.
fn stack(flow: &Flow, algorithm: &Algorithm, recovery: RecoveryKind) -> Stack {
    let mut stack = flow.stack.clone();
    // A timer that every ACK restarts leaves a lost retransmission to the recovery, and only these two see one.
    let sees = matches!(recovery, RecoveryKind::Fack | RecoveryKind::Rack);
    if !flow.restart_given && !sees && stack.rto_restart == RtoRestart::EveryAck {
        stack.rto_restart = RtoRestart::Retransmission;
    }
    if !flow.ecn_given && algorithm.needs(Need::Ecn) {
        stack.ecn = Ecn::Accurate;
    }
    if algorithm.min_cwnd_half() && recovery == RecoveryKind::Fack {
        stack.rampdown = Rampdown::RateHalvingToHalf;
    }
    if let Some(arguments) = algorithm.recovery_arguments() {
        if recovery == RecoveryKind::Fack {
            match arguments.word("rampdown") {
                "none" => stack.rampdown = Rampdown::None,
                "in-flight" => stack.rampdown = Rampdown::InFlight,
                "halving" => stack.rampdown = Rampdown::RateHalving,
                _ => {}
            }
        } else if recovery == RecoveryKind::Rack {
            match arguments.word("prr") {
                "6937" => stack.prr = Prr::Rfc6937,
                "9937" => stack.prr = Prr::Rfc9937,
                _ => {}
            }
        }
    }
    stack
}

/// Every flow as often as its `count` says, with its index over all.
fn expand(schema: &Schema) -> impl Iterator<Item = (usize, &Flow, u64, String)> {
    schema
        .flows
        .iter()
        .enumerate()
        .flat_map(|(n, flow)| (0..flow.count).map(move |number| (n, flow, number)))
        .enumerate()
        .map(|(index, (n, flow, number))| {
            let name = flow.name.clone().unwrap_or_else(|| format!("flow{n}"));
            (index, flow, number, if flow.count > 1 { format!("{name}-{}", number + 1) } else { name })
        })
}

/// The flow's RTT beyond what the links between the routers take; `None` is a fault.
fn rest(flow: &Flow, taken: u64, faults: &mut Faults) -> Option<u64> {
    let Some(rtt) = flow.rtt else {
        faults.add(format!("{}.rtt", flow.path), "is missing", "the base RTT of the flow: 'rtt = \"50 ms\"'");
        return None;
    };
    if rtt.0 < taken {
        let needed = Duration(taken);
        faults.add(
            format!("{}.rtt", flow.path),
            format!("{rtt} is shorter than the {needed} that the links between the routers take both ways"),
            "a longer rtt, or a shorter delay of the links",
        );
        return None;
    }
    Some(rtt.0 - taken)
}

fn dumbbell<'a>(
    schema: &'a Schema,
    forward: &Link,
    reverse: &Link,
    access: &Access,
    network: &mut Network,
    faults: &mut Faults,
) -> Vec<Placed<'a>> {
    let access = &Access { agents: access.agents.clone().or_else(|| Some(forward.agents.clone())), ..access.clone() };
    let there = network.add("bottleneck".to_owned(), "r1", "r2", forward, Size::Bdp(1.0, None), true);
    let back = network.add("bottleneck-reverse".to_owned(), "r2", "r1", reverse, Size::Bdp(1.0, None), true);
    let mut placed = Vec::new();
    for (index, flow, number, name) in expand(schema) {
        let Some(rest) = rest(flow, forward.delay.0 + reverse.delay.0, faults) else { continue };
        let (s, d) = (format!("s{index}"), format!("d{index}"));
        let (near, far, out, home) = if flow.reverse { ("r2", "r1", back, there) } else { ("r1", "r2", there, back) };
        let quarter = |n: u64| Duration(rest / 4 + u64::from(n < rest % 4));
        let up = network.access(&s, near, access, quarter(0));
        let down = network.access(far, &d, access, quarter(1));
        let back_up = network.access(&d, far, access, quarter(2));
        let back_down = network.access(near, &s, access, quarter(3));
        placed.push(Placed {
            flow,
            number,
            name,
            forward: vec![up, out, down],
            reverse: vec![back_up, home, back_down],
        });
    }
    placed
}

fn parking_lot<'a>(
    schema: &'a Schema,
    hops: &[Link],
    access: &Access,
    network: &mut Network,
    faults: &mut Faults,
) -> Vec<Placed<'a>> {
    let router = |n: usize| format!("r{}", n + 1);
    let agents = access.agents.clone().or_else(|| hops.first().map(|hop| hop.agents.clone()));
    let access = &Access { agents, ..access.clone() };
    let mut ways = Vec::new();
    for (n, hop) in hops.iter().enumerate() {
        let there = network.add(format!("hop{}", n + 1), &router(n), &router(n + 1), hop, Size::Bdp(1.0, None), true);
        let plain = hop.without_losses();
        let back = network.add(
            format!("hop{}-reverse", n + 1),
            &router(n + 1),
            &router(n),
            &plain,
            Size::Bdp(1.0, None),
            true,
        );
        ways.push((there, back, 2 * hop.delay.0));
    }
    let mut placed = Vec::new();
    for (index, flow, number, name) in expand(schema) {
        let last = hops.len() as u64 + 1;
        let (enter, leave) = (flow.hops.0.unwrap_or(1), flow.hops.1.unwrap_or(last));
        if enter >= leave || leave > last {
            faults.add(
                format!("{}.leave", flow.path),
                format!("from router {enter} to router {leave} there is no way"),
                format!("routers count from 1 to {last}; a flow leaves after it enters"),
            );
            continue;
        }
        let (enter, leave) = (enter as usize - 1, leave as usize - 1);
        let taken = ways[enter..leave].iter().map(|(_, _, delay)| delay).sum();
        let Some(rest) = rest(flow, taken, faults) else { continue };
        let (s, d) = (format!("s{index}"), format!("d{index}"));
        let (near, far) = if flow.reverse { (router(leave), router(enter)) } else { (router(enter), router(leave)) };
        let quarter = |n: u64| Duration(rest / 4 + u64::from(n < rest % 4));
        let up = network.access(&s, &near, access, quarter(0));
        let down = network.access(&far, &d, access, quarter(1));
        let back_up = network.access(&d, &far, access, quarter(2));
        let back_down = network.access(&near, &s, access, quarter(3));
        let mut there: Vec<u32> = ways[enter..leave].iter().map(|way| way.0).collect();
        let mut back: Vec<u32> = ways[enter..leave].iter().rev().map(|way| way.1).collect();
        if flow.reverse {
            std::mem::swap(&mut there, &mut back);
        }
        let route = |first, middle: Vec<u32>, last| [vec![first], middle, vec![last]].concat();
        placed.push(Placed {
            flow,
            number,
            name,
            forward: route(up, there, down),
            reverse: route(back_up, back, back_down),
        });
    }
    placed
}
