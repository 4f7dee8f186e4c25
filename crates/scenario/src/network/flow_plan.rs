//! A flow's part of the plan: its algorithm, its stack, its start, its workload.

use std::collections::BTreeSet;
use std::sync::Arc;

use cwndlab_control::{Algorithm, Need, RecoveryKind};
use cwndlab_traffic::configuration::PacketSizes;
use cwndlab_traffic::{Workload, UDP_HEADER};
use cwndlab_units::{Bytes, Duration};

use super::builder::Network;
use super::placed::Placed;
use super::queue_sizes::PACKET;
use super::shared::Shared;
use crate::plan::{Capacity, Ecn, FlowKind, FlowPlan, Prr, Rampdown, RtoRestart, Stack};
use crate::schema::{Flow, Jitter, Schema};

/// Sizes of a flow without a stack: the payload of its largest packet, and the headers of IPv4 and UDP.
fn datagram_stack(workload: &Workload, base: &Stack) -> Stack {
    let mss = workload.packet().map_or(base.mss, |packet| packet - UDP_HEADER);
    Stack { mss, header: UDP_HEADER, ecn: Ecn::Off, ..base.clone() }
}

/// Makes the flows of a plan; what is equal in them is kept once.
pub(super) struct FlowPlans<'a> {
    schema: &'a Schema,
    network: &'a Network,
    /// By `[[flow]]`.
    algorithms: Vec<Option<Arc<Algorithm>>>,
    texts: BTreeSet<Arc<str>>,
    stacks: Shared<Stack>,
    kinds: Shared<FlowKind>,
}

impl<'a> FlowPlans<'a> {
    pub(super) fn new(schema: &'a Schema, network: &'a Network, algorithms: Vec<Option<Arc<Algorithm>>>) -> Self {
        let (texts, stacks, kinds) = (BTreeSet::new(), Shared::default(), Shared::default());
        Self { schema, network, algorithms, texts, stacks, kinds }
    }

    /// The text, or an equal one from before.
    fn text(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.texts.get(text) {
            return known.clone();
        }
        let text: Arc<str> = text.into();
        self.texts.insert(text.clone());
        text
    }

    /// The flow with its routes.
    pub(super) fn plan(&mut self, placed: Placed<'_>) -> FlowPlan {
        let (single, timing) = (&placed.single, &placed.single.flow.timing);
        let base_rtt = Duration(self.network.delay(&placed.forward) + self.network.delay(&placed.reverse));
        let start_jitter = match timing.jitter.unwrap_or(self.schema.jitter) {
            Jitter::Fixed(span) => span,
            Jitter::Rtt => base_rtt,
        };
        FlowPlan {
            kind: self.kind(&placed),
            start: Duration(timing.start.0.saturating_add(single.number.saturating_mul(timing.step.0))),
            start_jitter,
            base_rtt,
            number: single.number,
            name: placed.single.name,
            forward: placed.forward,
            reverse: placed.reverse,
        }
    }

    /// What it shares with equal flows.
    fn kind(&mut self, placed: &Placed<'_>) -> Arc<FlowKind> {
        let (flow, network) = (placed.single.flow, self.network);
        let algorithm = self.algorithms[placed.single.entry].clone();
        let recovery = algorithm.as_deref().and_then(Algorithm::recovery_kind).unwrap_or(flow.recovery);
        let (stack, text, profile) = match algorithm.as_deref() {
            Some(one) => (stack(flow, one, recovery), text_with_recovery(one, recovery), flow.profile.as_str()),
            None => (datagram_stack(&flow.workload, &flow.stack), "none".to_owned(), "udp"),
        };
        let mut workload = flow.workload.clone();
        if let Some(rate) = network.slowest(&placed.forward) {
            workload.set_line(rate, &PacketSizes { mss: stack.mss, header: stack.header, ack: stack.ack });
        }
        let buffer = |&link: &u32| match network.links[link as usize].capacity {
            Capacity::Unlimited => None,
            Capacity::Packets(n) => Some(u64::from(n) * PACKET),
            Capacity::Bytes(bytes) => Some(bytes.0),
        };
        let kind = FlowKind {
            algorithm_text: self.text(&text),
            profile: self.text(profile),
            algorithm,
            recovery,
            start_gap: flow.timing.gaps.clone(),
            stop: flow.timing.stop,
            workload,
            stack: self.stacks.one(stack),
            oracle_buffer: placed.forward.iter().filter_map(buffer).min().map(Bytes),
            routers: routers(&placed.forward, network),
            remote: flow.control,
        };
        self.kinds.one(kind)
    }
}

/// How many routers on the way answer requests: links with a rate, without the first of several.
fn routers(forward: &[u32], network: &Network) -> u8 {
    let rated = |link: u32| network.links[link as usize].rate.is_some();
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
