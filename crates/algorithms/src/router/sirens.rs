//! SIRENS: routers tell how much of the path is free.
//!
//! Source: K. Nakauchi, K. Kobayashi, "An explicit router feedback framework for high bandwidth-delay product networks",
//! Computer Networks 51(7), 2007. Only the idea is published where we could read it; the form is ours.

use cwndlab_control::{Build, Confidence, Kind, Spec};

/// The entry.
pub static SPEC: Spec = Spec {
    name: "sirens",
    title: "Simple Internet Resource Notification Scheme",
    kind: Kind::Router,
    source: "K. Nakauchi, K. Kobayashi, Computer Networks 51(7), 2007",
    year: 2007,
    confidence: Confidence::Low,
    summary: "Our reconstruction: every router writes the part of its line that was free over the last 100 ms, if it is less than what the packet says already; the slow start alss-sirens reads it. No congestion control by itself.",
    parameters: &[],
    choices: &["every packet of a flow that asks is stamped; the original sends probes, at most one per round trip"],
    pitfalls: &["what was free 100 ms ago is promised to everybody who asks now"],
    companion: "",
    needs: &[],
    refuses: &[],
    model_based: false,
    build: Build::Mechanism,
};
