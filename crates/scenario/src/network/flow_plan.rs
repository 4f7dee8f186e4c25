//! The plan of a flow: algorithm, stack, start and workload.

use std::collections::BTreeSet;
use std::sync::Arc;

use cwndlab_control::{Algorithm, FackOptions, FackRampdown, Need, RackOptions, RackPrr, RecoveryKind};
use cwndlab_traffic::configuration::PacketSizes;
use cwndlab_traffic::{Workload, UDP_HEADER};
use cwndlab_transport::accecn::negotiate;
use cwndlab_units::{Bytes, Duration, LinkId};

use super::builder::Network;
use super::interner::Interner;
use super::queue_sizes::PACKET;
use super::quic_flows;
use super::routed_flows::RoutedFlow;
use crate::plan::{AckCounting, Capacity, Ecn, FlowKind, FlowPlan, Prr, Rampdown, RtoRestart, Stack};
use crate::schema::{Flow, Jitter, Schema, StartStep};

/// The stack of a UDP flow, which defines its packet sizes: payload of the largest packet, headers of IPv4 and UDP.
fn datagram_stack(workload: &Workload, base: &Stack) -> Stack {
    let mss = workload.packet().map_or(base.mss, |packet| packet - UDP_HEADER);
    Stack { mss, header: UDP_HEADER, ecn: Ecn::Off, ..base.clone() }
}

/// Creates the flow plans; equal parts are shared.
pub(super) struct FlowPlans<'a> {
    schema: &'a Schema,
    network: &'a Network,
    /// Algorithm of each `[[flow]]`.
    algorithms: Vec<Option<Arc<Algorithm>>>,
    texts: BTreeSet<Arc<str>>,
    stacks: Interner<Stack>,
    kinds: Interner<FlowKind>,
}

impl<'a> FlowPlans<'a> {
    pub(super) fn new(schema: &'a Schema, network: &'a Network, algorithms: Vec<Option<Arc<Algorithm>>>) -> Self {
        let texts = BTreeSet::new();
        let stacks = Interner::default();
        let kinds = Interner::default();
        Self { schema, network, algorithms, texts, stacks, kinds }
    }

    /// Interns a text.
    fn text(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.texts.get(text) {
            return known.clone();
        }
        let text: Arc<str> = text.into();
        self.texts.insert(text.clone());
        text
    }

    /// The plan of a flow with its routes.
    pub(super) fn plan(&mut self, placed: RoutedFlow<'_>) -> FlowPlan {
        let single = &placed.single;
        let flow = single.flow;
        let base_rtt = Duration::from_nanos(self.network.delay(&placed.forward) + self.network.delay(&placed.reverse));
        let start_jitter = match flow.start_jitter.unwrap_or(self.schema.start_jitter) {
            Jitter::Fixed(span) => span,
            Jitter::Rtt => base_rtt,
        };
        let step = match flow.start_step {
            StartStep::Fixed(step) => step.as_nanos(),
            StartStep::Random(_) => 0,
        };
        FlowPlan {
            kind: self.kind(&placed),
            start: Duration::from_nanos(flow.start.as_nanos().saturating_add(single.number.saturating_mul(step))),
            start_jitter,
            base_rtt,
            number: single.number,
            name: placed.single.name,
            forward: placed.forward,
            reverse: placed.reverse,
        }
    }

    /// The properties that the flow shares with equal flows.
    fn kind(&mut self, placed: &RoutedFlow<'_>) -> Arc<FlowKind> {
        let flow = placed.single.flow;
        let network = self.network;
        let algorithm = self.algorithms[placed.single.entry].clone();
        let recovery = flow.recovery(algorithm.as_deref());
        let (stack, text, profile) = match algorithm.as_deref() {
            Some(one) => (stack(flow, one, recovery), text_with_recovery(one, recovery), flow.profile.name.as_str()),
            None => (datagram_stack(&flow.workload, &flow.stack), "none".to_owned(), "udp"),
        };
        let mut workload = flow.workload.clone();
        if let Some(rate) = network.slowest(&placed.forward) {
            workload.set_line(rate, &PacketSizes { mss: stack.mss, header: stack.header, ack: stack.ack });
        }
        let buffer = |&link: &LinkId| match network.links[link].capacity {
            Capacity::Unlimited => None,
            Capacity::Packets(n) => Some(u64::from(n) * PACKET),
            Capacity::Bytes(bytes) => Some(bytes.0),
        };
        let kind = FlowKind {
            algorithm_text: self.text(&text),
            profile: self.text(profile),
            algorithm,
            recovery,
            start_gap: match &flow.start_step {
                StartStep::Fixed(_) => None,
                StartStep::Random(gaps) => Some(gaps.clone()),
            },
            stop: flow.stop,
            hold: flow.hold.clone(),
            reserve: flow.reserve,
            msdu: flow.msdu,
            workload,
            dscp: flow.dscp,
            service: flow.service.clone().map(Arc::new),
            stack: self.stacks.intern(stack),
            oracle_buffer: placed.forward.iter().filter_map(buffer).min().map(Bytes),
            routers: routers(&placed.forward, network),
            control_delay: flow.control,
            saved_parameters: flow.saved_parameters.as_deref().map(Arc::from),
            constructor: None,
        };
        self.kinds.intern(kind)
    }
}

/// Number of routers on the route that can process requests: links with a rate, without the first of several links.
fn routers(forward: &[LinkId], network: &Network) -> u8 {
    let rated = |link: LinkId| network.links[link].rate.is_some();
    let count = forward.iter().filter(|&&link| rated(link)).count();
    let first = forward.first().is_some_and(|&link| rated(link));
    count.saturating_sub(usize::from(first && forward.len() > 1)).min(255) as u8
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

/// The stack of a flow. Requirements of the algorithm and its recovery override the profile.
fn stack(flow: &Flow, algorithm: &Algorithm, recovery: RecoveryKind) -> Stack {
    let mut stack = flow.stack.clone();
    // If every ACK restarts the RTO timer, the recovery must detect lost retransmissions, as only FACK and RACK do.
    let detects = matches!(recovery, RecoveryKind::Fack | RecoveryKind::Rack);
    if !flow.given.rto_restart && !detects && stack.rto_restart == RtoRestart::EveryAck {
        stack.rto_restart = RtoRestart::Retransmission;
    }
    // Equation 2 of RFC 5681 limits standard slow start. An algorithm with a limit of its own receives all bytes.
    if !flow.given.ack_counting
        && stack.ack_counting == AckCounting::AcksInSlowStart
        && algorithm.limits_growth_per_ack()
    {
        stack.ack_counting = AckCounting::Bytes;
    }
    if !flow.given.ecn && algorithm.needs(Need::Ecn) {
        stack.ecn = Ecn::Accurate;
    }
    if !flow.given.ecn && algorithm.needs(Need::L4s) {
        stack.ecn = Ecn::AccEcn;
    }
    stack.ecn = negotiate(stack.ecn, stack.peer_ecn);
    stack.ect1 = stack.ecn == Ecn::AccEcn && algorithm.needs(Need::L4s);
    if algorithm.min_cwnd_half() && recovery == RecoveryKind::Fack {
        stack.rampdown = Rampdown::RateHalvingToHalf;
    }
    if let Some(arguments) = algorithm.recovery_arguments() {
        if recovery == RecoveryKind::Fack {
            match FackOptions::from(arguments).rampdown {
                FackRampdown::Profile => {}
                FackRampdown::None => stack.rampdown = Rampdown::None,
                FackRampdown::InFlight => stack.rampdown = Rampdown::InFlight,
                FackRampdown::Halving => stack.rampdown = Rampdown::RateHalving,
            }
        } else if recovery == RecoveryKind::Rack {
            match RackOptions::from(arguments).prr {
                RackPrr::Profile => {}
                RackPrr::Rfc6937 => stack.prr = Prr::Rfc6937,
                RackPrr::Rfc9937 => stack.prr = Prr::Rfc9937,
            }
        }
    }
    if flow.workload.is_quic() {
        quic_flows::stack(stack)
    } else {
        stack
    }
}
