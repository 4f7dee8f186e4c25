//! Explicit congestion notification (ECN).
//!
//! Source: RFC 3168.
//!
//! The transport implements it (`receiver.rs`, `ecn.rs`, `recovery/reduction.rs`); this is its entry.

use cwndlab_control::{Build, Confidence, Domain, Kind, Parameter, Spec, Value};

/// The entry.
pub static SPEC: Spec = Spec {
    name: "ecn-classic",
    title: "Explicit congestion notification",
    kind: Kind::Mechanism,
    source: "RFC 3168",
    year: 2001,
    confidence: Confidence::High,
    summary: "Data segments are ECN-capable, and a marking queue (step-ecn) marks them instead of dropping them. The receiver sets ECE on every ACK from a mark until a segment with CWR. The sender reduces the window once per window of data, by the congestion avoidance algorithm's response to a mark. It retransmits nothing, reaches the new window by PRR and sets CWR on the next new segment.",
    parameters: &[Parameter {
        name: "stack.ecn",
        unit: "",
        default: Value::Word("off"),
        domain: Domain::Words(&["off", "classic", "accurate", "dctcp"]),
        doc: "field of a flow's stack, for both of its ends; classic: the receiver repeats the echo until CWR; accurate: every ACK reports the number of marks, as DCTCP needs; dctcp: the same, and an immediate ACK whenever marking begins or ends (RFC 8257, section 3.2); off: as Linux, which does not request ECN by default",
    }],
    choices: &[
        "retransmissions, pure ACKs and SYNs are not ECN-capable (section 6.1)",
        "a delayed ACK is sent at the arrival of the first marked segment, and reports the mark",
        "marks during a recovery have no effect: that window has been reduced already",
    ],
    pitfalls: &[
        "droptail queues do not mark: use a queue of kind step-ecn with mark_above",
        "a full queue drops ECN-capable packets too",
        "at the minimum ssthresh of two segments the sender does not slow down further, although section 6.1.2 would require it to wait for the timer",
        "an algorithm that uses the marked bytes (DCTCP) receives their exact number with classic too, which that wire format could not carry",
        "packets that are not ECN-capable pass a step-ecn queue unmarked until it is full",
    ],
    companion: "",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::Mechanism,
};
