//! The pacing rate compared with calculations by hand: its gain in slow start and after, and its payload.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

use cwndlab_control::{
    Ack, Congestion, CongestionControl, Event, Extra, Feedback, Path, Phase, RecoveryKind, Sent, Ssthresh, State,
};
use cwndlab_records::rows::{Records, SampleRow};
use cwndlab_scenario::plan::Stack;
use cwndlab_scenario::{profile, Scenario};
use cwndlab_simulator::{catalogue, run};
use cwndlab_transport::sender::{Sender, ENDLESS};
use cwndlab_transport::wire::{AckPacket, Data, Output, SackBlocks};
use cwndlab_units::{Bytes, Rate, Time};
use serde_json::{json, Value};

const MS: u64 = 1_000_000;

/// The transmission times of segments.
#[derive(Default)]
struct Line(Vec<u64>);

impl Output for Line {
    fn data(&mut self, segment: &Data) {
        self.0.push(segment.timestamp.as_nanos());
    }
    fn ack(&mut self, _: &AckPacket) {}
    fn syn(&mut self, _: u32) {}
    fn event(&mut self, _: &'static str, _: &'static str, _: u32, _: u32, _: f64) {}
}

/// The Linux stack without bursts: each segment is sent on its own.
fn stack() -> Stack {
    Stack { tso_burst: false, pacing_quantum: 1, ..profile::find("linux").expect("the profile exists").0.clone() }
}

/// A sender with endless data after a handshake of 100 ms with a router feedback of `bps`.
fn sender(control: Box<dyn CongestionControl>, stack: &Stack, bps: Option<u64>, line: &mut Line) -> Sender {
    let mut sender = Sender::new(control, RecoveryKind::Rack, &stack.clone().into());
    sender.open(Time::ZERO, line);
    sender.supply(ENDLESS, Time::ZERO, line);
    let feedback = bps.map(|bps| Feedback { rate: Rate(bps), accelerated: Bytes::ZERO });
    sender.on_syn_ack(Time::from_nanos(100 * MS), None, Bytes(1 << 20), feedback, line);
    sender
}

fn build(algorithm: &str, stack: &Stack) -> Box<dyn CongestionControl> {
    catalogue().parse(algorithm).expect("the text form is valid").build(&Path {
        mss: stack.mss,
        initial_cwnd: stack.mss * u64::from(stack.initial_window),
        initial_ssthresh: None,
        paced: false,
        seed: 1,
        classic_ecn: false,
        oracle_buffer: None,
        saved: None,
    })
}

fn acknowledge(sender: &mut Sender, now: u64, ack: u64, line: &mut Line) {
    let packet = AckPacket {
        ack,
        part: 0,
        window: Bytes(1 << 20),
        echo: Time::from_nanos(now - 100 * MS),
        ece: false,
        ce_count: 0,
        accecn: None,
        blocks: SackBlocks::default(),
        feedback: None,
    };
    sender.on_ack(Time::from_nanos(now), &packet, line);
}

/// Mean gap between the segments sent from `from` to `to`, ns.
fn mean_gap(sender: &mut Sender, from: u64, to: u64, line: &mut Line) -> f64 {
    while sender.pace_timer().as_nanos() < to {
        sender.on_pace(sender.pace_timer(), line);
    }
    let left: Vec<u64> = line.0.iter().copied().filter(|at| (from..to).contains(at)).collect();
    (left[left.len() - 1] - left[0]) as f64 / (left.len() - 1) as f64
}

/// Partridge et al. 2002, by hand: ACKs of 1448 bytes 1 ms apart are 1448 B/ms; half of the pipe of 100 ms is 50
/// segments, and spread over 100 ms one segment is sent every 2 ms.
#[test]
fn swift_start_spreads_its_window_over_a_round_trip() {
    let stack = stack();
    let mut line = Line::default();
    let mut sender = sender(build("reno+swift-start", &stack), &stack, None, &mut line);
    for n in 0..4 {
        acknowledge(&mut sender, (200 + n) * MS, n + 1, &mut line);
    }
    assert_eq!(sender.cwnd(), 50);
    let gap = mean_gap(&mut sender, 204 * MS, 280 * MS, &mut line);
    assert!((gap / 2e6 - 1.0).abs() < 1e-3, "{gap} ns");
}

/// RFC 4782, section 3.2: the rate of the request counts IP and TCP headers, 40 bytes a packet. By hand: at 11.904
/// Mbit/s a packet of 1448 + 40 bytes is sent every millisecond; the second one after half of that, because a late
/// burst regains half of its gap.
#[test]
fn quick_start_paces_at_the_approved_rate_headers_included() {
    let stack = stack();
    let mut line = Line::default();
    let mut sender = sender(build("reno+quick-start", &stack), &stack, Some(11_904_000), &mut line);
    assert_eq!(sender.cwnd(), 100);
    let gap = mean_gap(&mut sender, 100 * MS + 1, 180 * MS, &mut line);
    assert!((gap / 1e6 - 1.0).abs() < 1e-3, "{gap} ns");
}

/// An algorithm with a window of ten segments, without pacing.
#[derive(Clone, Debug)]
struct Ten {
    sent: Arc<AtomicU64>,
}

impl CongestionControl for Ten {
    fn on_ack(&mut self, _: &Ack) -> Option<Event> {
        None
    }
    fn on_congestion(&mut self, _: &Congestion) {}
    fn cwnd(&self) -> Bytes {
        Bytes(14_480)
    }
    fn on_sent(&mut self, _: &Sent) {
        self.sent.fetch_add(1, Ordering::Relaxed);
    }
    fn state(&self, _: Option<Extra<'_>>) -> State {
        State { ssthresh: Ssthresh::Unlimited, phase: Phase::SlowStart }
    }
}

/// Ten segments, one after an ACK, and ten retransmissions after a timeout are 21.
#[test]
fn every_segment_is_reported_paced_or_not() {
    let sent = Arc::new(AtomicU64::new(0));
    let mut line = Line::default();
    let control = Box::new(Ten { sent: Arc::clone(&sent) });
    let mut sender = sender(control, &Stack { tail_loss_probe: false, ..stack() }, None, &mut line);
    acknowledge(&mut sender, 200 * MS, 1, &mut line);
    while sender.counters().timeouts == 0 {
        sender.on_timer(sender.timer(), &mut line); // first when it is due, then at the tick after
    }
    assert_eq!((line.0.len(), sender.counters().retransmitted_packets), (21, 10));
    assert_eq!(sent.load(Ordering::Relaxed), 21);
}

fn simulate(document: &Value) -> Records {
    let scenario = Scenario::from_json(&document.to_string(), None).expect("the scenario is valid");
    let (plan, _) = scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}", faults[0]));
    run(&plan, 1, &AtomicBool::new(false), None).expect("the run is not cancelled")
}

/// Linux, tcp_update_pacing_rate: 2 · cwnd / SRTT below ssthresh / 2, 1.2 · cwnd / SRTT above. After an outage of 2 s
/// slow start restarts and ends at the ssthresh of the timeout, without an event of the algorithm.
#[test]
fn after_an_outage_the_pacing_gain_of_congestion_avoidance_starts_at_ssthresh() {
    for algorithm in ["reno", "cubic"] {
        let records = simulate(&json!({
            "schema_version": 1, "duration": "30 s", "sample_interval": "10 ms",
            "dumbbell": { "bottleneck": { "rate": "10 Mbps", "delay": "10 ms", "queue": { "capacity": "4 bdp" },
                "schedule": [{ "at": "5 s", "loss": 1.0 }, { "at": "7 s", "loss": 0.0 }] } },
            "flow": [{ "algorithm": algorithm, "rtt": "100 ms", "stack": { "pacing": "always", "initial_ssthresh": 80 } }],
        }));
        let open = |row: &&SampleRow| row.state == 0 && row.srtt_ns.is_some() && row.ssthresh_bytes.is_some();
        let mut slow = 0;
        let mut avoiding = 0;
        for row in records.samples.iter().filter(open) {
            let cwnd = row.cwnd_bytes.expect("one");
            let ssthresh = row.ssthresh_bytes.expect("one");
            let window = cwnd.max(row.in_flight_bytes.expect("one")) as f64;
            let rate = row.pacing_rate_bps.expect("paced") as f64;
            let srtt = row.srtt_ns.expect("sampled") as f64;
            let gain = rate * srtt / (window * 8e9);
            if cwnd + 3 * 1448 < ssthresh / 2 {
                slow += 1;
                assert!((gain - 2.0).abs() < 1e-3, "{algorithm}: {gain} at {row:?}");
            } else if cwnd >= ssthresh && row.time_ns > 7_000_000_000 {
                avoiding += 1;
                assert!((gain - 1.2).abs() < 1e-3, "{algorithm}: {gain} at {row:?}");
            }
        }
        assert!(slow >= 3 && avoiding > 1000, "{algorithm}: {slow} samples of slow start, {avoiding} of avoidance");
    }
}
