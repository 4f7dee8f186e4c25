//! Random calls of a QUIC stack, which every algorithm behind the adapter must tolerate.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cwndlab_control::{Ack, Algorithm, Congestion, CongestionControl, Constructor, Event, Kind};
use cwndlab_quic::{controller_factory, limits, Adapter, Factory};
use cwndlab_units::Bytes;
use proptest::prelude::*;
use quinn_proto::congestion::{Controller, ControllerFactory};

const MTU: u16 = 1200;

/// The text forms of all algorithms that run over QUIC: congestion avoidance with the default slow start, whole
/// algorithms, and each slow start with Reno.
fn texts() -> Vec<String> {
    let catalogue = cwndlab_algorithms::catalogue();
    let growths = catalogue
        .specs
        .iter()
        .filter(|spec| matches!(spec.kind, Kind::CongestionAvoidance | Kind::Whole | Kind::Router));
    let starts = catalogue.specs.iter().filter(|spec| spec.kind == Kind::SlowStart);
    let names = growths.map(|spec| spec.name.to_owned()).chain(starts.map(|spec| format!("reno+{}", spec.name)));
    names.filter(|text| controller_factory(text).is_ok()).collect()
}

/// A call of the stack.
#[derive(Clone, Copy, Debug)]
enum Call {
    /// Bytes are sent.
    Sent(u64),
    /// The oldest packets are acknowledged: their number, and whether the sender was application-limited.
    Acked(usize, bool),
    /// The same, in a datagram with a time stamp so many nanoseconds before the last event: `quinn` stamps all datagrams
    /// of a batch with the time at which it begins to read.
    StampedEarly(usize, u64),
    /// The oldest packets are lost: their number, and whether congestion is persistent.
    Lost(usize, bool),
    Marked,
    Mtu(u16),
    /// An acknowledgement of an unknown packet.
    Stray,
}

fn call() -> impl Strategy<Value = (u64, Call)> {
    let call = prop_oneof![
        6 => (1u64..15_000).prop_map(Call::Sent),
        8 => (1usize..12, prop::bool::weighted(0.1)).prop_map(|(packets, limited)| Call::Acked(packets, limited)),
        2 => (1usize..12, 0u64..20_000_000).prop_map(|(packets, early)| Call::StampedEarly(packets, early)),
        2 => (1usize..12, prop::bool::weighted(0.2)).prop_map(|(packets, persistent)| Call::Lost(packets, persistent)),
        1 => Just(Call::Marked),
        1 => (1200u16..9000).prop_map(Call::Mtu),
        1 => Just(Call::Stray),
    ];
    (prop_oneof![Just(0u64), 1u64..30_000_000, 1_000_000_000u64..400_000_000_000], call)
}

/// The origin of the clock. Only differences of times matter.
#[allow(clippy::disallowed_methods)]
fn origin() -> Instant {
    Instant::now()
}

/// Makes the calls, and returns the window after each.
fn windows(factory: &Factory, calls: &[(u64, Call)]) -> Vec<u64> {
    let base = origin();
    let mut adapter = factory.adapter(base, MTU);
    let (mut now, mut out, mut in_flight, mut mtu): (u64, Vec<(u64, u64)>, u64, u64) = (0, Vec::new(), 0, MTU.into());
    let instant = |at| base + Duration::from_nanos(at);
    let mut windows = Vec::new();
    for &(interval, call) in calls {
        now += interval;
        match call {
            Call::Sent(bytes) => {
                adapter.on_sent(instant(now), bytes, 0);
                in_flight += bytes;
                let mut rest = bytes;
                while rest > 0 {
                    let size = rest.min(mtu);
                    out.push((now, size));
                    rest -= size;
                }
            }
            Call::Acked(packets, limited) => {
                for (sent, size) in out.drain(..packets.min(out.len())) {
                    adapter.on_packet_acked(instant(sent), size, limited);
                    in_flight -= size;
                }
                adapter.on_end_acks(instant(now), in_flight, limited, None);
            }
            Call::StampedEarly(packets, early) => {
                for (sent, size) in out.drain(..packets.min(out.len())) {
                    adapter.on_packet_acked(instant(sent), size, false);
                    in_flight -= size;
                }
                adapter.on_end_acks(instant(now.saturating_sub(early)), in_flight, false, None);
            }
            Call::Lost(packets, persistent) => {
                let lost: Vec<_> = out.drain(..packets.min(out.len())).collect();
                if let Some((newest, _)) = lost.last() {
                    let bytes = lost.iter().map(|(_, size)| size).sum();
                    in_flight -= bytes;
                    adapter.on_congestion_event(instant(now), instant(*newest), persistent, bytes);
                }
            }
            Call::Marked => adapter.on_congestion_event(instant(now), instant(now), false, 0),
            Call::Mtu(bytes) => {
                mtu = bytes.into();
                adapter.on_mtu_update(bytes);
            }
            Call::Stray => {
                adapter.on_packet_acked(instant(now / 2), 1, false);
                adapter.on_end_acks(instant(now), in_flight, false, None);
            }
        }
        let window = adapter.window();
        assert!(window > 2 * mtu, "window of {window} B after {call:?} (RFC 9002, 7.2: at least two packets)");
        let _ = adapter.metrics();
        windows.push(window);
    }
    windows
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// RFC 9002, 7.2: the window is never below two packets. No algorithm panics. The same calls give the same windows.
    #[test]
    fn every_algorithm_tolerates_random_calls(calls in prop::collection::vec(call(), 1..300)) {
        for text in texts() {
            let factory = Factory::clone(&controller_factory(&text).expect("texts() filters")).with_seed(3);
            let twin = Factory::clone(&controller_factory(&text).expect("texts() filters")).with_seed(3);
            prop_assert_eq!(windows(&factory, &calls), windows(&twin, &calls), "{}", text);
        }
    }
}

/// All congestion avoidance and whole algorithms without router assistance run, with a list of their limits.
#[test]
fn every_algorithm_without_router_support_runs() {
    let catalogue = cwndlab_algorithms::catalogue();
    let refused: Vec<&str> = catalogue
        .specs
        .iter()
        .filter(|spec| matches!(spec.kind, Kind::CongestionAvoidance | Kind::Whole | Kind::Router))
        .filter(|spec| controller_factory(spec.name).is_err())
        .map(|spec| spec.name)
        .collect();
    assert_eq!(refused, ["iotcc", "rcp", "perc", "sirens", "abc-wireless"]);
    let of = |text: &str| -> Algorithm { catalogue.parse(text).expect("it is in the catalogue") };
    assert!(limits(&of("bbr1"))[0].contains("1.25 windows per smoothed RTT"));
}

/// `quinn` may stamp an ACK before the sending time of the packet that it acknowledges. The packet counts as acknowledged
/// at its sending time: it grows the window, and there is no negative RTT.
#[test]
fn an_ack_with_an_earlier_time_stamp_than_its_packet_grows_the_window() {
    let base = origin();
    let at = |ms: u64| base + Duration::from_millis(ms);
    let mut one = Factory::clone(&controller_factory("reno").expect("an entry")).adapter(base, 1000);
    one.on_sent(at(0), 1000, 0);
    one.on_packet_acked(at(0), 1000, true);
    one.on_end_acks(at(50), 0, true, Some(0));
    one.on_sent(at(60), 10_000, 1);
    one.on_packet_acked(at(60), 1000, false);
    one.on_end_acks(at(58), 9000, false, Some(1));
    assert_eq!(one.window(), 11_001);
}

/// By hand, with packets of 1000 bytes: slow start adds the acknowledged bytes, a loss halves the window once per
/// window of data, and ACKs of packets sent before the loss do not increase it (RFC 9002, 7.3.2).
#[test]
fn reno_halves_once_per_window_and_acks_of_earlier_packets_do_not_increase_it() {
    let base = origin();
    let at = |ms: u64| base + Duration::from_millis(ms);
    let factory = Factory::clone(&controller_factory("reno").expect("an entry"));
    let mut one = factory.adapter(base, 1000);
    // The handshake.
    one.on_sent(at(0), 1000, 0);
    one.on_packet_acked(at(0), 1000, true);
    one.on_end_acks(at(50), 0, true, Some(0));
    assert_eq!(one.window(), 10_001);
    for step in 0..10 {
        one.on_sent(at(50 + step), 1000, step + 1);
    }
    for step in 0..4 {
        one.on_packet_acked(at(50 + step), 1000, false);
    }
    one.on_end_acks(at(100), 6000, false, Some(4));
    assert_eq!(one.window(), 14_001);
    one.on_sent(at(101), 8000, 18);
    // 14 packets are in flight. The ACK that acknowledges the fourth of them reveals the loss of three.
    one.on_packet_acked(at(57), 1000, false);
    one.on_end_acks(at(108), 13_000, false, Some(8));
    one.on_congestion_event(at(108), at(56), false, 3000);
    assert_eq!(one.window(), 6_501, "half of what was in flight, losses included");
    one.on_congestion_event(at(109), at(58), false, 1000);
    assert_eq!(one.window(), 6_501);
    one.on_packet_acked(at(59), 1000, false);
    one.on_end_acks(at(110), 8000, false, Some(10));
    assert_eq!(one.window(), 6_501);
    // Persistent congestion (RFC 9002, 7.6.2): the minimum, two packets.
    one.on_congestion_event(at(3000), at(101), true, 8000);
    assert_eq!(one.window(), 2_001);
}

/// An algorithm that unwinds at its third report.
#[derive(Clone, Debug)]
struct Failing {
    reports: u32,
}

impl CongestionControl for Failing {
    fn on_ack(&mut self, _ack: &Ack) -> Option<Event> {
        self.reports += 1;
        if self.reports == 3 {
            std::panic::resume_unwind(Box::new("on purpose"));
        }
        None
    }

    fn on_congestion(&mut self, _event: &Congestion) {}

    fn cwnd(&self) -> Bytes {
        Bytes(20_000)
    }
}

/// By hand, with packets of 1000 bytes and a window of 20: the failure is reported once, and Reno receives the report
/// again. In congestion avoidance (RFC 5681, section 3.1) twenty acknowledged packets increase its window by one packet.
#[test]
fn reno_continues_with_the_window_of_an_algorithm_that_fails() {
    let base = origin();
    let failures = Arc::new(AtomicU32::new(0));
    let at = |ms: u64| base + Duration::from_millis(ms);
    let counter = Arc::clone(&failures);
    let factory = Factory::from_constructor("failing", false, Constructor::new(|_| Box::new(Failing { reports: 0 })));
    let factory = factory.with_substitute(Arc::new(move || {
        counter.fetch_add(1, Ordering::Relaxed);
    }));
    let mut one = factory.adapter(base, 1000);
    one.on_sent(at(0), 1000, 0);
    one.on_packet_acked(at(0), 1000, true);
    one.on_end_acks(at(50), 0, true, Some(0));
    let round = |one: &mut Adapter, number: u64, packets: u64| {
        one.on_sent(at(50 * number), packets * 1000, number * 100);
        for _ in 0..packets {
            one.on_packet_acked(at(50 * number), 1000, false);
        }
        one.on_end_acks(at(50 * (number + 1)), 0, false, Some(number * 100));
        (one.window(), failures.load(Ordering::Relaxed))
    };
    assert_eq!(round(&mut one, 1, 20), (20_001, 0));
    assert_eq!(round(&mut one, 2, 20), (20_001, 0));
    assert_eq!(round(&mut one, 3, 20), (21_001, 1));
    assert_eq!(round(&mut one, 4, 21), (22_001, 1));
}

/// A constructor that fails: Reno begins with the initial window.
#[test]
fn reno_replaces_an_algorithm_that_cannot_be_created() {
    let constructor = Constructor::new(|_| std::panic::resume_unwind(Box::new("on purpose")));
    let factory = Factory::from_constructor("failing", false, constructor).with_substitute(Arc::new(|| ()));
    assert_eq!(factory.adapter(origin(), 1200).window(), 12_001);
}

/// RFC 8899, section 3: a larger datagram size does not raise the window, in bytes; its minimum is two of the new size.
#[test]
fn a_larger_mtu_does_not_change_the_window() {
    let factory: Arc<Factory> = controller_factory("cubic").expect("an entry");
    let mut one = factory.build(origin(), 1200);
    assert_eq!((one.window(), one.initial_window()), (12_001, 12_000));
    one.on_mtu_update(1452);
    assert_eq!(one.window(), 12_001);
    one.on_mtu_update(9000);
    assert_eq!(one.window(), 18_001);
}

/// `quinn` copies a controller when a peer's address changes: the copy has the state of the original.
#[test]
fn a_clone_continues_from_the_state_of_the_original() {
    let base = origin();
    let mut one = controller_factory("reno").expect("an entry").adapter(base, 1200);
    one.on_sent(base, 1200, 0);
    one.on_packet_acked(base, 1200, true);
    one.on_end_acks(base + Duration::from_millis(10), 0, true, Some(0));
    let copy = one.clone_box();
    one.on_sent(base + Duration::from_millis(10), 12_000, 10);
    for _ in 0..5 {
        one.on_packet_acked(base + Duration::from_millis(10), 1200, false);
    }
    one.on_end_acks(base + Duration::from_millis(20), 6000, false, Some(5));
    assert_eq!((one.window(), copy.window()), (18_001, 18_001));
}
