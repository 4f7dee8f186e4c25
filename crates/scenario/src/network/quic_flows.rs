//! Flows over QUIC: the sizes of their packets, and what they exclude.

use std::sync::Arc;

use cwndlab_config::Faults;
use cwndlab_control::Algorithm;
use cwndlab_traffic::{QUIC_ACK_RANGE, QUIC_DATAGRAM, QUIC_HEADER, UDP_HEADER};
use cwndlab_transport::recovery::uses_sack;

use crate::plan::Stack;
use crate::schema::{Flow, Schema};

/// The stack of a flow over QUIC: packets of the same size with QUIC's headers. Each packet has a number of its own, so that
/// samples of the RTT are never ambiguous (RFC 9002, 4.2), and an old one is not discarded.
pub(super) fn stack(stack: Stack) -> Stack {
    Stack {
        mss: stack.mss + stack.header - QUIC_HEADER,
        header: QUIC_HEADER,
        ack: QUIC_HEADER,
        sack_block: QUIC_ACK_RANGE,
        timestamps: true,
        paws: false,
        ack_division: 1,
        ..stack
    }
}

/// Rejects flows over QUIC with packets, algorithms and recoveries that QUIC does not have.
pub(super) fn check(schema: &Schema, algorithms: &[Option<Arc<Algorithm>>], faults: &mut Faults) {
    for (flow, algorithm) in schema.flow.iter().zip(algorithms).filter(|(flow, _)| flow.workload.is_quic()) {
        let smallest = QUIC_DATAGRAM + UDP_HEADER;
        if flow.stack.mss + flow.stack.header < smallest {
            let what = format!("QUIC's packets have {} bytes at least (RFC 9000, 14.1)", smallest.0);
            faults.add(format!("{}.stack.mss", flow.path), what, "write \"1448 B\"");
        }
        if let Some(algorithm) = algorithm {
            check_algorithm(flow, algorithm, faults);
        }
    }
}

fn check_algorithm(flow: &Flow, algorithm: &Algorithm, faults: &mut Faults) {
    let at = format!("{}.algorithm", flow.path);
    if algorithm.router_assistance().is_some() {
        faults.add(&*at, "needs headers that routers read, which QUIC's packets do not have", "write \"cubic\"");
    }
    if !uses_sack(flow.recovery(Some(algorithm))) {
        let hint = "write \"cubic/rack\", and no 'stack.sack = false'";
        faults.add(at, "QUIC's acknowledgements are selective (RFC 9002, 4.3); this recovery has no SACK", hint);
    }
}
