//! Proportional rate reduction
//!
//! Source: RFC 6937; RFC 9937.
//!
//! The transport performs it (`prr.rs`); this is its entry.

use cwndlab_control::{Build, Confidence, Domain, Kind, Parameter, Spec, Value};

/// The entry.
pub static SPEC: Spec = Spec {
    name: "prr",
    title: "Proportional rate reduction",
    kind: Kind::Mechanism,
    source: "RFC 6937; RFC 9937",
    year: 2013,
    confidence: Confidence::High,
    summary: "The way from the old window to ssthresh while a loss is repaired or a mark answered, whatever the growth answered:
  pipe > ssthresh: sndcnt = ceil(prr_delivered * ssthresh / RecoverFS) - prr_out
  else:            sndcnt = min(ssthresh - pipe, max(prr_delivered - prr_out, delivered) + 1 if safe)
  cwnd = pipe + max(sndcnt, 1 as long as nothing was sent); at the end cwnd = ssthresh.
In force in the recovery 'rack' and, with every recovery but 'sack' and 'fack', after an ECN mark.",
    parameters: &[Parameter {
        name: "stack.prr",
        unit: "",
        default: Value::Word("rfc9937"),
        domain: Domain::Words(&["rfc6937", "rfc9937"]),
        doc: "field of a flow's stack, or 'rack(prr=6937)': with rfc9937 only an ACK that advances and shows no new loss is safe and RecoverFS leaves out what was SACKed; with rfc6937 every ACK is safe (the slow-start reduction bound)",
    }],
    choices: &[
        "whole segments, as Linux counts; multiplied first, divided and rounded up after",
        "with RACK under profile linux RecoverFS is the window before the reduction, as in Linux (tcp_init_cwnd_reduction)",
        "RecoverFS does not count what the ACK that begins the recovery delivers, as RFC 9937 asks: it is smaller by that ACK's one or two segments",
    ],
    pitfalls: &[
        "'sack' goes to ssthresh at once (unless stack.rampdown is \"proportional\") and 'fack' by its own rampdown: a comparison of recoveries compares this too",
        "a growth whose ssthresh lies above the pipe sends faster than it delivers while it catches up",
    ],
    companion: "",
    needs: &[],
    refuses: &[],
    model_based: false,
    build: Build::Mechanism,
};
