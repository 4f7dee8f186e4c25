//! Forward acknowledgement
//!
//! Source: doi:10.1145/248156.248181.
//!
//! The transport performs it; this is its entry.

use cwndlab_control::{Build, Confidence, Domain, Kind, Parameter, RecoveryKind, Spec, Value};

/// The entry.
pub static SPEC: Spec = Spec {
    name: "fack",
    title: "Forward acknowledgement",
    kind: Kind::Recovery,
    source: "doi:10.1145/248156.248181",
    year: 1996,
    confidence: Confidence::High,
    summary: "Every hole more than three segments below the forward-most SACK is lost.",
    parameters: &[Parameter {
        name: "rampdown",
        unit: "",
        default: Value::Word("profile"),
        domain: Domain::Words(&["profile", "none", "in-flight", "halving"]),
        doc: "how the window comes down: at once; at once but at most one segment beyond what is in flight, or one segment per two ACKs (both Linux 2.6)",
    }],
    choices: &["lost retransmissions are detected as Linux 2.6 does"],
    pitfalls: &["any reordering of three segments is taken for a loss"],
    companion: "",
    needs: &[],
    refuses: &[],
    model_based: false,
    build: Build::Recovery(RecoveryKind::Fack),
};
