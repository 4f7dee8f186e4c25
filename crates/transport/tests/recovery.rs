//! Scripted tests of each kind of recovery. Expected segments and windows follow from the RFC or paper named,
//! calculated by hand. The algorithm reduces the window of 10 segments to 7.

#![allow(clippy::single_range_in_vec_init)] // a lone SACK block is a range

mod script;

use std::ops::Range;

use cwndlab_control::RecoveryKind;
use cwndlab_transport::stack::{AckCounting, Ecn, Rampdown, Rules, Stack};
use cwndlab_units::CaState;
use script::{linux, rfc, Script};

/// A script with ten segments in flight after a first round trip of 100 ms, and ten more in the send buffer.
fn ten_in_flight(kind: RecoveryKind, stack: &Stack) -> Script {
    let mut it = Script::with(kind, &Stack { tso_burst: false, ..stack.clone() }, 100.0);
    it.write(20).sends(0..10).after(100.0);
    it
}

/// RFC 3042: each of the first two duplicate ACKs allows one new segment. RFC 5681, section 3.2: the third one triggers
/// the fast retransmission.
fn ack_three_duplicates(it: &mut Script) {
    it.ack(0, &[]).sends([10]).ack(0, &[]).sends([11]).ack(0, &[]);
}

/// Jacobson 1988: fast retransmit, then slow start from one segment up to ssthresh.
#[test]
fn tahoe_restarts_from_one_segment() {
    let mut it = ten_in_flight(RecoveryKind::Tahoe, &rfc());
    ack_three_duplicates(&mut it);
    it.sends([0]).has_cwnd(1).has_ssthresh(7).is_in(CaState::Loss);
    it.after(100.0).ack(12, &[]).is_in(CaState::Open).sends(12..19);
}

/// RFC 2581, section 3.2: the window is ssthresh + 3 = 10, one more for each further duplicate, and ssthresh again
/// after the first ACK of new data. By hand: 12 segments are in flight, so that the third further duplicate allows the
/// first new segment.
#[test]
fn reno_inflates_the_window_until_the_first_new_ack() {
    let mut it = ten_in_flight(RecoveryKind::Reno, &rfc());
    ack_three_duplicates(&mut it);
    it.sends([0]).has_cwnd(10).has_ssthresh(7).is_in(CaState::Recovery);
    it.ack(0, &[]).ack(0, &[]).is_silent().ack(0, &[]).sends([12]).has_cwnd(13);
    it.after(100.0).ack(12, &[]).has_cwnd(7).is_in(CaState::Open);
}

/// RFC 2581: after a second loss in the window a partial ACK ends Reno's recovery early; the second loss needs
/// duplicates of its own or a timeout.
#[test]
fn a_partial_ack_ends_renos_recovery() {
    let mut it = ten_in_flight(RecoveryKind::Reno, &rfc());
    ack_three_duplicates(&mut it);
    it.sends([0]).after(100.0).ack(5, &[]).is_in(CaState::Open).has_cwnd(7).is_silent();
}

/// RFC 6582, section 3.2, step 3: a partial ACK triggers the retransmission of the next hole, and recovery lasts until
/// the ACK of all data. Option (1): the window is then min(ssthresh, max(FlightSize, 1) + 1) = 2, and one more because
/// this ACK counts as one segment in slow start.
#[test]
fn newreno_retransmits_a_hole_per_partial_ack() {
    let mut it = ten_in_flight(RecoveryKind::NewReno, &Stack { ack_counting: AckCounting::Acks, ..rfc() });
    ack_three_duplicates(&mut it);
    it.sends([0]).after(100.0).ack(5, &[]).sends([5]).is_in(CaState::Recovery);
    it.after(100.0).ack(12, &[]).is_in(CaState::Open).has_cwnd(3).sends([12, 13, 14]);
}

/// RFC 6582, section 4, "Impatient": only the first partial ACK restarts the retransmission timer.
#[test]
fn newrenos_timer_expires_during_many_partial_acks() {
    let mut it = ten_in_flight(RecoveryKind::NewReno, &rfc());
    ack_three_duplicates(&mut it);
    it.sends([0]).after(100.0).ack(2, &[]).sends([2]);
    let rto = it.sender.rtt().rto().as_millis();
    it.after(100.0).ack(4, &[]).sends([4]).after_silence_sends(rto - 100.0, [4]).counts(1, 0);
}

/// RFC 6675, section 5: three SACKed segments above a hole mark it lost; the pipe of 12 - 3 - 1 segments and the window
/// of 7 allow only the fast retransmission, and new data when the pipe is below 7.
#[test]
fn sack_retransmits_after_three_sacked_segments() {
    let mut it = ten_in_flight(RecoveryKind::Sack, &rfc());
    it.ack(0, &[1..2]).sends([10]).ack(0, &[1..3]).sends([11]).is_in(CaState::Disorder);
    it.ack(0, &[1..4]).sends([0]).is_in(CaState::Recovery).has_cwnd(7).has_in_flight(9);
    it.ack(0, &[1..6]).is_silent().ack(0, &[1..7]).sends([12]);
    it.after(100.0).ack(12, &[]).is_in(CaState::Open).has_cwnd(7);
}

/// RFC 6675, section 4, NextSeg (4): without new data, the last segment is retransmitted once.
#[test]
fn sack_sends_one_rescue_retransmission_per_recovery() {
    let mut it = Script::with(RecoveryKind::Sack, &Stack { tso_burst: false, ..rfc() }, 100.0);
    it.write(10).sends(0..10).after(100.0);
    it.ack(0, &[1..2]).ack(0, &[1..3]).ack(0, &[1..4]).sends([0]);
    it.ack(0, &[1..5]).sends([9]).ack(0, &[1..6]).is_silent();
}

/// Mathis & Mahdavi 1996: one SACK four segments above the first hole suffices. By hand: 0 and 1 are lost, the pipe is
/// 10 - 1 - 2, and the window of 7 allows the fast retransmission. Each further SACK marks another segment: the pipe is
/// 10 + 1 - 2 - 3 = 6, then 10 + 2 - 3 - 4 = 5.
#[test]
fn fack_retransmits_after_the_first_distant_sack() {
    let mut it = ten_in_flight(RecoveryKind::Fack, &Stack { rampdown: Rampdown::None, ..rfc() });
    it.ack(0, &[4..5]).sends([0]).is_in(CaState::Recovery).has_cwnd(7);
    it.ack(0, &[4..6]).sends([1]).ack(0, &[4..7]).sends([2, 3]);
}

/// Linux 2.6, tcp_cwnd_down: every second ACK reduces the window by one down to 7, and every second ACK allows new
/// data. By hand: recovery begins with a pipe of 12 - 3 - 1 = 8 segments and at most one more.
#[test]
fn fack_halves_the_rate_ack_by_ack() {
    let mut it = ten_in_flight(RecoveryKind::Fack, &Stack { rampdown: Rampdown::RateHalving, ..rfc() });
    it.ack(0, &[1..2]).sends([10]).ack(0, &[1..3]).sends([11]);
    it.ack(0, &[1..4]).sends([0]).has_cwnd(9).ack(0, &[1..5]).is_silent().has_cwnd(8);
    it.ack(0, &[1..6]).sends([12]).has_cwnd(8).ack(0, &[1..7]).is_silent().has_cwnd(7);
    it.ack(0, &[1..8]).sends([13]).has_cwnd(7).ack(0, &[1..9]).sends([14]).has_cwnd(7);
}

/// RFC 3708: a D-SACK for the only retransmission shows that the reduction was spurious.
#[test]
fn a_dsack_of_the_only_retransmission_undoes_the_reduction() {
    for kind in [RecoveryKind::Sack, RecoveryKind::Fack, RecoveryKind::Rack] {
        let mut it = ten_in_flight(kind, &Stack { rampdown: Rampdown::None, ..rfc() });
        it.ack(0, &[1..2]).ack(0, &[1..3]).ack(0, &[1..4]).is_in(CaState::Recovery).has_ssthresh(7);
        it.after(5.0).ack(10, &[]);
        it.after(95.0).ack(10, &[0..1]);
        assert_eq!(it.sender.counters().undos, 1, "{kind:?}");
        assert!(it.sender.cwnd() >= 10, "{kind:?}");
    }
}

/// RFC 4015, section 3: an undo restores ssthresh; here that which the transport derives for an algorithm without one,
/// 7 after the loss and none before it. Linux, tcp_undo_cwnd_reduction: `snd_ssthresh = prior_ssthresh`.
#[test]
fn an_undo_restores_the_derived_slow_start_threshold() {
    for kind in [RecoveryKind::Sack, RecoveryKind::Fack, RecoveryKind::Rack] {
        for stack in [rfc(), linux()] {
            let mut it = ten_in_flight(kind, &Stack { rampdown: Rampdown::None, ..stack });
            it.ack(0, &[1..2]).ack(0, &[1..3]).ack(0, &[1..4]).is_in(CaState::Recovery);
            assert_eq!(it.sender.ssthresh(), Some(7), "{kind:?}");
            it.after(5.0).ack(10, &[]);
            it.after(95.0).ack(10, &[0..1]);
            assert_eq!((it.sender.counters().undos, it.sender.ssthresh()), (1, None), "{kind:?}");
        }
    }
}

/// RFC 5681, section 3.1, equation 4: FlightSize is the data between SND.UNA and SND.NXT, SACKed data included. Section
/// 3.2, step 2: data that limited transmit sent does not count. By hand: ten segments are in flight, and no more, or
/// two, follow.
#[test]
fn flight_size_at_a_loss_excludes_only_limited_transmit() {
    for kind in [RecoveryKind::Reno, RecoveryKind::NewReno, RecoveryKind::Sack, RecoveryKind::Fack, RecoveryKind::Rack]
    {
        for (stack, more) in [rfc(), linux()].into_iter().flat_map(|stack| [(stack.clone(), 0), (stack, 10)]) {
            let sack: &[Range<u64>] = &[1..2, 1..3, 1..4];
            let mut it = Script::with(kind, &Stack { tso_burst: false, ..stack }, 100.0);
            it.write(10 + more).sends(0..10).after(100.0);
            for block in sack {
                it.ack(
                    0,
                    if matches!(kind, RecoveryKind::Reno | RecoveryKind::NewReno) {
                        &[]
                    } else {
                        std::slice::from_ref(block)
                    },
                );
            }
            it.is_in(CaState::Recovery).reduced_flight(10);
        }
    }
}

/// RFC 6582, section 1: without SACK, NewReno. Linux, tcp_newreno_mark_lost: three duplicate ACKs mark the first
/// segment lost, with every congestion control.
#[test]
fn without_sack_every_recovery_counts_duplicate_acks() {
    for kind in [RecoveryKind::Sack, RecoveryKind::Fack, RecoveryKind::Rack] {
        for stack in [rfc(), linux()] {
            let mut it = ten_in_flight(kind, &Stack { sack: false, ..stack });
            ack_three_duplicates(&mut it);
            it.sends([0]).has_ssthresh(7).is_in(CaState::Recovery);
            it.after(100.0).ack(5, &[]).sends([5]).is_in(CaState::Recovery);
            it.after(100.0).ack(12, &[]);
            if kind == RecoveryKind::Rack && stack.rules == Rules::Linux {
                // Linux, tcp_is_non_sack_preventing_reopen: until data above is acknowledged (RFC 6582, section 4.1).
                it.is_in(CaState::Recovery).after(100.0).ack(13, &[]);
            }
            it.is_in(CaState::Open).counts(0, 0);
        }
    }
}

/// Linux, tcp_clean_rtx_queue: without SACK an ACK that covers a retransmission and originals above it does not show
/// that the originals caused it; the receiver may have held them back. RFC 5682, section 2.1, step 2: F-RTO decides at
/// the ACK after the retransmission of one segment. By hand: the first of ten segments is lost, its duplicates are lost
/// too, and the retransmission fills the hole.
#[test]
fn without_sack_a_filled_hole_does_not_show_a_spurious_timeout() {
    for kind in [RecoveryKind::Sack, RecoveryKind::Fack, RecoveryKind::Rack, RecoveryKind::NewReno] {
        for stack in [rfc(), linux()] {
            let mut it = Script::with(kind, &Stack { sack: false, tso_burst: false, ..stack }, 100.0);
            it.write(30).sends(0..10);
            let rto = it.sender.rtt().rto().as_millis();
            it.after_silence_sends(rto, [0]).is_in(CaState::Loss).after(100.0).ack(10, &[]);
            assert_eq!(it.sender.counters().undos, 0, "{kind:?}");
            assert!(it.sender.cwnd() <= 11, "{kind:?}: {}", it.sender.cwnd());
            assert_eq!(it.sender.ssthresh(), Some(5), "{kind:?}");
        }
    }
}

/// A loss in slow start ends it: an event says so, and that of a later loss in congestion avoidance does not. By hand:
/// the window of 10 becomes 7, the derived threshold.
#[test]
fn a_loss_that_ends_slow_start_has_an_event() {
    for kind in [RecoveryKind::Reno, RecoveryKind::NewReno, RecoveryKind::Sack, RecoveryKind::Fack, RecoveryKind::Rack]
    {
        let dupacks = matches!(kind, RecoveryKind::Reno | RecoveryKind::NewReno);
        let mut it = ten_in_flight(kind, &Stack { rampdown: Rampdown::None, tail_loss_probe: false, ..rfc() });
        for end in 2..5 {
            it.ack(0, if dupacks { vec![] } else { vec![1..end] }.as_slice());
        }
        it.is_in(CaState::Recovery);
        assert_eq!(it.causes("slow-start-exit"), ["loss"], "{kind:?}");
        it.after(100.0).ack(12, &[]).is_in(CaState::Open).after(100.0);
        for _ in 0..5 {
            let next = it.sender.next_segment();
            it.ack(next, &[]).after(100.0);
        }
        let una = it.sender.una();
        it.write(30);
        for end in 2..5 {
            it.ack(una, if dupacks { vec![] } else { vec![una + 1..una + end] }.as_slice());
        }
        assert_eq!(it.causes("recovery").len(), 2, "{kind:?}");
        assert_eq!(it.causes("slow-start-exit"), ["loss"], "{kind:?}");
    }
}

/// A timeout restarts slow start, which ends again with the next loss (RFC 5681, section 3.1).
#[test]
fn a_timeout_does_not_end_slow_start() {
    let mut it = Script::with(RecoveryKind::Rack, &Stack { tail_loss_probe: false, ..rfc() }, 100.0);
    it.write(10).sends(0..10);
    let rto = it.sender.rtt().rto().as_millis();
    it.after_silence_sends(rto, [0]).is_in(CaState::Loss);
    assert!(it.causes("slow-start-exit").is_empty());
}

/// By hand, the window times 0.7: a mark leaves 7 of 10 segments. A loss of the same window is no other reduction (RFC 5681,
/// section 3.1; Linux, tcp_enter_recovery), but of a module that asks for it (Linux, dctcp_state): 4 of 7.
#[test]
fn a_loss_within_the_reduction_for_a_mark_reduces_once_more_only_on_request() {
    for kind in [RecoveryKind::Rack, RecoveryKind::Sack] {
        for (hears, ssthresh) in [(false, 7), (true, 4)] {
            let script = Script::with(kind, &Stack { ecn: Ecn::Classic, ..rfc() }, 100.0);
            let mut it = if hears { script.hearing_losses() } else { script };
            it.write(10).sends(0..10).after(100.0).ack_ece(1).is_in(CaState::Cwr).has_ssthresh(7);
            for end in 3..=7 {
                it.after(10.0).ack(1, &[2..end]);
            }
            it.is_in(CaState::Recovery).has_ssthresh(ssthresh);
            assert_eq!(it.causes("recovery").len(), 1);
        }
    }
}

/// `Ack.lost`, segments newly marked lost: a timeout without an ACK since the last one adds only the segment that was
/// retransmitted, not the whole window again. By hand: ten segments, of which the first is sent four times.
#[test]
fn a_repeated_timeout_loses_only_the_retransmission() {
    for stack in [rfc(), linux()] {
        for kind in [RecoveryKind::NewReno, RecoveryKind::Sack, RecoveryKind::Fack, RecoveryKind::Rack] {
            let mut it = ten_in_flight(kind, &Stack { tail_loss_probe: false, ..stack.clone() });
            let mut lost = Vec::new();
            for wait in [200.0, 600.0, 1200.0] {
                it.after_silence_sends(wait, [0]);
                it.sender.named_values(&mut |name, value| {
                    if name == "transport.lost_segments" {
                        lost.push(value);
                    }
                });
            }
            assert_eq!(lost, [10.0, 11.0, 12.0], "{kind:?}");
        }
    }
}

/// RFC 5682, section 3.1: the ACK of the first segment after a timeout allows new data (step 2b). If the next one
/// acknowledges a segment that was not retransmitted, the timeout was spurious (step 3b); if it SACKs new data only, the
/// loss was genuine (step 3a). By hand: an RTO of 300 ms, of which 100 have passed, and two segments in slow start.
#[test]
fn f_rto_of_sack_and_fack_sends_new_data_before_retransmissions() {
    for kind in [RecoveryKind::Sack, RecoveryKind::Fack] {
        let timed_out = || {
            let mut it = ten_in_flight(kind, &rfc());
            it.after_silence_sends(200.0, [0]).after(50.0).ack(1, &[]).sends([10, 11]).is_in(CaState::Loss);
            it
        };
        let mut it = timed_out();
        it.after(10.0).ack(2, &[]).is_in(CaState::Open);
        assert_eq!(it.causes("undo"), ["f-rto"], "{kind:?}");
        let mut it = timed_out();
        it.after(100.0).ack(1, &[10..11]).is_in(CaState::Loss).sends([1]);
        assert!(it.causes("undo").is_empty(), "{kind:?}");
        // Without new data, retransmissions follow.
        let mut it = Script::with(kind, &rfc(), 100.0);
        it.write(10).sends(0..10).after(100.0).after_silence_sends(200.0, [0]).after(50.0).ack(1, &[]).sends([1, 2]);
    }
}

/// RFC 9937, section 6: RecoverFS is SND.NXT − SND.UNA without what was SACKed before the recovery. By hand: of twelve
/// segments two were SACKed when the third SACK arrives, of ten none when one ACK reports all three.
#[test]
fn recover_fs_includes_what_the_first_ack_delivers() {
    let recover_fs = |kind, blocks: &[Range<u64>]| {
        let mut it = ten_in_flight(kind, &rfc());
        for block in blocks {
            it.ack(0, std::slice::from_ref(block));
        }
        it.is_in(CaState::Recovery);
        let mut found = f64::NAN;
        it.sender.named_values(&mut |name, value| {
            if name == "transport.recover_fs_segments" {
                found = value;
            }
        });
        found
    };
    for kind in [RecoveryKind::Sack, RecoveryKind::Rack] {
        assert_eq!(recover_fs(kind, &[1..2, 1..3, 1..4]), 10.0, "{kind:?}");
        assert_eq!(recover_fs(kind, &[1..4]), 10.0, "{kind:?}");
    }
}
