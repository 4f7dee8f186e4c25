//! The sender after a handshake whose SYN was retransmitted.

mod script;

use cwndlab_control::{Ack, Congestion, CongestionControl, Event, RecoveryKind, Window};
use cwndlab_transport::sender::Sender;
use cwndlab_transport::stack::Stack;
use cwndlab_transport::wire::{AckPacket, Data, Output};
use cwndlab_units::{Bytes, Duration, Time};
use script::{linux, rfc};

/// A window of ten segments, or what the handshake leaves of it.
#[derive(Clone, Debug)]
struct Ten(Bytes);

impl CongestionControl for Ten {
    fn on_ack(&mut self, _: &Ack) -> Option<Event> {
        None
    }

    fn on_congestion(&mut self, _: &Congestion) {}

    fn on_window(&mut self, window: &Window) {
        self.0 = self.0.min(window.cwnd);
    }

    fn cwnd(&self) -> Bytes {
        self.0
    }
}

fn ten() -> Ten {
    Ten(Bytes(10_000))
}

struct Discard;

impl Output for Discard {
    fn data(&mut self, _: &Data) {}

    fn ack(&mut self, _: &AckPacket) {}

    fn syn(&mut self, _: u32) {}

    fn event(&mut self, _: &'static str, _: &'static str, _: u32, _: u32, _: f64) {}
}

/// A sender at the start of the data transfer, after `lost` SYNs or SYN-ACKs.
fn sender_after(lost: u32, stack: &Stack) -> Sender {
    let mut sender = Sender::new(Box::new(ten()), RecoveryKind::Rack, &stack.clone().into());
    sender.open(Time::from_nanos(1), &mut Discard);
    for _ in 0..lost {
        sender.on_timer(sender.timer(), &mut Discard);
    }
    let opened = sender.timer();
    sender.on_syn_ack(opened, None, Bytes(1 << 20), None, &mut Discard);
    sender
}

fn timeout_after(lost: u32, stack: &Stack) -> Duration {
    sender_after(lost, stack).rtt().rto()
}

/// RFC 5681, section 3.1: "if the SYN or SYN/ACK is lost, the initial window used by a sender after a correctly
/// transmitted SYN MUST be one segment". Linux, `tcp_init_transfer`: `total_retrans > 1`.
#[test]
fn the_initial_window_after_lost_syns_is_one_segment() {
    let window = |lost, stack: &Stack| sender_after(lost, stack).cwnd();
    assert_eq!([0, 1, 2].map(|lost| window(lost, &rfc())), [10, 1, 1]);
    assert_eq!([0, 1, 2].map(|lost| window(lost, &linux())), [10, 10, 1]);
}

/// RFC 6298, 5.7: if the timer of the SYN expired and the RTO is below three seconds, it is three seconds when the data
/// transfer begins. Linux, tcp_init_metrics, `TCP_TIMEOUT_FALLBACK`.
#[test]
fn without_a_sample_of_the_handshake_the_timeout_starts_at_three_seconds() {
    for (stack, doubled) in [(rfc(), 8), (linux(), 4)] {
        for lost in 1..4 {
            assert_eq!(timeout_after(lost, &stack), Duration::from_secs(3), "{lost} lost");
        }
        let long = Stack { initial_rto: Duration::from_secs(4), ..stack.clone() };
        assert_eq!(timeout_after(1, &long), Duration::from_secs(doubled), "not below three seconds");
        assert_eq!(timeout_after(0, &stack), Duration::from_secs(3), "a sample of one second");
    }
}

/// A handshake that the peer started, with several SYN-ACKs, has no sample either.
#[test]
fn a_repeated_syn_ack_has_the_same_effect() {
    let mut sender = Sender::new(Box::new(ten()), RecoveryKind::Rack, &rfc().into());
    let (now, rtt) = (Time::from_nanos(1_000_000_000), Duration::from_millis(40));
    sender.accept(2, rtt, now, Bytes(1 << 20), &mut Discard);
    assert_eq!(sender.rtt().rto(), Duration::from_secs(3));
    // Linux, `tcp_create_openreq_child`: total_retrans = num_retrans.
    let window = |syn_acks, stack: &Stack| {
        let mut sender = Sender::new(Box::new(ten()), RecoveryKind::Rack, &stack.clone().into());
        sender.accept(syn_acks, rtt, now, Bytes(1 << 20), &mut Discard);
        sender.cwnd()
    };
    assert_eq!([1, 2, 3].map(|syn_acks| window(syn_acks, &rfc())), [10, 1, 1]);
    assert_eq!([1, 2, 3].map(|syn_acks| window(syn_acks, &linux())), [10, 10, 1]);
}

/// RFC 9293, section 3.10.7.1: a connection that was aborted does not exist, so that a late SYN-ACK opens nothing.
#[test]
fn a_syn_ack_after_the_last_timeout_opens_nothing() {
    let mut sender = Sender::new(Box::new(ten()), RecoveryKind::Rack, &Stack { syn_retries: 0, ..rfc() }.into());
    sender.open(Time::from_nanos(1), &mut Discard);
    sender.supply(Bytes(10_000), Time::from_nanos(1), &mut Discard);
    let closed = sender.timer();
    sender.on_timer(closed, &mut Discard);
    assert!(sender.is_closed());
    sender.on_syn_ack(closed + Duration::from_millis(200), None, Bytes(1 << 20), None, &mut Discard);
    assert_eq!((sender.next_segment(), sender.unsent(), sender.timer()), (0, Bytes(10_000), Time::MAX));
}

/// Linux 6.5, tcp_syn_linear_timeouts = 4 and tcp_syn_retries = 6 (Documentation/networking/ip-sysctl.rst): the last SYN
/// leaves after 67 s, and the attempt ends after 131 s. RFC 6298, 5.5: each timeout doubles, five of them here.
#[test]
fn linux_repeats_four_syns_before_the_timeout_doubles() {
    let times = |stack: &Stack| {
        let mut sender = Sender::new(Box::new(ten()), RecoveryKind::Rack, &stack.clone().into());
        sender.open(Time::ZERO, &mut Discard);
        let mut times = Vec::new();
        while !sender.is_closed() {
            let due = sender.timer();
            times.push(due.as_nanos() / 1_000_000_000);
            sender.on_timer(due, &mut Discard);
        }
        times
    };
    assert_eq!(times(&linux()), [1, 2, 3, 4, 5, 7, 11, 19, 35, 67, 131]);
    assert_eq!(times(&rfc()), [1, 3, 7, 15, 31, 63]);
}

/// RFC 7323, section 4.1: the echo of the timestamp tells which SYN the SYN-ACK answers, in ticks of a millisecond. By hand:
/// a SYN of 1.0005 s and an answer at 1.0602 s are 60 ticks apart. Without timestamps the sample is ambiguous.
#[test]
fn timestamps_give_a_sample_of_a_repeated_syn() {
    let us = |count: u64| Time::from_nanos(count * 1000);
    let srtt = |timestamps| {
        let stack = Stack { timestamps, ..linux() };
        let mut sender = Sender::new(Box::new(ten()), RecoveryKind::Rack, &stack.into());
        sender.open(us(500), &mut Discard);
        sender.on_timer(sender.timer(), &mut Discard);
        sender.on_syn_ack(us(1_060_200), Some(us(1_000_500)), Bytes(1 << 20), None, &mut Discard);
        sender.rtt().srtt().as_millis()
    };
    assert_eq!([true, false].map(srtt), [60.0, 0.0]);
}
