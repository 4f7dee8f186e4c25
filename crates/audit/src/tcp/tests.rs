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

/// The sender after the groups of events, and what they are for the algorithm, whose window is `window` segments.
fn after(window: u64, groups: &[Vec<Event>]) -> (Tcp, Vec<Item>) {
    let cwnd = window * MSS;
    let view =
        View { cwnd, permitted_cwnd: cwnd, slow_start: true, observes_sent: false, model_based: false, paced: false };
    let (mut tcp, mut out) = (Tcp::new(MSS, cwnd, false, Flights::Window), Vec::new());
    for events in groups {
        tcp.events(0, events, &[], &view, &mut out);
    }
    (tcp, out)
}

/// Sixty segments, of which the first is lost and sent again after the third of 59 ACKs without progress; then all are
/// acknowledged. Returns what each ACK delivers, segments.
fn delivered(duplicates: bool) -> Vec<u64> {
    let mut groups = vec![(0..60).map(|number| segment(0, number)).collect::<Vec<_>>()];
    for number in 0..59 {
        groups.push(vec![ack(50 + number, 0, duplicates)]);
        groups.extend((number == 2).then(|| vec![segment(52, 0)]));
    }
    groups.push(vec![ack(120, 60, duplicates)]);
    let (_, out) = after(60, &groups);
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

/// By hand: a retransmission that waited in a queue below the sender is captured after the ACK that covers it. Nothing is
/// sent again for the sender then, and no recovery begins.
#[test]
fn data_that_is_acknowledged_is_not_sent_again() {
    let first: Vec<_> = (0..4).map(|number| segment(0, number)).collect();
    let (_, out) = after(10, &[first, vec![ack(50, 2, false)], vec![segment(51, 0)], vec![ack(52, 4, false)]]);
    let is_congestion = |item: &Item| match item {
        Item::Step(step) => matches!(step.main_event(), Some(Report::Congestion(_))),
        _ => false,
    };
    assert!(!out.iter().any(is_congestion), "{out:?}");
}

/// RFC 3708, section 3, by hand: of two retransmissions a D-SACK reports one, that which left after the ACK of its data. The
/// other was necessary, so that the reduction is not undone.
#[test]
fn a_late_retransmission_counts_where_a_d_sack_reports_it() {
    let with_sack = |ms: u64, segments: u64, block: (u64, u64)| {
        let sack = Box::new([(1 + block.0 * MSS, 1 + block.1 * MSS)]);
        let ack = 1 + segments * MSS;
        let what = What::TcpAck { ack, sack, ece: false, echo: None, echo_rtt: None, rwnd: None, duplicates: false };
        Event { time: at(ms), what }
    };
    let first: Vec<_> = (0..8).map(|number| segment(0, number)).collect();
    let repair = vec![with_sack(50, 0, (1, 5)), segment(50, 0)];
    let late = [vec![ack(100, 5, false)], vec![segment(101, 1)], vec![with_sack(150, 6, (1, 2))]];
    let (tcp, _) = after(10, &[vec![first, repair], late.into()].concat());
    assert!(!tcp.retransmissions.all_spurious());
}
