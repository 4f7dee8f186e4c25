//! NewReno recovery.
//!
//! Source: RFC 6582.
//!
//! The transport implements it; this is its entry.

use cwndlab_control::{Build, Confidence, Kind, RecoveryKind, Spec};

/// The entry.
pub static SPEC: Spec = Spec {
    name: "newreno",
    title: "NewReno",
    kind: Kind::Recovery,
    source: "RFC 6582",
    year: 1999,
    confidence: Confidence::High,
    summary: "A partial ACK causes the retransmission of the next segment and does not end the recovery.",
    parameters: &[],
    choices: &["the Impatient variant of the timer", "the window after a full ACK is min(ssthresh, max(F, 1) + 1)"],
    pitfalls: &["only one retransmission per round trip"],
    companion: "",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::Recovery(RecoveryKind::NewReno),
};
