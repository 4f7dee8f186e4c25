//! Marks, SACKs and retransmissions by hand, and against a model.

use super::*;
use proptest::prelude::*;

/// With `n` segments of 1000 bytes, sent one nanosecond after another.
fn filled(mut board: Scoreboard, n: u32) -> Scoreboard {
    for at in 0..n {
        board.push(Segment { sent_at: Time::from_nanos(u64::from(at) + 1), len: 1000, ..Segment::default() });
    }
    board
}

fn board(n: u32) -> Scoreboard {
    filled(Scoreboard::new(0), n)
}

fn of_three(linux: bool) -> Scoreboard {
    filled(Scoreboard::time_based(0, linux), 3)
}

/// RFC 6675, IsLost, by hand: of 20 segments number 5 is missing. Two SACKed segments above it are too few, three
/// suffice.
#[test]
fn a_segment_with_three_sacked_above_it_is_lost() {
    let mut board = board(20);
    for _ in 0..5 {
        board.pop_front();
    }
    board.on_una_advanced();
    board.sack(6, 8, |_, _| {});
    assert_eq!(board.mark_below(board.sack_limit(3)), 0);
    board.sack(8, 9, |_, _| {});
    assert_eq!(board.mark_below(board.sack_limit(3)), 1);
    assert_eq!(board.next_lost(), Some(5));
    assert_eq!(board.in_flight(), 15 - 3 - 1);
}

/// Linux, tcp_mark_skb_lost: a segment is newly lost if it was not marked, or if its retransmission was. By hand: of five
/// segments two are SACKed, and the first timeout marks three. One is retransmitted, so that the second one marks it again,
/// and no other. After two more retransmissions the third one marks three.
#[test]
fn a_further_timeout_marks_the_retransmissions_again() {
    let mut board = board(5);
    board.sack(3, 5, |_, _| {});
    let mut marked = Vec::new();
    for retransmitted in [0..0, 0..1, 0..3] {
        for seq in retransmitted {
            board.retransmit(seq, Time::from_nanos(10 + seq));
        }
        marked.push(board.mark_all_lost(|_| false));
    }
    assert_eq!(marked, [3, 1, 3]);
}

/// RFC 6675, by hand: after a timeout all ten segments are lost, and the undo of it clears the marks. Then three SACKed
/// segments above the first show that it is lost.
#[test]
fn after_an_undo_segments_can_be_lost_again() {
    let mut board = board(10);
    let _ = board.mark_all_lost(|_| false);
    board.unmark_all_lost();
    assert_eq!(board.lost, 0);
    board.sack(1, 4, |_, _| {});
    assert_eq!(board.mark_below(board.sack_limit(3)), 1);
    assert_eq!(board.next_lost(), Some(0));
}

/// Mathis & Mahdavi 1996, by hand: one SACK four segments above SND.UNA is a loss for FACK, not for RFC 6675.
#[test]
fn fack_detects_a_loss_from_one_sack_beyond_three_segments() {
    let mut board = board(10);
    board.sack(4, 5, |_, _| {});
    assert_eq!(board.mark_below(board.sack_limit(3)), 0);
    assert_eq!(board.fack_limit(3), 2);
    assert_eq!(board.mark_below(board.fack_limit(3)), 2);
}

/// RFC 6675, SetPipe: a SACKed segment is not in the pipe, also if it was retransmitted without being marked lost, as
/// after an undo. Linux (tcp_sacktag_one) keeps the copy in flight, and after a timeout sets the window above it.
#[test]
fn a_sacked_segment_with_an_outstanding_copy_is_not_in_the_pipe() {
    for (linux, in_flight) in [(false, 2), (true, 3)] {
        let mut board = of_three(linux);
        board.mark_lost(1);
        board.retransmit(1, Time::from_nanos(10));
        board.unmark_all_lost();
        board.sack(1, 2, |_, _| {});
        assert_eq!(board.in_flight(), in_flight);
    }
}

/// Linux (`tcp_mark_skb_lost`): after an undo the first mark is that of the original, so that the retransmission is in
/// flight until the timeout; the RFCs repeat what is lost.
#[test]
fn a_retransmission_that_an_undo_unmarked_is_lost_only_by_a_timeout_in_linux() {
    for (linux, again) in [(false, Some(0)), (true, None)] {
        let mut board = of_three(linux);
        board.mark_lost(0);
        board.retransmit(0, Time::from_nanos(10));
        board.unmark_all_lost();
        assert_eq!(board.mark_retransmitted_while(|_| true), 1);
        assert_eq!(board.next_lost(), again);
        let _ = board.mark_all_lost(|_| false);
        assert_eq!((board.next_lost(), board.retrans), (Some(0), 0));
    }
}

/// tcp_timeout_mark_lost, tcp_retransmit_timer: a timeout after an undo repeats the first segment whatever its marks are;
/// another one, whose retransmission is in flight, RACK still finds.
#[test]
fn a_timeout_after_an_undo_repeats_the_first_segment() {
    for (linux, in_flight) in [(false, 0), (true, 1)] {
        let mut board = of_three(linux);
        for (seq, at) in [(0, 10), (1, 11)] {
            board.mark_lost(seq);
            board.retransmit(seq, Time::from_nanos(at));
        }
        board.unmark_all_lost();
        let _ = board.mark_all_lost(|_| false);
        assert_eq!((board.next_lost(), board.retrans), (Some(0), in_flight));
        assert_eq!(board.mark_retransmitted_while(|_| true), in_flight);
        assert_eq!(board.retrans, 0);
    }
}

proptest! {
    /// Compares the counts with a reference model: flags in vectors.
    #[test]
    fn counts_agree_with_a_reference_model(steps in prop::collection::vec((0u8..5, 0u64..60, 1u64..9), 1..200)) {
        let mut board = board(60);
        let mut sacked = vec![false; 4000];
        let mut lost = vec![false; 4000];
        let mut resent = vec![false; 4000];
        for (kind, at, len) in steps {
            let seq = board.una + at;
            match kind {
                0 => {
                    board.sack(seq, seq + len, |_, _| {});
                    for one in seq..(seq + len).min(board.next) {
                        sacked[one as usize] = true;
                        lost[one as usize] = false;
                        resent[one as usize] = false;
                    }
                }
                1 if board.flight_size() > 0 => {
                    board.pop_front();
                    board.on_una_advanced();
                }
                2 => {
                    board.mark_below(board.sack_limit(3));
                    let high: Vec<u64> = (board.una..board.next).filter(|&one| sacked[one as usize]).collect();
                    if high.len() >= 3 {
                        for one in board.una..high[high.len() - 3] {
                            if !sacked[one as usize] && !resent[one as usize] { lost[one as usize] = true; }
                        }
                    }
                }
                3 => {
                    if let Some(one) = board.next_lost() {
                        board.retransmit(one, Time::from_nanos(1000));
                        resent[one as usize] = true;
                    }
                }
                _ => {
                    board.push(Segment { len: 1000, ..Segment::default() });
                }
            }
            let range = board.una..board.next;
            prop_assert_eq!(board.sacked, range.clone().filter(|&one| sacked[one as usize]).count() as u32);
            prop_assert_eq!(board.retrans, range.clone().filter(|&one| resent[one as usize]).count() as u32);
            let model = range.filter(|&one| lost[one as usize]).count() as u32;
            prop_assert_eq!(board.lost, model);
            prop_assert!(board.in_flight() <= board.flight_size() + board.retrans);
        }
    }
}
