//! PERC: routers agree on the max-min shares by messages.
//!
//! Source: L. Jose et al., "High speed networks need proactive congestion control", HotNets 2015.
//! The router's half and the exact oracle stand in the network crate, the sender's half in `shared::rate_feedback`.

use cwndlab_control::{Build, Confidence, Kind, Need, Spec};

use crate::shared::rate_feedback::RateFeedback;

/// The entry.
pub static SPEC: Spec = Spec {
    name: "perc",
    title: "PERC",
    kind: Kind::Router,
    source: "L. Jose et al., HotNets 2015",
    year: 2015,
    confidence: Confidence::Medium,
    summary: "Messages carry what each link of the route would allot; a link shares its capacity among its flows, taking those that are limited elsewhere at their demand. Max-min fair after about as many round trips as there are bottleneck levels.",
    parameters: &[],
    choices: &[
        "every packet is a message, on which links write their share; the paper sends control packets of their own",
        "a flow from which a link heard nothing for one second is gone",
        "a path with a router that has no agent: Reno with standard slow start, recorded as 'fallback'",
    ],
    pitfalls: &[
        "shares fill the line wholly: what headers and retransmissions add stands in a queue",
        "flows of other algorithms on the same line are not known to it",
    ],
    companion: "",
    needs: &[Need::Pacing, Need::EveryAck, Need::Agent("perc")],
    refuses: &[],
    model_based: true,
    build: Build::Whole(|path, _| Box::new(RateFeedback::new(path))),
};
