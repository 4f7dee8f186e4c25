//! Duplicate ACKs and losses without SACK, D-SACK, and marks.

use cwndlab_control::{Cause, Report};
use cwndlab_units::{Duration, Time};

use super::{State, Tcp};
use crate::event::{Event, Remark, What, ORIGIN};
use crate::item::{Flights, Item, View};

const MSS: u64 = 1000;

fn at(ms: u64) -> Time {
    ORIGIN + Duration::from_millis(ms)
}

fn segment(ms: u64, number: u64) -> Event {
    Event { time: at(ms), what: What::Segment { seq: 1 + number * MSS, bytes: MSS, stamp: None, cwr: false } }
}

/// What an ACK has beside its number.
#[derive(Default)]
struct Ack {
    sack: Box<[(u64, u64)]>,
    ece: bool,
    ace: Option<u8>,
    duplicates: bool,
}

/// An ACK of `segments`.
fn received(ms: u64, segments: u64, Ack { sack, ece, ace, duplicates }: Ack) -> Event {
    let ack = 1 + segments * MSS;
    Event {
        time: at(ms),
        what: What::TcpAck { ack, sack, ece, ace, echo: None, echo_rtt: None, rwnd: None, duplicates },
    }
}

fn ack(ms: u64, segments: u64, duplicates: bool) -> Event {
    received(ms, segments, Ack { duplicates, ..Ack::default() })
}

/// A sender whose window is `window` segments.
fn view(window: u64, model_based: bool) -> View {
    let cwnd = window * MSS;
    View { cwnd, permitted_cwnd: cwnd, slow_start: true, observes_sent: false, model_based, paced: false }
}

/// What the ACKs are for the algorithm.
fn acks(out: &[Item]) -> impl Iterator<Item = &cwndlab_control::Ack> {
    out.iter().filter_map(|item| match item {
        Item::Step(step) => match step.main_event() {
            Some(Report::Ack(ack)) => Some(ack),
            _ => None,
        },
        _ => None,
    })
}

/// The sender after the groups of events, and what they are for the algorithm, whose window is `window` segments.
fn after(window: u64, groups: &[Vec<Event>]) -> (Tcp, Vec<Item>) {
    let (mut tcp, mut out) = (Tcp::new(MSS, window * MSS, false, Flights::Window), Vec::new());
    for events in groups {
        tcp.events(0, events, &[], &view(window, false), &mut out);
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
    acks(&out).map(|ack| ack.acked.0 / MSS).collect()
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
        received(ms, segments, Ack { sack, ..Ack::default() })
    };
    let first: Vec<_> = (0..8).map(|number| segment(0, number)).collect();
    let repair = vec![with_sack(50, 0, (1, 5)), segment(50, 0)];
    let late = [vec![ack(100, 5, false)], vec![segment(101, 1)], vec![with_sack(150, 6, (1, 2))]];
    let (tcp, _) = after(10, &[vec![first, repair], late.into()].concat());
    assert!(!tcp.retransmissions.all_spurious());
}

/// RFC 9768, section 3.2.2, by hand: the counter begins at five; the values 5, 6, 1, 1 of four ACKs are 0, 1, 3 and 0 marks.
#[test]
fn accurate_ecn_counts_marks_modulo_eight() {
    let marked = |ms, segments, ace| vec![received(ms, segments, Ack { ace: Some(ace), ..Ack::default() })];
    let first = (0..10).map(|number| segment(0, number)).collect();
    let (_, out) = after(10, &[first, marked(50, 1, 5), marked(51, 2, 6), marked(52, 6, 1), marked(53, 8, 1)]);
    assert_eq!(acks(&out).map(|ack| ack.ce.0 / MSS).collect::<Vec<_>>(), [0, 1, 3, 0]);
}

/// RFC 3168, section 6.1.2, by hand: an ACK has ECN-Echo, and the next new segment CWR: the sender reduced its window for
/// congestion, once. Where it has no CWR, a reduction was before.
#[test]
fn data_with_cwr_after_an_echo_tells_of_a_reduction() {
    for cwr in [false, true] {
        let first: Vec<_> = (0..10).map(|number| segment(0, number)).collect();
        let echo = received(50, 5, Ack { ece: true, ..Ack::default() });
        let next = Event { what: What::Segment { seq: 1 + 10 * MSS, bytes: MSS, stamp: None, cwr }, ..segment(51, 10) };
        let groups = [vec![first], vec![vec![echo], vec![next]]].concat();
        let (mut tcp, mut out) = (Tcp::new(MSS, 10 * MSS, false, Flights::Window), Vec::new());
        for (number, events) in groups.iter().enumerate() {
            let following = groups[number + 1..].concat();
            tcp.events(0, events, &following, &view(10, false), &mut out);
        }
        let reductions = out.iter().filter(|item| match item {
            Item::Step(step) => matches!(step.main_event(), Some(Report::Congestion(one)) if one.cause == Cause::Ecn),
            _ => false,
        });
        assert_eq!(reductions.count(), usize::from(cwr));
    }
}

/// Linux, tcp_newreno_mark_lost and tcp_timeout_mark_lost, by hand: of ten segments the first is lost after three duplicate
/// ACKs, which deliver three others, so that 10 − 3 − 1 are in flight; it is sent again. A timeout marks the ten lost, of
/// which the first is lost again.
#[test]
fn without_sack_the_first_segment_is_lost_and_a_timeout_loses_all() {
    let first: Vec<_> = (0..10).map(|number| segment(0, number)).collect();
    let dup = |ms| vec![ack(ms, 0, true)];
    let (mut tcp, mut out) = after(10, &[first, dup(50), dup(51), dup(52)]);
    assert_eq!(tcp.pipe(), 6 * MSS);
    let view = view(10, true);
    tcp.events(0, &[segment(53, 0)], &[], &view, &mut out);
    assert_eq!(tcp.pipe(), 7 * MSS);
    let timeout = Event { what: What::Remark { remark: Remark::Timeout, cwnd: (0, 0) }, ..segment(400, 0) };
    tcp.events(0, &[timeout], &[], &view, &mut out);
    assert_eq!((tcp.pipe(), tcp.newly_lost), (0, 10 * MSS));
}

/// Linux, tcp_limit_reno_sacked and tcp_add_reno_sack, by hand: of ten segments the first was sent again, and the nine others
/// caused duplicate ACKs. After the second was sent again as well at most eight can have caused one: the next duplicate
/// delivers nothing, and takes nothing back.
#[test]
fn a_lower_limit_of_duplicate_acks_delivers_nothing() {
    let mut groups = vec![(0..10).map(|number| segment(0, number)).collect::<Vec<_>>()];
    groups.extend((50..53).map(|ms| vec![ack(ms, 0, true)]));
    groups.push(vec![segment(53, 0)]);
    groups.extend((54..60).map(|ms| vec![ack(ms, 0, true)]));
    groups.extend([vec![segment(60, 1)], vec![ack(61, 0, true)]]);
    let (tcp, out) = after(10, &groups);
    assert_eq!(acks(&out).map(|ack| ack.acked.0 / MSS).collect::<Vec<_>>(), [1; 9]);
    assert_eq!((tcp.reported.delivered(), tcp.samples.sampler.delivered().0), (8, 9 * MSS));
}

/// RFC 6298, section 5.3: only an ACK of new data restarts the timer. By hand: ACKs that repeat the last one arrive until
/// 20 ms before the first segment is sent again, 260 ms after the last advance, which is more than 200 ms and the RTT. Two of them start no recovery (RFC 5681,
/// section 3.2), so that the timer expired; three do.
#[test]
fn without_sack_the_timer_expires_while_duplicate_acks_arrive() {
    for (duplicates, state) in [(2, State::Loss), (3, State::Reducing)] {
        let first: Vec<_> = (0..10).map(|number| segment(0, number)).collect();
        let mut groups = vec![first, vec![ack(50, 1, false)]];
        groups.extend((0..duplicates).map(|number| vec![ack(290 - number, 1, true)]).rev());
        groups.push(vec![segment(310, 1)]);
        let (tcp, _) = after(10, &groups);
        assert_eq!(tcp.state, state, "{duplicates}");
    }
}

/// RFC 6298, section 5.4: what a recovery sent again is lost as well, and the timer sends it once more after 600 ms. RFC 5681
/// reduces ssthresh again (equation 4); Linux does not (tcp_enter_loss).
#[test]
fn the_timer_expires_within_a_recovery() {
    let first: Vec<_> = (0..10).map(|number| segment(0, number)).collect();
    let dup = |ms| vec![ack(ms, 0, true)];
    let (tcp, out) = after(10, &[first, dup(50), dup(51), dup(52), vec![segment(53, 0)], vec![segment(653, 0)]]);
    assert_eq!(tcp.state, State::Loss);
    let Some(Item::Step(last)) = out.last() else { panic!("{out:?}") };
    let repeated = last.alternatives.iter().map(|events| match events[..] {
        [Report::Congestion(ref event)] => (event.cause, event.repeated),
        ref others => panic!("{others:?}"),
    });
    let all: Vec<_> = repeated.collect();
    assert!(all.contains(&(Cause::Timeout, true)) && all.contains(&(Cause::Timeout, false)), "{all:?}");
    assert!(all[0].1, "that of Linux is the first");
}
