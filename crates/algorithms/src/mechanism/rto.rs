//! Retransmission timeout
//!
//! Source: RFC 6298.
//!
//! The transport performs it (`rtt.rs`, `tcb/timing.rs`, `recovery/enter_loss.rs`); this is its entry.

use cwndlab_control::{Build, Confidence, Domain, Kind, Parameter, Spec, Value};

/// The entry.
pub static SPEC: Spec = Spec {
    name: "rto",
    title: "Retransmission timeout",
    kind: Kind::Mechanism,
    source: "RFC 6298",
    year: 2011,
    confidence: Confidence::High,
    summary: "How long the oldest segment may stay unacknowledged:
  first sample R: SRTT = R, RTTVAR = R/2
  later: RTTVAR = 3/4 RTTVAR + 1/4 |SRTT - R|, then SRTT = 7/8 SRTT + 1/8 R
  RTO = SRTT + max(G, 4 RTTVAR), within [min_rto, max_rto]; doubled per expiry, until the next sample.
An expiry takes all that is outstanding for lost, the window to one segment and ssthresh to the growth's answer. New data acknowledged restarts the timer.",
    parameters: &[
        Parameter { name: "stack.min_rto", unit: "ms", default: Value::Number(200.0), domain: Domain::Range(0.0, 3_600_000.0), doc: "floor: 200 ms in the profiles linux and ns2, 1 s in rfc, 300 ms in windows-10-20h1" },
        Parameter { name: "stack.max_rto", unit: "ms", default: Value::Number(120_000.0), domain: Domain::Range(0.0, 3_600_000.0), doc: "ceiling, back-off included: 120 s in linux and ns2, 60 s in rfc and windows-10-20h1" },
        Parameter { name: "stack.initial_rto", unit: "ms", default: Value::Number(1000.0), domain: Domain::Range(0.0, 3_600_000.0), doc: "before the first sample, SYN included: 1 s, in ns2 3 s" },
        Parameter { name: "stack.rto_arithmetic", unit: "", default: Value::Word("exact"), domain: Domain::Words(&["exact", "ticks", "ticks-linux"]), doc: "exact: RFC 6298 to the nanosecond; ticks: whole ticks in fixed point (BSD, ns-2's own agents), which leave three ticks above a constant RTT; ticks-linux: falls of the RTT count an eighth (ns-2's TCP/Linux, profile ns2)" },
        Parameter { name: "stack.rto_granularity", unit: "ms", default: Value::Number(4.0), domain: Domain::Range(0.0, 3_600_000.0), doc: "G, a floor of the variance term to which samples are not rounded; with ticks the tick: 1 ms in ns2, 10 ms (tcpTick_) for its native agents" },
        Parameter { name: "stack.rto_floor_on_variance", unit: "", default: Value::Word("true"), domain: Domain::Words(&["false", "true"]), doc: "true (linux): min_rto is the floor of 4 RTTVAR, so the RTO is never below SRTT + 200 ms; false (RFC 6298): of the sum" },
        Parameter { name: "stack.rto_restart", unit: "", default: Value::Word("retransmission"), domain: Domain::Words(&["new-data", "retransmission", "every-ack"]), doc: "what lets the timer begin anew: new-data: new data acknowledged (RFC 6298, 5.3); retransmission: also that the oldest segment is sent again in a recovery (ns-2's own agents, Linux; profile linux); every-ack: duplicates too (ns-2's TCP/Linux; profile ns2 with fack and rack, which see that a retransmission was lost)" },
        Parameter { name: "stack.timestamps", unit: "", default: Value::Word("true"), domain: Domain::Words(&["false", "true"]), doc: "true: an ACK of retransmitted data is a sample too; false: Karn's rule forbids it" },
        Parameter { name: "stack.syn_retries", unit: "", default: Value::Number(6.0), domain: Domain::Range(0.0, 100.0), doc: "SYNs sent again before the connection is given up" },
    ],
    choices: &[
        "of several segments that an ACK acknowledges the oldest is the sample, as in Linux; the newest is what algorithms see",
        "ssthresh stays where the timer expires again for the same segment (RFC 5681, section 3.1); with RACK under profile linux also within a recovery or an ECN reduction (tcp_enter_loss)",
        "after a lost SYN the data begins with the backed-off initial timeout (2 s), not with RFC 6298's 3 s (5.7)",
        "in the recovery 'newreno' only the first partial ACK restarts the timer (RFC 6582, Impatient)",
    ],
    pitfalls: &[
        "without a floor on the variance (rfc, ns2) and with an RTT that a slowly filling queue sets, the RTO comes down to SRTT: with new-data alone most recoveries at 1.5 Mbit/s and 50 packets of queue end in a timeout before the retransmission's ACK is back",
        "linux and RFC 6298 differ by up to 800 ms per expiry on short paths: compare algorithms within one profile",
        "with tail loss probes (stack.tail_loss_probe, recovery 'rack') a lost tail seldom waits for this timer",
    ],
    companion: "",
    needs: &[],
    refuses: &[],
    model_based: false,
    build: Build::Mechanism,
};
