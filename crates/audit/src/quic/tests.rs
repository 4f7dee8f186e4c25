//! Losses, probes of the path MTU, and packets of discarded keys.

use super::*;

const SIZE: u64 = 1000;

/// The reports of a log: packets 0 to 3 leave at 1 ms, and packet 4 at 12 ms. `between`: what follows ACKs of 3.
fn reports(model_based: bool, between: &[(u64, What)]) -> Vec<Report> {
    let at = |us: u64| Time::from_nanos(1_000_000_000 + us * 1000);
    let sent = |number| What::PacketSent { space: 2, number, bytes: SIZE, mtu_probe: false };
    let mut events: Vec<(u64, What)> = (0..4).map(|number| (1001, sent(number))).collect();
    events.push((10_001, acked(3)));
    events.push((12_001, sent(4)));
    events.extend(between.iter().cloned());
    let view = View {
        cwnd: 10 * SIZE,
        permitted_cwnd: 10 * SIZE,
        slow_start: false,
        observes_sent: false,
        model_based,
        paced: false,
    };
    let mut quic = Quic::new(SIZE, false, false);
    let mut items = Vec::new();
    for (number, (us, what)) in events.into_iter().enumerate() {
        quic.event(number, &Event { time: at(us), what }, &view, &mut items);
    }
    quic.end(100, at(100_000), &view, &mut items);
    let first = |item| if let Item::Step(step) = item { step.alternatives.into_iter().next() } else { None };
    items.into_iter().filter_map(first).flatten().collect()
}

fn acked(number: u64) -> What {
    What::AckFrame { space: 2, ranges: [(number, number + 1)].into(), ce: 0 }
}

fn lost(number: u64) -> What {
    What::PacketLost { space: 2, number, mtu_probe: false }
}

fn metrics() -> What {
    What::Metrics(Metrics { cwnd: Some(10 * SIZE), ..Metrics::default() })
}

/// Acknowledged and lost bytes of the ACKs, the lost ones of congestion events, and ends of recoveries.
fn amounts(reports: &[Report]) -> Vec<(&'static str, u64, u64)> {
    let amount = |report: &Report| match report {
        Report::Ack(ack) => ("ack", ack.acked.0, ack.lost.0),
        Report::Congestion(event) => ("event", 0, event.lost.0),
        Report::Window(window) if window.change == Change::Recovered => ("recovered", 0, 0),
        _ => ("other", 0, 0),
    };
    reports.iter().map(amount).collect()
}

/// draft-ietf-ccwg-bbr, section 5.2.3: the model is updated once for each ACK, here of a packet from before the
/// recovery and one from within it. Without a model, packets of the recovery do not count (RFC 9002, section 7.3.2).
#[test]
fn an_ack_across_the_end_of_a_recovery_is_one_report_to_a_model() {
    let both = What::AckFrame { space: 2, ranges: [(2, 3), (5, 6)].into(), ce: 0 };
    let later = What::PacketSent { space: 2, number: 5, bytes: SIZE, mtu_probe: false };
    let log = [(12_001, lost(0)), (20_001, later), (52_001, both)];
    let model = amounts(&reports(true, &log));
    assert_eq!(model, [("ack", SIZE, 0), ("event", 0, SIZE), ("recovered", 0, 0), ("ack", 2 * SIZE, 0)]);
    let window = amounts(&reports(false, &log));
    assert_eq!(window, [("ack", SIZE, 0), ("event", 0, SIZE), ("ack", SIZE, 0), ("ack", SIZE, 0)]);
}

/// RFC 9002, section 7.3.2: the recovery ends when a packet is acknowledged that was sent after its start, and not at
/// the ACK before, of a packet of the recovery.
#[test]
fn a_model_is_told_of_the_end_of_a_recovery() {
    let sent = What::PacketSent { space: 2, number: 5, bytes: SIZE, mtu_probe: false };
    let log = [(12_001, lost(0)), (20_001, sent), (30_001, acked(1)), (52_001, acked(5))];
    assert_eq!(
        amounts(&reports(true, &log)),
        [("ack", SIZE, 0), ("event", 0, SIZE), ("ack", SIZE, 0), ("recovered", 0, 0), ("ack", SIZE, 0)]
    );
}

/// `recovery:congestion_state_updated` names `application_limited`: rates since then are limited by the application
/// (draft-cheng-iccrg-delivery-rate-estimation-02, section 3.4), also those of a model, whose window is seldom full.
#[test]
fn the_log_says_when_the_application_limits_a_model() {
    let limited = |state: LoggedState| {
        let log = [(20_001, What::State(state)), (20_001, acked(1)), (30_001, acked(2))];
        let last = reports(true, &log).into_iter().rev().find_map(|one| match one {
            Report::Ack(ack) => Some((ack.cwnd_limited, ack.app_limited)),
            _ => None,
        });
        last.expect("the log ends with an ACK")
    };
    assert_eq!(limited(LoggedState::AppLimited), (false, true));
    assert!(!limited(LoggedState::Growing).1);
}

/// `Ack::lost` has the bytes "since the last report": packet 1 is lost by a timer during the recovery, which packet 0
/// began, so that no report of its own tells of it.
#[test]
fn what_a_timer_finds_lost_in_a_recovery_is_in_the_next_ack() {
    let log = [(12_001, lost(0)), (15_001, metrics()), (20_001, lost(1)), (30_001, acked(2))];
    let found = amounts(&reports(true, &log));
    assert_eq!(found, [("ack", SIZE, 0), ("event", 0, SIZE), ("ack", SIZE, SIZE)]);
}

/// Some stacks, such as ngtcp2, log the losses that an ACK shows before it: packet 4 is above the largest packet
/// acknowledged until then, as are the packets that a probe timeout declares lost (RFC 9002, section 6.2).
#[test]
fn losses_above_the_largest_acknowledged_packet_belong_to_the_ack_at_their_time() {
    let log = [(30_001, lost(0)), (30_001, lost(4)), (30_001, acked(5))];
    let mut events = vec![(12_001, What::PacketSent { space: 2, number: 5, bytes: SIZE, mtu_probe: false })];
    events.extend(log);
    assert_eq!(amounts(&reports(true, &events)), [("ack", SIZE, 0), ("event", 0, 2 * SIZE), ("ack", SIZE, 2 * SIZE)]);
    let probe = [(29_001, lost(4)), (30_001, acked(2))];
    assert_eq!(amounts(&reports(true, &probe)), [("ack", SIZE, 0), ("ack", SIZE, 0)]);
}

/// A timer finds packet 0 lost 0.5 ms before an ACK arrives, or after it and its metrics: the loss is not of the ACK.
#[test]
fn a_loss_at_another_time_than_the_ack_is_found_by_a_timer() {
    let before = [(29_501, lost(0)), (30_001, acked(2))];
    assert_eq!(amounts(&reports(true, &before)), [("ack", SIZE, 0), ("event", 0, SIZE), ("ack", SIZE, 0)]);
    let after = [(30_001, acked(2)), (30_001, metrics()), (30_501, lost(0))];
    assert_eq!(amounts(&reports(true, &after)), [("ack", SIZE, 0), ("ack", SIZE, 0), ("event", 0, SIZE)]);
    // A stack that reads its clock for every event, as aioquic: the loss follows metrics of the same datagram.
    let slow = [(30_001, acked(2)), (30_061, metrics()), (30_501, lost(0))];
    assert_eq!(amounts(&reports(true, &slow)), [("ack", SIZE, 0), ("event", 0, SIZE), ("ack", SIZE, SIZE)]);
    let same = [(30_001, acked(2)), (30_001, lost(0)), (30_001, metrics())];
    assert_eq!(amounts(&reports(true, &same)), [("ack", SIZE, 0), ("event", 0, SIZE), ("ack", SIZE, SIZE)]);
}

/// Bytes in flight after each ACK.
fn in_flight(reports: &[Report]) -> Vec<u64> {
    let after = |report: &Report| if let Report::Ack(ack) = report { Some(ack.in_flight.0) } else { None };
    reports.iter().filter_map(after).collect()
}

/// RFC 9002, section 6.4, by hand: an acknowledged Handshake packet shows that the Initial keys are discarded, an
/// acknowledged 1-RTT packet that the Handshake keys are (RFC 9001, section 4.9). 1-RTT packet 2 was sent before the
/// Handshake packets, as 0-RTT may be, and its ACK shows nothing.
#[test]
fn packets_of_discarded_keys_are_not_in_flight() {
    let sent = |space, number| What::PacketSent { space, number, bytes: SIZE, mtu_probe: false };
    let acked_handshake = What::AckFrame { space: 1, ranges: [(0, 1)].into(), ce: 0 };
    let mut log: Vec<(u64, What)> = [(0, 0), (1, 0), (1, 1), (2, 5)].map(|one| (13_001, sent(one.0, one.1))).into();
    log.extend([(20_001, acked_handshake), (30_001, acked(2)), (40_001, acked(5))]);
    // In flight are 0, 1, 2 of the first four, 4, 5 and Handshake packet 1; then 2, at last 5 and Handshake packet 1 go.
    assert_eq!(in_flight(&reports(false, &log))[1..], [6 * SIZE, 5 * SIZE, 3 * SIZE]);
}

/// RFC 9000, section 14.4: the loss of a probe of the path MTU is no sign of congestion, but ends its flight. The log
/// names the probe when it is sent, or when it is lost.
#[test]
fn a_lost_probe_of_the_path_mtu_is_no_congestion_event() {
    for [sent_as, lost_as] in [[true, false], [false, true]] {
        let probe = What::PacketSent { space: 2, number: 5, bytes: 1452, mtu_probe: sent_as };
        let lost = What::PacketLost { space: 2, number: 5, mtu_probe: lost_as };
        let later = What::PacketSent { space: 2, number: 6, bytes: SIZE, mtu_probe: false };
        let reports =
            reports(true, &[(12_002, probe), (12_003, later), (30_001, acked(6)), (30_001, lost), (40_001, acked(2))]);
        assert_eq!(amounts(&reports), [("ack", SIZE, 0); 3]);
        assert_eq!(in_flight(&reports)[2], 3 * SIZE); // packets 0, 1 and 4
    }
}

/// Of a number that stands twice, the last packet is in flight, and no other.
#[test]
fn a_repeated_number_is_one_packet_in_flight() {
    let sent = |bytes| What::PacketSent { space: 2, number: 5, bytes, mtu_probe: false };
    let reports = reports(false, &[(12_002, sent(40)), (12_003, sent(SIZE)), (20_000, acked(5))]);
    assert_eq!(in_flight(&reports).last(), Some(&(4 * SIZE))); // packets 0 to 2 and 4
}
