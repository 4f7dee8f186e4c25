//! RCP (Rate Control Protocol): routers assign one rate to all flows of a line; the entry of the sender.
//!
//! Source: N. Dukkipati, N. McKeown et al., "Processor sharing flows in the Internet", IWQoS 2005.
//! The router's part is in the network crate, the sender's part in `shared::rate_feedback`.

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
    summary: "Every router computes one rate for all flows of its line from spare capacity and queue, R ← R [1 + (T/d0)(α (C − y) − β q/d0)/C], and writes it into packets. The sender paces at the minimum rate of the path.",
    parameters: &[],
    choices: &[
        "α = β = 0.4 (other pairs are published too); they are parameters of the link's agent",
        "the window is R · srtt plus two segments, so that delayed ACKs do not stall a paced sender",
        "on a path with a router without agent the sender is Reno with standard slow start, recorded as 'fallback'",
    ],
    pitfalls: &[
        "n new flows send at n · R for a round trip before R falls: buffers of two BDP are needed",
        "with different round-trip times the mean d0 is wrong for each flow",
    ],
    companion: "",
    needs: &[Need::Pacing, Need::EveryAck, Need::Agent("rcp")],
    incompatible: &[],
    model_based: true,
    build: Build::Whole(|path, _| Box::new(RateFeedback::new(path))),
};
