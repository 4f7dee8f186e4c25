//! SACK-based recovery.
//!
//! Source: RFC 2018, RFC 6675.
//!
//! The transport implements it; this is its entry.

use cwndlab_control::{Build, Confidence, Kind, RecoveryKind, Spec};

/// The entry.
pub static SPEC: Spec = Spec {
    name: "sack",
    title: "SACK-based recovery",
    kind: Kind::Recovery,
    source: "RFC 2018, RFC 6675",
    year: 1996,
    confidence: Confidence::High,
    summary:
        "A segment counts as lost when three segments above it are SACKed; the pipe estimate limits the transmissions.",
    parameters: &[],
    choices: &["D-SACK blocks do not count as SACKed data"],
    pitfalls: &["the loss of a retransmission is detected only by the timer"],
    companion: "",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::Recovery(RecoveryKind::Sack),
};
