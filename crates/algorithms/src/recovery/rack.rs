//! RACK-TLP with proportional rate reduction
//!
//! Source: RFC 8985, RFC 9937.
//!
//! The transport performs it; this is its entry.

use cwndlab_control::{Build, Confidence, Domain, Kind, Parameter, RecoveryKind, Spec, Value};

/// The entry.
pub static SPEC: Spec = Spec {
    name: "rack",
    title: "RACK-TLP with proportional rate reduction",
    kind: Kind::Recovery,
    source: "RFC 8985, RFC 9937",
    year: 2021,
    confidence: Confidence::High,
    summary:
        "A segment is lost when one sent later has arrived and a reordering window has passed; tail loss probes; PRR.",
    parameters: &[Parameter {
        name: "prr",
        unit: "",
        default: Value::Word("profile"),
        domain: Domain::Words(&["profile", "6937", "9937"]),
        doc: "version of proportional rate reduction",
    }],
    choices: &["RFC 9937 by default, RFC 6937 as an option"],
    pitfalls: &["needs SACK"],
    companion: "",
    needs: &[],
    refuses: &[],
    model_based: false,
    build: Build::Recovery(RecoveryKind::Rack),
};
