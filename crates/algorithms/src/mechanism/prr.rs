//! Proportional rate reduction (PRR).
//!
//! Source: RFC 6937; RFC 9937.
//!
//! The transport implements it (`prr.rs`); this is its entry.

use cwndlab_control::{Build, Confidence, Domain, Kind, Parameter, Spec, Value};

/// The entry.
pub static SPEC: Spec = Spec {
    name: "prr",
    title: "Proportional rate reduction",
    kind: Kind::Mechanism,
    source: "RFC 6937; RFC 9937",
    year: 2013,
    confidence: Confidence::High,
    summary: "Reduces the window gradually to ssthresh during a recovery or after an ECN mark, for every congestion avoidance algorithm:
  pipe > ssthresh: sndcnt = ceil(prr_delivered * ssthresh / RecoverFS) - prr_out
  else:            sndcnt = min(ssthresh - pipe, max(prr_delivered - prr_out, delivered) + 1 if safe)
  cwnd = pipe + max(sndcnt, 1 before the first transmission); at the end cwnd = ssthresh.
Used in the recovery 'rack' and, with every recovery but 'sack' and 'fack', after an ECN mark.",
    parameters: &[Parameter {
        name: "stack.prr",
        unit: "",
        default: Value::Word("rfc9937"),
        domain: Domain::Words(&["rfc6937", "rfc9937"]),
        doc: "field of a flow's stack, or 'rack(prr=6937)': with rfc9937 only an ACK that advances without new losses is safe, and RecoverFS excludes SACKed data; with rfc6937 every ACK is safe (the slow-start reduction bound)",
    }],
    choices: &[
        "whole segments, as in Linux; multiplication first, then division with rounding up",
        "with RACK under profile linux RecoverFS is the window before the reduction, as in Linux (tcp_init_cwnd_reduction)",
        "RecoverFS excludes the data delivered by the ACK that starts the recovery, as RFC 9937 requires: it is smaller by the one or two segments of that ACK",
    ],
    pitfalls: &[
        "'sack' reduces the window to ssthresh at once (unless stack.rampdown is \"proportional\") and 'fack' by its own rampdown: a comparison of recoveries includes this difference",
        "with an ssthresh above the pipe the sender transmits faster than data is delivered until pipe reaches ssthresh",
    ],
    companion: "",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::Mechanism,
};
