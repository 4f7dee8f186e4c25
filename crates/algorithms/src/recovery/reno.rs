//! Reno recovery: fast retransmit and fast recovery.
//!
//! Source: RFC 2581.
//!
//! The transport implements it; this is its entry.

use cwndlab_control::{Build, Confidence, Kind, RecoveryKind, Spec};

/// The entry.
pub static SPEC: Spec = Spec {
    name: "reno",
    title: "Fast retransmit and fast recovery",
    kind: Kind::Recovery,
    source: "RFC 2581",
    year: 1990,
    confidence: Confidence::High,
    summary: "Each duplicate ACK inflates the window by one segment; the first ACK of new data ends the recovery.",
    parameters: &[],
    choices: &[],
    pitfalls: &["two losses in a window lead to two reductions or a timeout"],
    companion: "",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::Recovery(RecoveryKind::Reno),
};
