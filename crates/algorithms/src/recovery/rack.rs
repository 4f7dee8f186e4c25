//! RACK-TLP recovery with proportional rate reduction.
//!
//! Source: RFC 8985, RFC 9937.
//!
//! The transport implements it; this is its entry.

use cwndlab_control::{Build, Confidence, Kind, RackOptions, RecoveryKind, Spec};

/// The entry.
pub static SPEC: Spec = Spec {
    name: "rack",
    title: "RACK-TLP with proportional rate reduction",
    kind: Kind::Recovery,
    source: "RFC 8985, RFC 9937",
    year: 2021,
    confidence: Confidence::High,
    summary: "A segment counts as lost when a segment sent later has been delivered and a reordering window has passed. Tail loss probes detect losses at the end of a flight; PRR reduces the window.",
    parameters: RackOptions::PARAMETERS,
    choices: &["RFC 9937 by default, RFC 6937 as an option"],
    pitfalls: &["needs SACK"],
    companion: "",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::Recovery(RecoveryKind::Rack),
};
