//! Rules of the transport over a simulated path: recovery without SACK, small receive windows, slow start with delayed
//! ACKs, and pacing of small segments.

use std::sync::atomic::AtomicBool;

use cwndlab_records::rows::{PacketRow, Records};
use cwndlab_scenario::Scenario;
use cwndlab_simulator::{catalogue, run};
use serde_json::{json, Value};

const DATA: u8 = 0;
const ACK: u8 = 1;

fn simulate(document: &Value) -> Records {
    let scenario = Scenario::from_json(&document.to_string(), None).expect("the scenario is valid");
    let (plan, _) = scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}", faults[0]));
    run(&plan, 1, &AtomicBool::new(false), None).expect("the run is not cancelled")
}

/// One flow over 10 Mbit/s with a queue of 100 packets and an RTT of 40 ms.
fn one_flow(duration: &str, flow: &Value) -> Value {
    json!({
        "schema_version": 1, "duration": duration, "packets": true,
        "dumbbell": { "bottleneck": { "rate": "10 Mbps", "delay": "10 ms", "queue": { "capacity": "100 packets" } } },
        "flow": [flow],
    })
}

fn data_and_acks(records: &Records) -> (Vec<&PacketRow>, Vec<&PacketRow>) {
    let of = |kind| records.packets.iter().filter(|row| row.kind == kind).collect();
    (of(DATA), of(ACK))
}

/// Linux 6.1 itself, in virtual time over the same path with `tcp_sack=0`, has 36,071,128 bytes, 19 retransmissions and 6
/// recoveries with `cubic`, and 30,284,920 bytes, 168 and 4 with `reno`.
#[test]
fn a_flow_without_sack_recovers_as_linux_does() {
    for (algorithm, bytes, retransmissions, recoveries) in
        [("cubic-linux+hystart-linux/rack", 36_071_128_u64, 19, 6), ("reno", 30_284_920, 168, 4)]
    {
        let stack = json!({ "sack": false });
        let flow = json!({ "algorithm": algorithm, "rtt": "40 ms", "profile": "linux", "stack": stack });
        let flow = &simulate(&one_flow("30 s", &flow)).flows[0];
        let found = (flow.retransmitted_packets, flow.recoveries, flow.timeouts);
        assert_eq!(found, (retransmissions, recoveries, 0), "{algorithm}");
        let apart = flow.delivered_bytes.abs_diff(bytes);
        assert!(apart < bytes * 3 / 100, "{algorithm}: {}", flow.delivered_bytes);
    }
}

/// RFC 6582, section 1: NewReno is the recovery without SACK, whatever recovery with SACK the profile or the scenario
/// names; Linux has its own. Of the 37.5 MB that the line carries in 30 s it delivers at least nine tenths.
#[test]
fn a_flow_without_sack_fills_the_line() {
    for (profile, algorithm) in [
        ("rfc", "cubic"),
        ("rfc", "reno/sack"),
        ("rfc", "reno/fack"),
        ("rfc", "reno/rack"),
        ("windows-10-20h1", "ctcp"),
        ("ns2", "reno/fack"),
    ] {
        let newreno = format!("{}/newreno", algorithm.split('/').next().expect("one part"));
        let [found, expected] = [algorithm, &newreno].map(|algorithm| {
            let stack = json!({ "sack": false });
            let flow = json!({ "algorithm": algorithm, "rtt": "40 ms", "profile": profile, "stack": stack });
            let mut document = one_flow("30 s", &flow);
            document["packets"] = json!(false);
            let flow = &simulate(&document).flows[0];
            (flow.delivered_bytes, flow.retransmitted_packets, flow.timeouts)
        });
        assert_eq!(found, expected, "{profile}, {algorithm}");
        assert!(found.0 > 33_000_000, "{profile}, {algorithm}: {found:?}");
    }
}

/// RFC 9293, sections 3.8.6.2.1 and 3.8.6.2.2: a receive window of any size carries data, and the window update of a
/// slow reader comes when the window opens. Every round trip of 40 ms, or a delayed ACK of at most 200 ms, delivers a
/// segment or the window; the application reads 100 kbit/s. No ACK is sent without a reason: a segment has one, and a
/// window that closes has an update.
#[test]
fn a_receive_window_of_any_size_delivers_data() {
    for (profile, mss, window) in ["linux", "rfc", "windows-10-20h1", "ns2"]
        .into_iter()
        .flat_map(|profile| [536, 1448, 8960].map(|mss| (profile, mss)))
        .flat_map(|(profile, mss)| {
            [1, 100, 536, 537, 1000, 1072, 1448, 1500, 2895, 9000].map(|window| (profile, mss, window))
        })
    {
        for read_rate in [None, Some("100 kbps"), Some("1 Gbps")] {
            let mut stack = json!({ "mss": format!("{mss} B"), "receive_window": format!("{window} B") });
            if let Some(rate) = read_rate {
                stack["read_rate"] = json!(rate);
            }
            let flow = json!({ "algorithm": "reno", "rtt": "40 ms", "profile": profile, "stack": stack });
            let records = simulate(&one_flow("10 s", &flow));
            let what = format!("{profile}, {mss}, {window}, {read_rate:?}");
            let delivered = records.flows[0].delivered_bytes;
            let by_window = 30 * window.min(mss);
            let expected = if read_rate == Some("100 kbps") { by_window.min(80_000) } else { by_window };
            assert!(delivered >= expected, "{what}: {delivered} of {expected}");
            let (data, acks) = data_and_acks(&records);
            // Both directions have one rated link.
            assert!(acks.len() <= 2 * data.len() + 4, "{what}: {} ACKs of {} segments", acks.len(), data.len());
        }
    }
}

/// A transfer ends when its last byte has arrived, whatever the segments carry. By hand: a window of 1000 bytes carries a
/// segment in each round trip of 40 ms and 0.9 ms on the line, so that the tenth arrives ten and a half of them after the
/// start; of full segments it would be the seventh.
#[test]
fn a_transfer_in_small_segments_ends_with_its_last_byte() {
    let stack = json!({ "mss": "1448 B", "receive_window": "1000 B", "ack_every": 1 });
    let workload = json!({ "kind": "transfers", "bytes": "10 kB", "count": 1, "gap": "1 s" });
    let flow = json!({ "algorithm": "reno", "rtt": "40 ms", "profile": "rfc", "stack": stack, "workload": workload });
    let records = simulate(&one_flow("2 s", &flow));
    let (data, _) = data_and_acks(&records);
    assert!(data.iter().all(|row| row.payload_bytes == 1000));
    let ends: Vec<_> = records.transfers.iter().map(|row| row.end_ns / 1_000_000).collect();
    assert!(matches!(ends[..], [420..=432]), "{ends:?} ms");
    assert_eq!(records.flows[0].delivered_bytes, 10_000);
}

/// By hand: an application that reads 1 Mbit/s accepts the first window of 65,535 bytes and 125,000 bytes/s, whatever the
/// window could grow to (Linux, tcp_rcv_space_adjust).
#[test]
fn a_slow_reader_receives_what_it_reads() {
    let flow = json!({ "algorithm": "cubic", "rtt": "40 ms", "profile": "linux", "stack": { "read_rate": "1 Mbps" } });
    let mut document = one_flow("10 s", &flow);
    document["dumbbell"]["bottleneck"]["rate"] = json!("100 Mbps");
    let delivered = simulate(&document).flows[0].delivered_bytes;
    assert!((1_200_000..=65_535 + 1_250_000).contains(&delivered), "{delivered}");
}

/// RFC 9293, section 3.8.6.1: a window probe has no payload here and follows the data acknowledged; it is no
/// retransmission. By hand: the buffer of 20,000 bytes fills, and a reader of 1 bit/s never empties it.
#[test]
fn a_window_probe_is_at_the_first_unacknowledged_byte() {
    for profile in ["linux", "rfc"] {
        let stack = json!({ "mss": "1000 B", "receive_window": "20 kB", "auto_tuning": false, "read_rate": "1 bps" });
        let flow = json!({ "algorithm": "reno", "rtt": "40 ms", "profile": profile, "stack": stack });
        let records = simulate(&one_flow("30 s", &flow));
        let (data, _) = data_and_acks(&records);
        let probes: Vec<_> = data.iter().filter(|row| row.payload_bytes == 0).collect();
        assert!(probes.len() >= 4, "{profile}: {} probes", probes.len());
        for probe in probes {
            assert_eq!((probe.sequence_bytes, probe.retransmission), (20_000, false), "{profile}");
        }
        assert_eq!(data.iter().filter(|row| row.retransmission).count(), 0);
        assert_eq!((records.flows[0].retransmitted_packets, records.flows[0].delivered_bytes), (0, 20_000));
    }
    // A window that never opens is closed from the first byte on: the probe is at byte 0, not 2³² − 1 segments above.
    let stack = json!({ "mss": "1000 B", "receive_window": "900 B", "read_rate": "1 bps" });
    let flow = json!({ "algorithm": "reno", "rtt": "40 ms", "profile": "rfc", "stack": stack });
    let records = simulate(&one_flow("10 s", &flow));
    assert!(records.packets.iter().all(|row| row.sequence_bytes <= 2000), "{:?}", records.packets.last());
}

/// Windows at the end of the first round trips of slow start, segments.
fn windows(algorithm: &str, profile: &str) -> Vec<u64> {
    let stack = json!({ "mss": "1000 B", "quick_acks": 0, "ack_every": 2, "initial_window": 10 });
    let flow = json!({ "algorithm": algorithm, "rtt": "100 ms", "profile": profile, "stack": stack });
    let mut document = one_flow("500 ms", &flow);
    document["sample_interval"] = json!("10 ms");
    document["dumbbell"]["bottleneck"]["rate"] = json!("1 Gbps");
    let records = simulate(&document);
    // The handshake takes one round trip; in the middle of each following one its ACKs have arrived.
    let at = |ms: u64| records.samples.iter().rfind(|row| row.time_ns <= ms * 1_000_000).and_then(|row| row.cwnd_bytes);
    [150, 250, 350, 450].iter().map(|ms| at(*ms).expect("a window") / 1000).collect()
}

/// RFC 5681, section 3.1, equation 2: cwnd += min(N, SMSS) per ACK of new data. By hand with an ACK for every second
/// segment: 5, 7 or 8, and 11 or 12 ACKs. Linux counts acknowledged segments, RFC 9406 at most 8 per ACK, and the
/// variant of RFC 3465 two.
#[test]
fn slow_start_of_the_profile_rfc_grows_by_a_segment_per_ack() {
    for algorithm in ["reno", "cubic+standard", "cubic-8312", "reno+hystart"] {
        let found = windows(algorithm, "rfc");
        assert_eq!(found[..2], [10, 15], "{algorithm}: {found:?}");
        assert!((22..=23).contains(&found[2]) && (33..=35).contains(&found[3]), "{algorithm}: {found:?}");
    }
    for (algorithm, profile) in
        [("reno", "linux"), ("reno", "windows-10-20h1"), ("cubic", "rfc"), ("reno+standard(limit=2)", "rfc")]
    {
        assert_eq!(windows(algorithm, profile), [10, 20, 40, 80], "{algorithm}, {profile}");
    }
}

/// Linux, tcp_rate_skb_delivered: rate samples count packets; tcp_update_skb_after_send: a segment is charged with its
/// payload; sch_fq: a packet waits for at most a second. If a sample of a segment of 4 bytes were a rate of hundreds of
/// bit/s at which a full segment is charged, the next one would wait for a minute. A sensor publishes 20 messages of up
/// to 1 kB a second with Nagle's algorithm over a line that loses 1 %: no message takes longer than a segment that is
/// lost twice, 3 s under the RFCs' timers, and a second of pacing.
#[test]
fn small_segments_do_not_stop_a_paced_flow() {
    for (profile, algorithm) in
        ["linux", "rfc"].into_iter().flat_map(|profile| ["bbr1", "bbr3", "copa"].map(|algorithm| (profile, algorithm)))
    {
        let workload = json!({ "kind": "mqtt", "nagle": true, "period": "50 ms", "jitter": "50 ms",
            "payload": { "kind": "uniform", "min": "1 B", "max": "1024 B" } });
        let flow = json!({ "algorithm": algorithm, "rtt": "40 ms", "profile": profile, "workload": workload });
        let mut document = one_flow("300 s", &flow);
        document["dumbbell"]["bottleneck"]["loss"] = json!({ "kind": "bernoulli", "p": 0.01 });
        document["packets"] = json!(false);
        let records = simulate(&document);
        assert!(records.transfers.len() > 5900, "{profile}, {algorithm}: {} messages", records.transfers.len());
        let longest = records.transfers.iter().map(|row| row.end_ns - row.start_ns).max().expect("a message");
        assert!(longest < 4_000_000_000, "{profile}, {algorithm}: {longest} ns");
    }
}

/// Savage et al., CCR 29(5), 1999, section 3.3: a sender whose receiver acknowledges what it missed learns of no loss. It
/// sends nothing twice, never reduces its window, and of 2 % lost segments none is delivered.
#[test]
fn a_receiver_that_conceals_losses_is_never_sent_less() {
    let flow = |conceals: bool| json!({"algorithm": "reno", "rtt": "40 ms", "stack": {"conceal_losses": conceals}});
    let run = |conceals: bool| {
        let mut document = one_flow("10 s", &flow(conceals));
        document["dumbbell"]["bottleneck"]["loss"] = json!({"kind": "bernoulli", "p": 0.02});
        document["dumbbell"]["bottleneck"]["queue"]["capacity"] = json!("20000 packets");
        simulate(&document)
    };
    let (honest, concealed) = (run(false), run(true));
    let (honest, flow) = (&honest.flows[0], &concealed.flows[0]);
    assert!(honest.retransmitted_packets > 0 && honest.recoveries > 0);
    assert_eq!((flow.retransmitted_packets, flow.recoveries), (0, 0));
    assert!(flow.sent_bytes > 2 * honest.sent_bytes);
    assert!(flow.wire_losses > 0 && flow.delivered_bytes + flow.wire_losses * flow.mss_bytes <= flow.sent_bytes);
    assert!(flow.acked_bytes > flow.delivered_bytes);
}

/// ACK division, by hand: each segment's ACK is sent in three pieces, of a third of a segment each. Where each ACK counts (ns-2,
/// `opencwnd`), each of them opens the window by a segment, so that slow start multiplies it by four per round trip and not by
/// two (Savage et al., CCR 29(5), 1999, section 3.1): 2, 8, 32, 128 segments. Where bytes count, or at most a segment of
/// them for each ACK (RFC 5681, equation 2), it does not open the window.
#[test]
fn divided_acks_open_a_window_that_counts_acks() {
    let sent = |division: u32, counting: &str| {
        let flow = json!({"algorithm": "reno", "rtt": "40 ms", "profile": "rfc", "stack": {
            "mss": "1000 B", "initial_window": 2, "ack_every": 1, "ack_division": division, "ack_counting": counting }});
        let mut document = one_flow("175 ms", &flow);
        document["dumbbell"]["bottleneck"]["rate"] = json!("10 Gbps");
        document["dumbbell"]["bottleneck"]["queue"]["capacity"] = json!("unlimited");
        let records = simulate(&document);
        let (data, acks) = data_and_acks(&records);
        // A packet has a row for each of its links. Rounds begin at 40, 80, 120 and 160 ms.
        let of_three_rounds = |row: &&&PacketRow| row.link == data[0].link && row.sent_ns < 135_000_000;
        let sent = data.iter().filter(of_three_rounds).count();
        (sent, acks.iter().filter(|row| row.link == acks[0].link).count())
    };
    let whole = sent(1, "bytes");
    assert_eq!(whole.0, 2 + 4 + 8);
    assert_eq!(["bytes", "acks-in-slow-start"].map(|counting| sent(3, counting).0), [whole.0; 2]);
    assert_eq!(sent(3, "acks").0, 2 + 8 + 32);
    assert_eq!(sent(3, "bytes").1, 3 * whole.1);
}

/// The numbers of the ACKs of a transfer to a receiver that divides them.
fn numbers_of_acks(bytes: &str, stack: &Value) -> Vec<u64> {
    let workload = json!({ "kind": "bulk", "bytes": bytes });
    let flow = json!({ "algorithm": "reno", "rtt": "40 ms", "profile": "rfc", "stack": stack, "workload": workload });
    let records = simulate(&one_flow("1 s", &flow));
    let (_, acks) = data_and_acks(&records);
    acks.iter().filter(|row| row.link == acks[0].link).map(|row| row.sequence_bytes).collect()
}

/// By hand: an ACK of two segments of 1000 bytes in four pieces acknowledges 500, 1000, 1500 and 2000 bytes; of one of 40
/// bytes in a thousand pieces, each of its bytes once; a segment that is not full is acknowledged whole.
#[test]
fn the_pieces_of_an_ack_acknowledge_equal_parts() {
    let stack = |mss: &str, every: u32, division: u32| json!({ "mss": mss, "initial_window": 2, "ack_every": every, "quick_acks": 0, "ack_division": division });
    assert_eq!(numbers_of_acks("2 kB", &stack("1000 B", 2, 4)), [500, 1000, 1500, 2000]);
    assert_eq!(numbers_of_acks("40 B", &stack("40 B", 1, 1000)), (1..=40).collect::<Vec<u64>>());
    assert_eq!(numbers_of_acks("1300 B", &stack("1000 B", 2, 4)).len(), 1);
}

/// Bare ACKs, segments with data and their payload, of a workload at 10 Mbit/s and an RTT of 100 ms. A packet has a row for
/// each of its three links.
fn exchange(workload: &Value, profile: &str, piggyback: bool) -> (usize, usize, u64) {
    let flow = json!({ "algorithm": "cubic", "rtt": "100 ms", "profile": profile, "workload": workload,
        "stack": { "piggyback": piggyback } });
    let records = simulate(&one_flow("60 s", &flow));
    let (data, acks) = data_and_acks(&records);
    (acks.len() / 3, data.len() / 3, data.iter().map(|row| u64::from(row.payload_bytes)).sum())
}

/// RFC 1122, section 4.2.3.2. paho-mqtt and mosquitto have, beside 100 packets with payload, 50 bare ACKs in 50 exchanges of
/// QoS 1, those of the PUBACKs, and 99 in 50 of QoS 2; hl7 has 51 beside MLLP's 100 packets (known-answers/interop.json,
/// without the ACKs of CONNECT and CONNACK). One is that of the first message, before the receiver has answered.
#[test]
fn an_answer_carries_the_ack_of_what_it_answers() {
    let mqtt = |qos: u8| json!({ "kind": "mqtt", "qos": qos, "payload": "200 B", "period": "400 ms", "count": 50 });
    let hl7 = json!({ "kind": "hl7", "message": "1200 B", "period": "400 ms", "count": 50 });
    for (workload, bare) in [(mqtt(1), 50 + 2), (mqtt(2), 99 + 2), (hl7, 51)] {
        let (acks, segments, payload) = exchange(&workload, "linux", true);
        assert_eq!(acks, bare, "{workload}");
        assert_eq!(exchange(&workload, "linux", false), (segments, segments, payload), "{workload}");
    }
}

/// RFC 5681, section 4.2: without Linux' quick ACKs each ACK waits for 200 ms, so that a request is acknowledged by its
/// response, and a response after 200 ms, except the last one, with which the workload ends.
#[test]
fn delayed_acks_of_the_rfcs_leave_on_answers() {
    let hl7 = json!({ "kind": "hl7", "message": "1200 B", "period": "400 ms", "count": 50 });
    let (acks, segments, _) = exchange(&hl7, "rfc", true);
    assert_eq!((acks, segments), (49, 100));
}

/// The times of an exchange do not depend on the packet that acknowledges it, and a lost carrier is repeated like any
/// other segment.
#[test]
fn carried_acks_change_no_transfer_and_survive_losses() {
    let times = |piggyback: bool, loss: f64| {
        let workload = json!({ "kind": "hl7", "message": "5 kB", "period": "1 s", "count": 200 });
        let flow = json!({ "algorithm": "cubic", "rtt": "40 ms", "profile": "linux", "workload": workload,
            "stack": { "piggyback": piggyback } });
        let mut document = one_flow("300 s", &flow);
        document["dumbbell"]["bottleneck"]["loss"] = json!({ "kind": "bernoulli", "p": loss });
        let rows = simulate(&document).transfers;
        rows.iter().map(|row| row.end_ns - row.start_ns).collect::<Vec<_>>()
    };
    assert_eq!(times(true, 0.0), times(false, 0.0));
    assert_eq!(times(true, 0.05).len(), 200);
}
