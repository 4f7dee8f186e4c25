//! The sender after a handshake whose SYN was retransmitted.

mod script;

use cwndlab_control::{Ack, Congestion, CongestionControl, Event, RecoveryKind};
use cwndlab_transport::sender::Sender;
use cwndlab_transport::stack::Stack;
use cwndlab_transport::wire::{AckPacket, Data, Output};
use cwndlab_units::{Bytes, Duration, Time};
use script::{linux, rfc};

#[derive(Clone, Debug)]
struct Ten;

impl CongestionControl for Ten {
    fn on_ack(&mut self, _: &Ack) -> Option<Event> {
        None
    }

    fn on_congestion(&mut self, _: &Congestion) {}

    fn cwnd(&self) -> Bytes {
        Bytes(10_000)
    }
}

struct Discard;

impl Output for Discard {
    fn data(&mut self, _: &Data) {}

    fn ack(&mut self, _: &AckPacket) {}

    fn syn(&mut self, _: u32) {}

    fn event(&mut self, _: &'static str, _: &'static str, _: u32, _: u32, _: f64) {}
}

/// The timeout at the start of the data transfer, after `lost` SYNs or SYN-ACKs.
fn timeout_after(lost: u32, stack: &Stack) -> Duration {
    let mut sender = Sender::new(Box::new(Ten), RecoveryKind::Rack, &stack.clone().into());
    sender.open(Time::from_nanos(1), &mut Discard);
    for _ in 0..lost {
        sender.on_timer(sender.timer(), &mut Discard);
    }
    let opened = sender.timer();
    sender.on_syn_ack(opened, Bytes(1 << 20), None, &mut Discard);
    sender.rtt().rto()
}

/// RFC 6298, 5.7: if the timer of the SYN expired and the RTO is below three seconds, it is three seconds when the data
/// transfer begins. Linux, tcp_init_metrics, `TCP_TIMEOUT_FALLBACK`.
#[test]
fn without_a_sample_of_the_handshake_the_timeout_starts_at_three_seconds() {
    for stack in [rfc(), linux()] {
        for lost in 1..4 {
            assert_eq!(timeout_after(lost, &stack), Duration::from_secs(3), "{lost} lost");
        }
        let long = Stack { initial_rto: Duration::from_secs(4), ..stack.clone() };
        assert_eq!(timeout_after(1, &long), Duration::from_secs(8), "not below three seconds");
        assert_eq!(timeout_after(0, &stack), Duration::from_secs(3), "a sample of one second");
    }
}

/// A handshake that the peer started, with several SYN-ACKs, has no sample either.
#[test]
fn a_repeated_syn_ack_has_the_same_effect() {
    let mut sender = Sender::new(Box::new(Ten), RecoveryKind::Rack, &rfc().into());
    sender.accept(None, Time::from_nanos(1_000_000_000), Bytes(1 << 20), &mut Discard);
    assert_eq!(sender.rtt().rto(), Duration::from_secs(3));
}
