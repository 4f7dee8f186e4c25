//! SIRENS (Simple Internet Resource Notification Scheme): routers report the available bandwidth of the path.
//!
//! Source: K. Nakauchi, K. Kobayashi, "An explicit router feedback framework for high bandwidth-delay product
//! networks", Computer Networks 51(7), 2007. Only the idea was available to us; the format is ours.

use cwndlab_control::{Build, Confidence, Kind, Spec};

/// The entry.
pub static SPEC: Spec = Spec {
    name: "sirens",
    title: "Simple Internet Resource Notification Scheme",
    kind: Kind::Router,
    source: "K. Nakauchi, K. Kobayashi, Computer Networks 51(7), 2007",
    year: 2007,
    confidence: Confidence::Low,
    summary: "Every router writes the available bandwidth of its line over the last 100 ms into the packet, where it is less than the value in the packet. The slow start alss-sirens uses it. Not a congestion control by itself. Our reconstruction.",
    parameters: &[],
    choices: &["every packet of a flow that requests feedback is stamped; the original uses probes, at most one per round trip"],
    pitfalls: &["the bandwidth that was available over the last 100 ms is reported to all flows that request it"],
    companion: "",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::Mechanism,
};
