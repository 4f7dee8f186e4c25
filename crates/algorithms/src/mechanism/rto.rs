//! Retransmission timeout (RTO).
//!
//! Source: RFC 6298.
//!
//! The transport implements it (`rtt.rs`, `tcb/timing.rs`, `recovery/enter_loss.rs`); this is its entry.

use cwndlab_control::{Build, Confidence, Domain, Kind, Parameter, Spec, Value};

/// The entry.
pub static SPEC: Spec = Spec {
    name: "rto",
    title: "Retransmission timeout",
    kind: Kind::Mechanism,
    source: "RFC 6298",
    year: 2011,
    confidence: Confidence::High,
    summary: "The maximum time for which the oldest segment may be unacknowledged:
  first sample R: SRTT = R, RTTVAR = R/2
  later: RTTVAR = 3/4 RTTVAR + 1/4 |SRTT - R|, then SRTT = 7/8 SRTT + 1/8 R
  RTO = SRTT + max(G, 4 RTTVAR), within [min_rto, max_rto]; doubled per expiry, until the next sample.
An expiry marks all outstanding data lost, sets the window to one segment, and ssthresh to the value from congestion avoidance. Acknowledgement of new data restarts the timer.",
    parameters: &[
        Parameter { name: "stack.min_rto", unit: "ms", default: Value::Number(200.0), domain: Domain::Range(0.0, 3_600_000.0), doc: "minimum: 200 ms in the profiles linux and ns2, 1 s in rfc, 300 ms in windows-10-20h1" },
        Parameter { name: "stack.max_rto", unit: "ms", default: Value::Number(120_000.0), domain: Domain::Range(0.0, 3_600_000.0), doc: "maximum, with back-off: 120 s in linux and ns2, 60 s in rfc and windows-10-20h1" },
        Parameter { name: "stack.initial_rto", unit: "ms", default: Value::Number(1000.0), domain: Domain::Range(0.0, 3_600_000.0), doc: "RTO before the first sample, also for the SYN: 1 s, in ns2 3 s" },
        Parameter { name: "stack.rto_arithmetic", unit: "", default: Value::Word("exact"), domain: Domain::Words(&["exact", "ticks", "ticks-linux"]), doc: "exact: RFC 6298 with nanosecond resolution; ticks: whole ticks in fixed point (BSD, native ns-2 agents), which gives three ticks above a constant RTT; ticks-linux: decreases of the RTT have a weight of an eighth (TCP/Linux of ns-2, profile ns2)" },
        Parameter { name: "stack.rto_granularity", unit: "ms", default: Value::Number(4.0), domain: Domain::Range(0.0, 3_600_000.0), doc: "G, minimum of the variance term; samples are not rounded to it. In linux the tick of all timers (0: they expire exactly). With ticks the length of a tick: 1 ms in ns2, 10 ms (tcpTick_) for its native agents" },
        Parameter { name: "stack.rto_floor_on_variance", unit: "", default: Value::Word("true"), domain: Domain::Words(&["false", "true"]), doc: "true (linux): min_rto is the minimum of 4 RTTVAR, so the RTO is at least SRTT + 200 ms; false (RFC 6298): the minimum of the sum" },
        Parameter { name: "stack.rto_restart", unit: "", default: Value::Word("retransmission"), domain: Domain::Words(&["new-data", "retransmission", "every-ack"]), doc: "events that restart the timer: new-data: acknowledgement of new data (RFC 6298, 5.3); retransmission: also a retransmission of the oldest segment in recovery (native ns-2 agents, Linux; profile linux); every-ack: also duplicate ACKs (TCP/Linux of ns-2; profile ns2 with fack and rack, which detect lost retransmissions)" },
        Parameter { name: "stack.timestamps", unit: "", default: Value::Word("true"), domain: Domain::Words(&["false", "true"]), doc: "true: an ACK of retransmitted data gives a sample too; false: Karn's algorithm excludes it" },
        Parameter { name: "stack.syn_retries", unit: "", default: Value::Number(6.0), domain: Domain::Range(0.0, 100.0), doc: "maximum number of retransmissions of the SYN before the connection is aborted" },
    ],
    choices: &[
        "of several segments acknowledged by one ACK the oldest gives the sample, as in Linux; algorithms receive that of the newest",
        "ssthresh does not change where the timer expires again for the same segment (RFC 5681, section 3.1); with RACK under profile linux also within a recovery or an ECN reduction (tcp_enter_loss)",
        "after a lost SYN the data transfer starts with the backed-off initial timeout (2 s), not with the 3 s of RFC 6298 (5.7)",
        "in the recovery 'newreno' only the first partial ACK restarts the timer (RFC 6582, Impatient)",
    ],
    pitfalls: &[
        "without a minimum of the variance term (rfc, ns2) and with the RTT of a slowly filling queue, the RTO approaches SRTT: with new-data most recoveries at 1.5 Mbit/s and a queue of 50 packets end in a timeout before the ACK of the retransmission arrives",
        "linux and RFC 6298 differ by up to 800 ms per expiry on short paths: compare algorithms within one profile",
        "with tail loss probes (stack.tail_loss_probe, recovery 'rack') the loss of a tail is rarely detected by this timer",
    ],
    companion: "",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::Mechanism,
};
