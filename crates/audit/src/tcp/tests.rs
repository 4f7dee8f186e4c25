//! Duplicate ACKs without SACK.

use cwndlab_control::Report;
use cwndlab_units::{Duration, Time};

use super::Tcp;
use crate::event::{Event, What, ORIGIN};
use crate::item::{Flights, Item, View};

const MSS: u64 = 1000;

fn at(ms: u64) -> Time {
    ORIGIN + Duration::from_millis(ms)
}

fn segment(ms: u64, number: u64) -> Event {
    Event { time: at(ms), what: What::Segment { seq: 1 + number * MSS, bytes: MSS, stamp: None } }
}

fn ack(ms: u64, segments: u64, duplicates: bool) -> Event {
    let (ack, sack) = (1 + segments * MSS, Box::default());
    let what = What::TcpAck { ack, sack, ece: false, echo: None, echo_rtt: None, rwnd: None, duplicates };
    Event { time: at(ms), what }
}

/// Sixty segments, of which the first is lost and sent again after the third of 59 ACKs without progress; then all are
/// acknowledged. Returns what each ACK delivers, segments.
fn delivered(duplicates: bool) -> Vec<u64> {
    let view = View {
        cwnd: 60 * MSS,
        permitted_cwnd: 60 * MSS,
        slow_start: true,
        observes_sent: false,
        model_based: false,
        paced: false,
    };
    let mut groups = vec![(0..60).map(|number| segment(0, number)).collect::<Vec<_>>()];
    for number in 0..59 {
        groups.push(vec![ack(50 + number, 0, duplicates)]);
        groups.extend((number == 2).then(|| vec![segment(52, 0)]));
    }
    groups.push(vec![ack(120, 60, duplicates)]);
    let (mut tcp, mut out) = (Tcp::new(MSS, 60 * MSS, false, Flights::Window), Vec::new());
    for events in &groups {
        tcp.events(0, events, &[], &view, &mut out);
    }
    let acked = out.iter().filter_map(|item| match item {
        Item::Step(step) => match step.main_event() {
            Some(Report::Ack(ack)) => Some(ack.acked.0 / MSS),
            _ => None,
        },
        _ => None,
    });
    acked.collect()
}

/// By hand: each duplicate ACK delivers a segment (Linux, tcp_add_reno_sack), and the last one the 60th.
#[test]
fn what_duplicate_acks_deliver_is_not_delivered_again() {
    assert_eq!(delivered(true), [1; 60]);
}

/// ACKs with data or another window are no duplicates (RFC 5681, section 2): the last one delivers all.
#[test]
fn other_acks_without_progress_deliver_nothing() {
    assert_eq!(delivered(false), [60]);
}
