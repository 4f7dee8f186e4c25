//! Recovery by forward acknowledgement (FACK).
//!
//! Source: doi:10.1145/248156.248181.
//!
//! The transport implements it; this is its entry.

use cwndlab_control::{Build, Confidence, FackOptions, Kind, RecoveryKind, Spec};

/// The entry.
pub static SPEC: Spec = Spec {
    name: "fack",
    title: "Forward acknowledgement",
    kind: Kind::Recovery,
    source: "doi:10.1145/248156.248181",
    year: 1996,
    confidence: Confidence::High,
    summary: "All unacknowledged data more than three segments below the highest SACKed byte counts as lost.",
    parameters: FackOptions::PARAMETERS,
    choices: &["lost retransmissions are detected as in Linux 2.6"],
    pitfalls: &["reordering by three segments counts as a loss"],
    companion: "",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::Recovery(RecoveryKind::Fack),
};
