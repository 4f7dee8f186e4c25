//! Undo of spurious reductions
//!
//! Source: RFC 3522 and RFC 4015 (Eifel); RFC 3708 (D-SACK); RFC 5682 (F-RTO).
//!
//! The transport performs it (`undo.rs`, `recovery/rack.rs`, `recovery/sack_based.rs`); this is its entry.

use cwndlab_control::{Build, Confidence, Domain, Kind, Parameter, Spec, Value};

/// The entry.
pub static SPEC: Spec = Spec {
    name: "undo",
    title: "Undo of spurious reductions (Eifel, D-SACK, F-RTO)",
    kind: Kind::Mechanism,
    source: "RFC 3522; RFC 4015; RFC 3708; RFC 5682",
    year: 2003,
    confidence: Confidence::High,
    summary: "Takes a reduction back when it turns out that nothing was lost:
  eifel: an ACK echoes a timestamp from before the first retransmission
  dsack: every retransmission of the recovery was reported as a duplicate
  f-rto: after a timeout an ACK brings data that was never sent again
The transport restores its snapshot of the algorithm from before the reduction: window, ssthresh, epoch (CUBIC: W_max, K, start) and all else; a window that has grown past that one stays. BBR, RCP and PERC keep their model of the path. The back-off of the timer ends.",
    parameters: &[
        Parameter { name: "stack.undo", unit: "", default: Value::Word("true"), domain: Domain::Words(&["false", "true"]), doc: "all three; false in the profile ns2" },
        Parameter { name: "stack.timestamps", unit: "", default: Value::Word("true"), domain: Domain::Words(&["false", "true"]), doc: "Eifel needs them; false in the profiles rfc and windows-10-20h1" },
        Parameter { name: "stack.dsack", unit: "", default: Value::Word("true"), domain: Domain::Words(&["false", "true"]), doc: "the receiver reports duplicates (RFC 2883); false in ns2" },
    ],
    choices: &[
        "F-RTO is judged by the SACK scoreboard; with 'rack' new segments go before the timer's other retransmissions to find out (RFC 5682, section 3.1, step 2b), with 'sack' and 'fack' they do not",
        "with 'sack' and 'fack' a reduction stands a window after the recovery; with 'rack' a D-SACK may take it back at any time, as in Linux",
        "an ECN reduction is never taken back",
    ],
    pitfalls: &[
        "only with the recoveries 'sack', 'fack' and 'rack'; tahoe, reno and newreno take nothing back",
        "on a path that reorders it decides more than the growth: compare with the same stack",
    ],
    companion: "",
    needs: &[],
    refuses: &[],
    model_based: false,
    build: Build::Mechanism,
};
