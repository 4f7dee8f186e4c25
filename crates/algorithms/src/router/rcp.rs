//! RCP: routers tell every flow the same rate.
//!
//! Source: N. Dukkipati, N. McKeown et al., "Processor sharing flows in the Internet", IWQoS 2005.
//! The router's half stands in the network crate, the sender's in `shared::rate_feedback`.

use cwndlab_control::{Build, Confidence, Kind, Need, Spec};

use crate::shared::rate_feedback::RateFeedback;

/// The entry.
pub static SPEC: Spec = Spec {
    name: "rcp",
    title: "Rate Control Protocol",
    kind: Kind::Router,
    source: "N. Dukkipati et al., IWQoS 2005",
    year: 2005,
    confidence: Confidence::Medium,
    summary: "Every router computes one rate for all flows of its line from spare capacity and queue, R ← R [1 + (T/d0)(α (C − y) − β q/d0)/C], and writes it on packets; the sender paces at the least of the path.",
    parameters: &[],
    choices: &[
        "α = β = 0.4 (other published pairs exist): parameters of the link's agent",
        "the window is R · srtt and two segments more, so that delayed ACKs do not stall a paced sender",
        "a path with a router that has no agent: Reno with standard slow start, recorded as 'fallback'",
    ],
    pitfalls: &[
        "a crowd of new flows sends n · R for a round trip before R falls: buffers of two BDP are needed",
        "a mix of round-trip times makes d0 wrong for all of them",
    ],
    companion: "",
    needs: &[Need::Pacing, Need::EveryAck, Need::Agent("rcp")],
    refuses: &[],
    model_based: true,
    build: Build::Whole(|path, _| Box::new(RateFeedback::new(path))),
};
