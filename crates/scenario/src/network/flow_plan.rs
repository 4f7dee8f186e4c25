//! A flow's part of the plan: its algorithm, its stack, its start, its workload.

use cwndlab_control::{Algorithm, Need, RecoveryKind};
use cwndlab_traffic::configuration::PacketSizes;
use cwndlab_traffic::{Workload, UDP_HEADER};
use cwndlab_units::{Bytes, Duration};

use super::builder::Network;
use super::placed::Placed;
use super::queue_sizes::PACKET;
use crate::plan::{Capacity, Ecn, FlowPlan, Prr, Rampdown, RtoRestart, Stack};
use crate::schema::{Flow, Jitter, Schema};

/// Sizes of a flow without a stack: the payload of its largest packet, and the headers of IPv4 and UDP.
fn datagram_stack(workload: &Workload, base: &Stack) -> Stack {
    let mss = workload.packet().map_or(base.mss, |packet| packet - UDP_HEADER);
    Stack { mss, header: UDP_HEADER, ecn: Ecn::Off, ..base.clone() }
}

pub(super) fn flow_plan(
    placed: &Placed<'_>,
    algorithm: Option<Algorithm>,
    schema: &Schema,
    network: &Network,
) -> FlowPlan {
    let single = &placed.single;
    let (flow, timing) = (single.flow, &single.flow.timing);
    let base_rtt = network.delay(&placed.forward) + network.delay(&placed.reverse);
    let recovery = algorithm.as_ref().and_then(Algorithm::recovery_kind).unwrap_or(flow.recovery);
    let jitter = match timing.jitter.unwrap_or(schema.jitter) {
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
    if let Some(rate) = network.slowest(&placed.forward) {
        workload.set_line(rate, &PacketSizes { mss: stack.mss, header: stack.header, ack: stack.ack });
    }
    FlowPlan {
        name: single.name.clone(),
        algorithm_text: algorithm.as_ref().map_or_else(|| "none".to_owned(), |one| text_with_recovery(one, recovery)),
        profile: if algorithm.is_some() { flow.profile.clone() } else { "udp".to_owned() },
        algorithm,
        recovery,
        forward: placed.forward.clone(),
        reverse: placed.reverse.clone(),
        base_rtt: Duration(base_rtt),
        start: Duration(timing.start.0.saturating_add(single.number.saturating_mul(timing.step.0))),
        start_jitter: jitter,
        number: single.number,
        start_gap: timing.gaps.clone(),
        stop: timing.stop,
        workload,
        stack,
        oracle_buffer: placed.forward.iter().filter_map(buffer).min().map(Bytes),
        routers: routers(&placed.forward, network),
        remote: flow.control,
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
