//! Explicit congestion notification
//!
//! Source: RFC 3168.
//!
//! The transport performs it (`receiver.rs`, `ecn.rs`, `recovery/reduction.rs`); this is its entry.

use cwndlab_control::{Build, Confidence, Domain, Kind, Parameter, Spec, Value};

/// The entry.
pub static SPEC: Spec = Spec {
    name: "ecn-classic",
    title: "Explicit congestion notification",
    kind: Kind::Mechanism,
    source: "RFC 3168",
    year: 2001,
    confidence: Confidence::High,
    summary: "Data is sent ECN-capable and a queue that marks (step-ecn) marks it instead of dropping. The receiver sets ECE on every ACK from a mark until a segment with CWR. The sender answers once per window of data as the growth answers a mark, retransmits nothing, goes to the new window by PRR and sets CWR on the next new segment.",
    parameters: &[Parameter {
        name: "stack.ecn",
        unit: "",
        default: Value::Word("off"),
        domain: Domain::Words(&["off", "classic", "accurate", "dctcp"]),
        doc: "field of a flow's stack, for both of its ends; classic: the echo stands until CWR; accurate: the receiver counts marks and every ACK tells how many, as DCTCP needs; dctcp: the same, and an ACK at once whenever marking begins or ends (RFC 8257, section 3.2); off: as Linux, which never asks for ECN by itself",
    }],
    choices: &[
        "data that is sent again, bare ACKs and SYNs are not ECN-capable (section 6.1)",
        "an ACK that is held back leaves when the first marked segment comes, and tells of it",
        "marks that arrive while a loss is repaired change nothing: that window was reduced",
    ],
    pitfalls: &[
        "droptail marks nothing: name a queue of kind step-ecn with mark_above",
        "a full queue drops ECN-capable packets too",
        "at ssthresh's floor of two segments the sender does not slow further, though section 6.1.2 would have it wait for the timer",
        "an algorithm that looks at marked bytes (DCTCP) is told their true number with classic too, which that wire format could not carry",
        "packets that are not ECN-capable pass a step-ecn queue unmarked until it is full",
    ],
    companion: "",
    needs: &[],
    refuses: &[],
    model_based: false,
    build: Build::Mechanism,
};
