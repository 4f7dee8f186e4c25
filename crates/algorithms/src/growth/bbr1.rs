//! BBR, version 1.
//!
//! Source: N. Cardwell, Y. Cheng, C. S. Gunn, S. Hassas Yeganeh, V. Jacobson, "BBR: Congestion-Based Congestion Control",
//! ACM Queue 14(5), 2016; Linux 6.18 `net/ipv4/tcp_bbr.c`.
//!
//! ```text
//! bw      = max of the delivery-rate samples of 10 rounds                       (1)
//! min_rtt = min of the RTT samples of 10 s                                      (2)
//! pacing  = 0.99 pacing_gain bw                                                 (3)
//! target  = ⌈cwnd_gain bw min_rtt⌉ + extra_acked + 3 quanta, even               (4)
//! each ack: w = min(w + n, target) once the pipe is full, w + n before          (5)
//! Startup: gains 739/256 until bw grew by less than 1/4 in each of 3 rounds     (6)
//! Drain:   pacing 88/256 until in flight ≤ bw min_rtt + quanta                  (7)
//! ProbeBW: pacing 5/4, 3/4, 1, 1, 1, 1, 1, 1, one min_rtt each, from anywhere but 3/4; cwnd_gain 2   (8)
//! ProbeRTT: min_rtt 10 s old: w ≤ 4 for 200 ms and a round                      (9)
//! recovery: first round w = in flight + n, then (5); at its end w as before it  (10)
//! ```
//!
//! Units: segments, segments/s, ns; the quantum is what leaves in a millisecond, two at least.
//! Differs from the source: real numbers where Linux counts in 1/2²⁴ segments per µs, and no ticks of 4 ms.

use cwndlab_control::{Arguments, Build, Confidence, Domain, Kind, Need, Parameter, Spec, Value};

use crate::part::bbr1::{Bbr1, Options};

/// The entry.
pub static SPEC: Spec = Spec {
    name: "bbr1",
    title: "BBR version 1",
    kind: Kind::Whole,
    source: "doi:10.1145/3012426.3022184; Linux 6.18 tcp_bbr.c",
    year: 2016,
    confidence: Confidence::High,
    summary: "A model of the path, its bottleneck's rate and its round-trip time, sets pacing rate and window; losses do not.",
    parameters: &[
        Parameter {
            name: "cwnd_gain",
            unit: "",
            default: Value::Number(2.0),
            domain: Domain::Range(1.0, 10.0),
            doc: "window of ProbeBW in bandwidth-delay products",
        },
        Parameter {
            name: "probe_gain",
            unit: "",
            default: Value::Number(1.25),
            domain: Domain::Range(1.0, 1.9),
            doc: "pacing gain of the phase that probes; the phase after it paces at 2 minus this",
        },
        Parameter {
            name: "min_rtt_window",
            unit: "s",
            default: Value::Number(10.0),
            domain: Domain::Range(0.1, 1000.0),
            doc: "age of min_rtt at which ProbeRTT measures it again",
        },
        Parameter {
            name: "aggregation",
            unit: "",
            default: Value::Word("on"),
            domain: Domain::Words(&["on", "off"]),
            doc: "add to the window what ACKs bring at once beyond the rate (Linux since 5.1; not in the paper)",
        },
        Parameter {
            name: "policer",
            unit: "",
            default: Value::Word("on"),
            domain: Domain::Words(&["on", "off"]),
            doc: "look for a token-bucket policer and keep to its rate (Linux; not in the paper)",
        },
        Parameter {
            name: "loss",
            unit: "",
            default: Value::Word("conserve"),
            domain: Domain::Words(&["conserve", "ignore"]),
            doc: "conserve: packet conservation in the first round of a recovery (Linux); ignore: (5) always",
        },
    ],
    choices: &[
        "gains as Linux rounds them, 739/256 and 88/256, where the paper has 2/ln 2 and its inverse",
        "a delivery-rate sample's app-limited mark during ProbeRTT is set here, since the transport does not know of it",
    ],
    pitfalls: &[
        "several flows in a buffer below 1.5 bandwidth-delay products lose packets for ever",
        "takes more than its share from loss-based flows in small buffers, less in large ones",
        "a queue that never empties passes for propagation delay until all flows probe at once",
    ],
    companion: "",
    needs: &[Need::Pacing, Need::EveryAck],
    refuses: &[],
    model_based: true,
    build: Build::Whole(|path, arguments| Box::new(Bbr1::new(path, &options(arguments)))),
};

fn options(arguments: &Arguments) -> Options {
    Options {
        cwnd_gain: arguments.number("cwnd_gain"),
        probe_gain: arguments.number("probe_gain"),
        min_rtt_window: (arguments.number("min_rtt_window") * 1e9) as u64,
        aggregation: arguments.word("aggregation") == "on",
        policer: arguments.word("policer") == "on",
        conserve: arguments.word("loss") == "conserve",
    }
}
