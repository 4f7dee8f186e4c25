//! PERC: max-min fair rates that routers negotiate by messages; the entry of the sender.
//!
//! Source: L. Jose et al., "High speed networks need proactive congestion control", HotNets 2015.
//! The router's part and the exact oracle are in the network crate, the sender's part is in `shared::rate_feedback`.

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
    summary: "Messages carry the rate that each link of the route would allocate. A link divides its capacity among its flows and allocates their demand to flows that are limited elsewhere. The rates are max-min fair after about as many round trips as there are bottleneck levels.",
    parameters: &[],
    choices: &[
        "every packet is a message to which links add their rate; the paper uses separate control packets",
        "a link removes a flow after one second without packets",
        "on a path with a router without agent the sender is Reno with standard slow start, recorded as 'fallback'",
    ],
    pitfalls: &[
        "the rates fill the line completely: headers and retransmissions cause a queue",
        "flows of other algorithms on the same line are not taken into account",
    ],
    companion: "",
    needs: &[Need::Pacing, Need::EveryAck, Need::Agent("perc")],
    incompatible: &[],
    model_based: true,
    build: Build::Whole(|path, _| Box::new(RateFeedback::new(path))),
};
