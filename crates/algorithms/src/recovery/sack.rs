//! SACK-based recovery
//!
//! Source: RFC 2018, RFC 6675.
//!
//! The transport performs it; this is its entry.

use cwndlab_control::{Build, Confidence, Kind, RecoveryKind, Spec};

/// The entry.
pub static SPEC: Spec = Spec {
    name: "sack",
    title: "SACK-based recovery",
    kind: Kind::Recovery,
    source: "RFC 2018, RFC 6675",
    year: 1996,
    confidence: Confidence::High,
    summary: "Three SACKed segments above make a loss; the pipe decides what may leave.",
    parameters: &[],
    choices: &["D-SACK blocks do not count as SACKed"],
    pitfalls: &["a lost retransmission needs the timer"],
    companion: "",
    needs: &[],
    refuses: &[],
    model_based: false,
    build: Build::Recovery(RecoveryKind::Sack),
};
