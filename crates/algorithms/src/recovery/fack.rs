//! Recovery by forward acknowledgement (FACK).
//!
//! Source: doi:10.1145/248156.248181.
//!
//! The transport implements it; this is its entry.

use cwndlab_control::{Build, Confidence, Domain, Kind, Parameter, RecoveryKind, Spec, Value};

/// The entry.
pub static SPEC: Spec = Spec {
    name: "fack",
    title: "Forward acknowledgement",
    kind: Kind::Recovery,
    source: "doi:10.1145/248156.248181",
    year: 1996,
    confidence: Confidence::High,
    summary: "All unacknowledged data more than three segments below the highest SACKed byte counts as lost.",
    parameters: &[Parameter {
        name: "rampdown",
        unit: "",
        default: Value::Word("profile"),
        domain: Domain::Words(&["profile", "none", "in-flight", "halving"]),
        doc: "reduction of the window: that of the stack profile (profile); at once (none); at once, and then at most one segment above the data in flight (in-flight); by one segment per two ACKs (halving); the last two are those of Linux 2.6",
    }],
    choices: &["lost retransmissions are detected as in Linux 2.6"],
    pitfalls: &["reordering by three segments counts as a loss"],
    companion: "",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::Recovery(RecoveryKind::Fack),
};
