//! Undo of spurious reductions.
//!
//! Source: RFC 3522 and RFC 4015 (Eifel); RFC 3708 (D-SACK); RFC 5682 (F-RTO).
//!
//! The transport implements it (`undo.rs`, `recovery/rack.rs`, `recovery/sack_based.rs`); this is its entry.

use cwndlab_control::{Build, Confidence, Domain, Kind, Parameter, Spec, Value};

/// The entry.
pub static SPEC: Spec = Spec {
    name: "undo",
    title: "Undo of spurious reductions (Eifel, D-SACK, F-RTO)",
    kind: Kind::Mechanism,
    source: "RFC 3522; RFC 4015; RFC 3708; RFC 5682",
    year: 2003,
    confidence: Confidence::High,
    summary: "Reverts a reduction when it is detected that no data was lost:
  eifel: an ACK echoes a timestamp from before the first retransmission
  dsack: every retransmission of the recovery was reported as a duplicate
  f-rto: after a timeout an ACK acknowledges data that was not retransmitted
The transport restores its snapshot of the algorithm from before the reduction, with the complete state: window, ssthresh, epoch (CUBIC: W_max, K, start). A window that is larger than the restored one does not change. BBR, RCP and PERC keep their model of the path. The back-off of the timer ends.",
    parameters: &[
        Parameter { name: "stack.undo", unit: "", default: Value::Word("true"), domain: Domain::Words(&["false", "true"]), doc: "all three detections; false in the profile ns2" },
        Parameter { name: "stack.timestamps", unit: "", default: Value::Word("true"), domain: Domain::Words(&["false", "true"]), doc: "Eifel needs them; false in the profiles rfc and windows-10-20h1" },
        Parameter { name: "stack.dsack", unit: "", default: Value::Word("true"), domain: Domain::Words(&["false", "true"]), doc: "the receiver reports duplicates (RFC 2883); false in ns2" },
    ],
    choices: &[
        "F-RTO uses the SACK scoreboard; new segments are sent before further retransmissions of the timeout, to detect it (RFC 5682, section 3.1, step 2b)",
        "with 'sack' and 'fack' a reduction is final one window after the recovery; with 'rack' a D-SACK may revert it at any time, as in Linux",
        "ECN reductions are never reverted",
    ],
    pitfalls: &[
        "only with the recoveries 'sack', 'fack' and 'rack'; tahoe, reno and newreno have no undo, nor has newreno in place of another without SACK; 'rack' with the rules of Linux keeps it",
        "on a path with reordering it has more effect than the congestion avoidance algorithm: compare algorithms with the same stack",
    ],
    companion: "",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::Mechanism,
};
