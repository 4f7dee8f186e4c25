//! Validation of the sender against Linux 6.x, where the kernel differs from the RFCs and in error-prone cases.
//! Expected values follow from the Linux functions named, from the packetdrill scripts named
//! (github.com/google/packetdrill, gtests/net/tcp; rebuilt, not copied) or from the given calculation.
//! `docs/validity.md` has the list.

#![allow(clippy::single_range_in_vec_init)] // a lone SACK block is a range

mod script;

use cwndlab_transport::stack::{Ecn, Stack};
use cwndlab_units::{CaState, Duration};
use script::{linux, rfc, Script};

/// tcp_schedule_loss_probe limits the probe timeout to the RTO, and tcp_send_loss_probe restarts the RTO timer. By
/// hand, RTT 100 ms: with one segment in flight the probe timeout would be 200 + 200 ms, the RTO is 100 + 200 ms: the
/// probe is sent at 300 ms, and the RTO timer expires at 600 ms. packetdrill: cubic-rto-ss-ca-cwnd-bump.
#[test]
fn a_lone_segments_probe_is_sent_when_the_rto_is_due_and_restarts_the_rto() {
    let mut it = Script::linux(100.0);
    it.write(1).sends([0]).after(100.0).ack(1, &[]).has_cwnd(10);
    it.write(1).sends([1]).after_silence_sends(300.0, [1]).counts(0, 1);
    it.after_silence_sends(300.0, [1]).counts(1, 1);
    it.after(100.0).ack(2, &[]).has_cwnd(2).has_ssthresh(7);
}

/// The same with HZ = 250, by hand from `calc_index` (kernel/time/timer.c): 300 ms are 75 ticks, for which the buckets of the
/// timer wheel are 8 ticks wide. Sent at 201 ms, in tick 50: 125 ticks lie below 128, 512 ms, which is 311 ms later. Restarted
/// there: 203 ticks lie below 208, 832 ms.
#[test]
fn timers_of_linux_expire_at_ticks() {
    let ticks = Stack { rto_granularity: Duration::from_millis(4), ..linux() };
    let mut it = Script::new(&ticks, 100.0);
    it.write(1).sends([0]).after(100.0).ack(1, &[]);
    it.write(1).sends([1]).after_silence_sends(311.0, [1]).counts(0, 1);
    it.after_silence_sends(320.0, [1]).counts(1, 1);
}

/// RFC 8985, section 7.2, limits the probe timeout as well: `PTO = TCP_RTO_expiration() - Now()`.
#[test]
fn under_the_rfc_the_probe_is_sent_before_a_simultaneous_rto_as_well() {
    let mut it = Script::new(&rfc(), 100.0);
    it.write(1).sends([0]).after(100.0).ack(1, &[]);
    it.write(1).sends([1]).after_silence_sends(300.0, [1]).counts(0, 1);
    it.after_silence_sends(300.0, [1]).counts(1, 1);
}

/// With an SRTT of 300 ms and a settled variance the RTO is 500 ms, less than two round trips plus 2 ms: the tail is
/// probed after an RTO, and an acknowledged probe prevents the timeout. tcp_schedule_loss_probe.
#[test]
fn a_path_with_an_rtt_above_200_ms_sends_a_probe_before_the_timeout() {
    let mut it = Script::linux(300.0);
    for round in 0..40 {
        it.write(2).sends([2 * round, 2 * round + 1]).after(300.0).ack(2 * round + 2, &[]);
    }
    it.write(2).sends([80, 81]).after_silence_sends(500.0, [81]).counts(0, 1);
    it.after(300.0).ack(82, &[]).counts(0, 1);
}

/// The first retransmission arms the RTO in the probe's place (tcp_xmit_retransmit_queue): no probe in Recovery. By hand:
/// RTT 10 ms, RTO 210 ms. packetdrill: prr-ss-30pkt-lost1_4.
#[test]
fn no_loss_probe_is_sent_in_recovery() {
    let mut it = Script::linux(10.0);
    it.write(10).sends(0..10).after(10.0).ack(0, &[4..5]).is_in(CaState::Disorder);
    it.after(2.0).ack(0, &[4..6]).is_silent().ack(0, &[4..7]).sends([0]).is_in(CaState::Recovery);
    it.ack(0, &[4..8]).sends([1]).ack(0, &[4..9]).sends([2]).ack(0, &[4..10]).sends([3]);
    it.after(100.0).is_silent().counts(0, 0);
    it.ack(1, &[4..10]).ack(2, &[4..10]).ack(3, &[4..10]).is_silent().ack(10, &[]).is_in(CaState::Open);
    it.after(10.0).write(10).sends(10..17).counts(0, 0);
}

/// The reordering timer takes the probe's place in Disorder (tcp_rack_mark_lost): RTT + RTT/4 + 2 ms = 14.5 ms
/// after it was sent the segment is lost, and no probe is sent at 22 ms.
#[test]
fn the_reordering_timer_replaces_the_probe_timer() {
    let mut it = Script::linux(10.0);
    it.write(2).sends([0, 1]).after(10.0).ack(0, &[1..2]).is_in(CaState::Disorder);
    it.after_silence_sends(4.5, [0]).is_in(CaState::Recovery).counts(0, 0);
}

/// After a spurious timeout RACK reconsiders the segments that the timeout marked lost (tcp_undo_cwnd_reduction:
/// `rack.advanced = 1`; tcp_timeout_mark_lost leaves segments on the list by time). packetdrill:
/// cheng-rto-dsack-undo-tlp-rack.
#[test]
fn after_a_spurious_timeout_rack_detects_the_real_losses() {
    let mut it = Script::new(&Stack { timestamps: true, ..linux() }, 100.0);
    let sent = it.now();
    it.echo(sent).write(10).sends(0..10).after_silence_sends(202.0, [9]).after_silence_sends(300.0, [0]).counts(1, 1);
    // The echo shows that the originals of the first two segments were delayed; the others are lost.
    it.after(10.0).ack(2, &[]).is_in(CaState::Open).has_cwnd(12).has_in_flight(8);
    it.sends([]);
    let again = it.now();
    it.write(4).sends(10..14).after(100.0).echo(again);
    it.ack(2, &[10..14]).is_in(CaState::Recovery).counts(1, 1);
    let last = it.sender.una();
    assert_eq!(last, 2);
    it.sends([2, 3, 4, 5]);
}

/// After an undo a segment whose retransmission is overdue is marked, but the retransmission stays in flight: the mark is
/// that of the original (tcp_mark_skb_lost clears `TCPCB_SACKED_RETRANS` only where `TCPCB_LOST` is set). Only the timeout
/// repeats it. Linux 6.1 and 6.18 do so after an outage (docs/attack.md).
#[test]
fn after_a_spurious_timeout_only_another_one_repeats_a_lost_retransmission() {
    let mut it = Script::linux(100.0);
    it.write(10).sends(0..10).after_silence_sends(202.0, [9]).after_silence_sends(300.0, [0]).counts(1, 1);
    // Originals arrive after all, but neither the first segment nor its retransmission does.
    it.after(10.0).ack(0, &[1..3]).is_in(CaState::Disorder).is_silent();
    it.write(1).sends([10]).after(100.0).ack(0, &[10..11, 1..3]).is_in(CaState::Recovery).sends([3]);
    it.after(50.0).ack(0, &[3..4, 10..11, 1..3]).sends([4]);
    // By hand, RFC 6298: after a sample of 512 ms the RTO is 151.5 + 4 · 140.5 = 713.5 ms, from that ACK on, 150 ms ago.
    it.after_silence_sends(563.5, [0]).counts(2, 1);
}

/// A segment reported by a D-SACK counts as delivered (tcp_dsack_seen: `sack_delivered += dup_segs`). By hand: ten
/// segments and one copy of the tail in slow start make 10 + 11. packetdrill: cheng-rto-dsack-undo-tlp-rack.
#[test]
fn a_dsacked_segment_counts_as_delivered() {
    for (stack, cwnd) in [(linux(), 21), (rfc(), 20)] {
        let slack = if cwnd == 21 { 202.0 } else { 200.0 };
        let mut it = Script::new(&stack, 100.0);
        it.write(10).sends(0..10).after_silence_sends(slack, [9]);
        it.after(10.0).ack(10, &[9..10]).has_cwnd(cwnd);
    }
}

/// tcp_ack, `old_ack`: an ACK below `una` carries SACKs. By hand, RTT 10 ms: 0, 4 and 7 are lost; two segments SACKed
/// by a reordered ACK allow two segments. packetdrill: prr-ss-ack-below-snd_una-cubic.
#[test]
fn sacks_of_an_ack_below_una_are_evaluated() {
    let mut it = Script::linux(10.0);
    it.write(10).sends(0..10).after(10.0).ack(0, &[1..2]).ack(0, &[1..3]).is_silent();
    it.ack(0, &[1..3, 8..9]).sends([0]);
    it.after(12.0).ack(4, &[8..9]).sends([4, 5, 6]).write(10).is_silent();
    it.after(2.0).ack(3, &[5..7]).sends([7, 10]);
}

/// A D-SACK in an ACK below `una` undoes the reduction. packetdrill: undo-fr-ack-then-dsack-on-ack-below-snd_una.
#[test]
fn a_dsack_below_una_undoes_a_reduction() {
    let mut it = Script::linux(100.0);
    it.write(10).sends(0..10).after(100.0).ack(0, &[1..2]).ack(0, &[1..3]).ack(0, &[1..4]).sends([0]);
    it.ack(4, &[]).ack(6, &[]).ack(8, &[]).ack(10, &[]).is_in(CaState::Open).has_cwnd(7);
    it.after(3.0).write(1).sends([10]).after(97.0).ack(11, &[]);
    it.after(1.0).ack(10, &[0..1]).has_cwnd(10);
    it.after(49.0).write(11).sends(11..21);
}

/// With timestamps an ACK below `una` is older than one that arrived (RFC 7323, section 5.3, R1; tcp_paws_discard), and is
/// discarded: what would undo the reduction without timestamps, above, changes nothing.
#[test]
fn an_ack_below_una_is_discarded_with_timestamps() {
    for (paws, cwnd) in [(true, 7), (false, 10)] {
        let mut it = Script::new(&Stack { timestamps: true, paws, ..linux() }, 100.0);
        it.write(10).sends(0..10).after(100.0).ack(0, &[1..2]).ack(0, &[1..3]).ack(0, &[1..4]).sends([0]);
        it.ack(4, &[]).ack(6, &[]).ack(8, &[]).ack(10, &[]).is_in(CaState::Open).has_cwnd(7);
        it.after(3.0).write(1).sends([10]).after(97.0).ack(11, &[]);
        it.after(1.0).ack(10, &[0..1]).has_cwnd(cwnd);
    }
}

/// tcp_ack: tcp_sacktag_write_queue precedes tcp_clean_rtx_queue, so that a D-SACK counts although the same ACK covers its
/// segment. A kernel 6.18 has an unlimited threshold and a window of 18 then: 10 before, 7 segments delivered, and the copy.
#[test]
fn a_dsack_counts_before_the_ack_advances() {
    let mut it = Script::linux(100.0);
    it.write(10).sends(0..10).after(100.0).ack(0, &[1..2]).ack(0, &[1..3]).ack(0, &[1..4]).sends([0]);
    it.is_in(CaState::Recovery).after(100.0).ack(10, &[0..1]).is_in(CaState::Open).has_cwnd(18);
    assert_eq!(it.causes("undo"), ["dsack"]);
}

/// tcp_rack_advance since 5.x: RACK.rtt is that of the last segment delivered. By hand, RTT 100 ms, reo_wnd 25 ms:
/// segment 5 of t = 20 SACKed at 120, segment 2 of t = 0 at 122: RACK.rtt is 122 ms, and of the segments sent before t
/// = 20 the last, 4 of t = 10, is overdue at 10 + 122 + 25, and 2 ms more. RFC 8985, section 6.2, step 2: RACK.rtt
/// stays 100 ms, and the last is overdue at 135.
#[test]
fn rack_rtt_is_of_the_segment_delivered_last() {
    for (stack, due) in [(linux(), 159.0), (rfc(), 135.0)] {
        let mut it = Script::new(&stack, 100.0);
        it.write(3).sends(0..3).after(10.0).write(2).sends(3..5).after(10.0).write(1).sends([5]);
        it.after(100.0).ack(0, &[5..6]).after(2.0).ack(0, &[2..3, 5..6]).after_silence_sends(due - 122.0, [0]);
    }
}

/// tcp_send_loss_probe calls __tcp_retransmit_skb: the copy is not in `retrans_out`. packetdrill: yang-frto-dsack-not-dupack.
#[test]
fn a_probe_that_repeats_the_tail_counts_as_in_flight_once() {
    let mut it = Script::linux(100.0);
    it.write(10).sends(0..10).after_silence_sends(202.0, [9]).has_in_flight(10);
    // Nine arrived: of the tenth two copies are in flight, and a window of 19 allows 18 more.
    it.ack(9, &[]).has_cwnd(19).write(30).sends(10..28);
}

/// TCP_TIMEOUT_MIN_US: 2 ms on top of two round trips of 1 ms, where more than one segment is in flight, and for the
/// reordering timer: 1 + 0.25 + 2 ms after the segment was sent.
#[test]
fn linux_adds_two_milliseconds_to_the_probe_and_reordering_timers() {
    let mut it = Script::linux(1.0);
    it.write(2).sends([0, 1]).after_silence_sends(4.0, [1]);
    let mut it = Script::linux(1.0);
    it.write(2).sends([0, 1]).after(1.0).ack(0, &[1..2]).after_silence_sends(2.25, [0]);
}

/// An RTT of zero is a valid sample; the probe is sent after 2 ms (tcp_schedule_loss_probe).
#[test]
fn with_an_rtt_of_zero_the_probe_is_sent_after_two_milliseconds() {
    let mut it = Script::linux(0.0);
    it.write(2).sends([0, 1]).after_silence_sends(2.0, [1]);
}

/// tcp_xmit_retransmit_queue restarts the timer when the first segment is retransmitted. By hand: RTT 100 ms, RTO 300 ms; the
/// recovery begins 25 ms after the first SACK.
#[test]
fn retransmitting_the_first_segment_restarts_the_rto() {
    let mut it = Script::linux(100.0);
    it.write(10).sends(0..10).after(100.0).ack(0, &[1..2]).after(10.0).ack(0, &[1..3]).after(15.0);
    it.ack(0, &[1..4]).sends([0]).is_in(CaState::Recovery);
    let rto = it.sender.rtt().rto().as_millis();
    it.after_silence_sends(rto, [0]).counts(1, 0);
}

/// tcp_schedule_loss_probe: probes are sent in Open and in CWR.
#[test]
fn a_loss_probe_is_sent_in_cwr() {
    let mut it = Script::new(&Stack { ecn: Ecn::Classic, ..linux() }, 100.0);
    it.write(10).sends(0..10).after(100.0).ack_ece(1).is_in(CaState::Cwr).is_silent();
    it.after_silence_sends(202.0, [9]).is_in(CaState::Cwr).counts(0, 1);
}

/// tcp_send_loss_probe: one probe at a time, including probes of new data; the next timer is the RTO timer.
#[test]
fn one_loss_probe_is_sent_per_flight_even_if_it_is_new_data() {
    let mut it = Script::linux(100.0);
    it.write(20).sends(0..10).after_silence_sends(202.0, [10]).counts(0, 1);
    it.after_silence_sends(300.0, [0]).counts(1, 1);
}

/// tcp_dsack_seen, tcp_rack_update_reo_wnd: a D-SACK widens the reordering window only after reordering was observed.
/// RFC 8985, section 6.2, step 4, has no such condition. By hand, RTT 100 ms: the wait for a hole is 25 ms, or 50.
#[test]
fn without_reordering_a_dsack_does_not_widen_the_reordering_window() {
    for (stack, wait) in [(linux(), 27.0), (rfc(), 50.0)] {
        let mut it = Script::new(&stack, 100.0);
        it.write(1).sends([0]).after(100.0).ack(1, &[]);
        it.write(9).sends(1..10).after(100.0).ack(1, &[2..3]).ack(1, &[2..4]).ack(1, &[2..5]).sends([1]);
        it.after(100.0).ack(10, &[1..2]).is_in(CaState::Open);
        it.write(2).sends([10, 11]).after(100.0).ack(12, &[]);
        it.write(2).sends([12, 13]).after(100.0).ack(12, &[13..14]).after_silence_sends(wait, [12]);
    }
}

/// tcp_check_sack_reordering, tcp_may_raise_cwnd. By hand: a SACK of 3 after one of 9 is a displacement by 10 - 3 = 7,
/// beyond 3: from that ACK on SACKs alone raise the window: by 1, and by 8 for the last ACK. packetdrill:
/// cubic-rack-reo-timeout-retrans-failed-incoming-data.
#[test]
fn sacks_alone_raise_the_window_on_a_path_with_much_reordering() {
    for (stack, cwnd) in [(linux(), 19), (rfc(), 18)] {
        let mut it = Script::new(&stack, 20.0);
        it.write(10).sends(0..10).after(20.0).ack(0, &[9..10]).ack(0, &[3..4, 9..10]).ack(10, &[]).has_cwnd(cwnd);
    }
}

/// tcp_rack_reo_wnd: after reordering was observed, SACKed segments alone do not indicate a loss; a timeout in Disorder
/// with 3 SACKed segments resets the degree of reordering (tcp_enter_loss).
#[test]
fn after_reordering_three_sacks_indicate_no_loss() {
    let mut it = Script::linux(20.0);
    it.write(10).sends(0..10).after(20.0).ack(0, &[9..10]).ack(0, &[3..4, 9..10]).ack(10, &[]).has_cwnd(19);
    assert!(it.sender.is_drained());
    // After reordering three SACKs do not indicate a loss; the timer detects it (20 + 5 + 2 ms).
    it.write(10).sends(10..20).after(20.0).ack(10, &[11..14]).is_silent().is_in(CaState::Disorder);
    it.after_silence_sends(7.0, [10]);
}

/// tcp_ack_probe and tcp_check_probe_timer: when the window opens, the persist timer stops, and the RTO timer starts
/// anew. packetdrill: tcp-info-rwnd-limited.
#[test]
fn segments_sent_when_the_window_opens_have_a_full_rto() {
    let mut it = Script::linux(10.0);
    it.window(0).write(1).sends([0]).after(10.0).ack(1, &[]).write(1).is_silent();
    // The RTO is 210 ms, and so is the persist timer, of which 10 ms remain.
    it.after(200.0).window(2000).ack(1, &[]).sends([1]).after(20.0).is_silent().counts(0, 0);
    it.ack(2, &[]).after(1000.0).is_silent().counts(0, 0);
}

/// tcp_send_probe0: the probes are sent after 1, 2 and 4 RTOs and are empty; the congestion window stays. packetdrill: slow-start-after-win-update.
#[test]
fn a_closed_window_is_probed_with_exponential_backoff() {
    let mut it = Script::linux(100.0);
    it.write(10).sends(0..10).window(0).after(100.0).ack(10, &[]).has_cwnd(20).write(30);
    it.is_silent().after_silence_probes_window(300.0);
    it.after_silence_probes_window(600.0).after_silence_probes_window(1200.0).has_cwnd(20).counts(0, 0);
    // tcp_cwnd_restart: after 3 s the window is the initial one again.
    it.window(100_000).after(900.0).ack(10, &[]).sends(10..20);
}

/// tcp_ack_probe: an ACK with a closed window restarts the timer. packetdrill: dumazet-zwp-backoff.
#[test]
fn an_answer_with_a_closed_window_restarts_the_persist_timer() {
    let mut it = Script::linux(100.0);
    it.write(10).sends(0..10).window(0).after(100.0).ack(10, &[]).write(30).is_silent();
    it.after_silence_probes_window(300.0).after(100.0).ack(10, &[]).after_silence_probes_window(600.0);
    it.after(100.0).ack(10, &[]).after_silence_probes_window(1200.0);
}

/// tcp_check_sack_reneging, tcp_timeout_mark_lost: a cumulative ACK up to a SACKed segment means that the receiver
/// discarded SACKed data; the sender waits max(RTT/2, 10 ms), then retransmits all segments. RFC 2018, section 8.
/// packetdrill: chen-sack-reneging.
#[test]
fn after_reneging_everything_is_retransmitted() {
    let mut it = Script::linux(100.0);
    it.write(10).sends(0..10).after(100.0).ack(0, &[1..2]).ack(0, &[1..3]).ack(0, &[1..10]).sends([0]);
    it.after(100.0).ack(1, &[]).is_silent();
    let half = it.sender.rtt().srtt().as_millis() / 2.0;
    it.after_silence_sends(half, [1]).counts(1, 0).is_in(CaState::Loss);
    it.after(100.0).ack(2, &[]).sends([2, 3]).after(100.0).ack(4, &[]).sends([4, 5, 6, 7]);
    it.after(100.0).ack(10, &[]).is_in(CaState::Open);
}

/// RFC 2018, section 8, under the RFCs' rules: a timeout discards all SACKs.
#[test]
fn under_the_rfcs_a_timeout_recovers_from_reneging() {
    let mut it = Script::new(&rfc(), 100.0);
    it.write(10).sends(0..10).after(100.0).ack(0, &[1..10]).sends([0]).after(100.0).ack(1, &[]);
    let rto = it.sender.rtt().rto().as_millis();
    it.after_silence_sends(rto, [1]).counts(1, 0).after(100.0).ack(2, &[]).sends([2, 3]);
    it.after(100.0).ack(10, &[]).is_in(CaState::Open);
}

/// __tcp_retransmit_skb: beyond a shrunken receive window only the first segment is retransmitted.
/// tcp_retransmit_timer: under a closed window it is a window probe, with exponential back-off. packetdrill:
/// dong-rwin-rto-zero-window.
#[test]
fn beyond_a_shrunken_window_only_the_first_segment_is_retransmitted() {
    let mut it = Script::linux(100.0);
    it.write(10).sends(0..10).after(100.0).window(0).ack(1, &[]).is_silent();
    it.after_silence_sends(202.0, [9]).after_silence_sends(300.0, [1]).counts(1, 1).is_silent();
    it.after_silence_sends(600.0, [1]).after_silence_sends(1200.0, [1]);
    it.window(3000).ack(1, &[]).is_silent().ack(2, &[]).sends([2, 3]);
}

/// tcp_may_update_window: an ACK without newly acknowledged data and with a smaller window is an old one.
#[test]
fn an_old_ack_does_not_shrink_the_window() {
    let mut it = Script::linux(100.0);
    it.window(20_000).write(5).sends(0..5).after(100.0).ack(1, &[]);
    it.window(6_000).ack(1, &[]).write(20).sends(5..11);
}

/// tcp_timeout_mark_lost: segments sent less than RACK.rtt ago are not marked lost; tcp_enter_loss: the window is the
/// data in flight plus one segment. By hand, RTT 100 ms, RTO 300 ms: five are sent at 0, one at 250; the RTO expires at
/// 300.
#[test]
fn a_timeout_spares_segments_sent_recently() {
    let mut it = Script::new(&Stack { tail_loss_probe: false, ..linux() }, 100.0);
    it.write(1).sends([0]).after(100.0).ack(1, &[]);
    it.write(5).sends(1..6).after(250.0).write(1).sends([6]);
    let rto = it.sender.rtt().rto().as_millis();
    it.after_silence_sends(rto - 250.0, [1]).has_in_flight(2).has_cwnd(2).counts(1, 0);
}

/// tcp_process_loss, RFC 5682, section 3.1, step 2b: after the first segment's ACK new data is sent first; a SACK of
/// new data shows that the loss was genuine.
#[test]
fn f_rto_sends_new_data_before_retransmissions() {
    let mut it = Script::linux(100.0);
    it.write(10).sends(0..10).after(100.0).ack(5, &[]).write(20).sends(10..20);
    // The first segment was sent 100 ms ago and 200 ms of its RTO remain: 2 ms less than the probe timeout of two round
    // trips plus 2 ms.
    it.after_silence_sends(200.0, [20]).after_silence_sends(300.0, [5]).is_in(CaState::Loss).after(50.0);
    it.ack(6, &[]).sends([21, 22]).is_in(CaState::Loss);
    it.after(100.0).ack(6, &[21..22]).is_in(CaState::Loss).sends([6]);
}

/// tcp_enter_loss: one reduction per window of data. A timeout in Recovery does not lower `ssthresh` again: 10 · 0.7 =
/// 7.
#[test]
fn a_timeout_in_recovery_does_not_lower_ssthresh_again() {
    for (stack, ssthresh) in [(linux(), 7), (rfc(), 4)] {
        let mut it = Script::new(&stack, 100.0);
        it.write(10)
            .sends(0..10)
            .after(100.0)
            .ack(0, &[1..2])
            .ack(0, &[1..3])
            .ack(0, &[1..4])
            .sends([0])
            .has_ssthresh(7);
        it.after(1000.0).has_ssthresh(ssthresh);
        assert!(it.sender.counters().timeouts > 0);
    }
}

/// Without SACK each duplicate ACK delivers a segment (tcp_add_reno_sack), and the first of three marks the head lost
/// (tcp_newreno_mark_lost). By hand: window 10, ssthresh 7, two new segments for the first two duplicates, and PRR: ⌈1 ·
/// 7/10⌉ = 1 with the third. The ACK of five delivers 5 − 3 = 2 (tcp_remove_reno_sacks): six of twelve are in flight
/// without the second hole, and PRR fills the window of 7 with its retransmission. The next two duplicates are segments
/// that left: with 5 in flight, two new ones for two delivered.
#[test]
fn without_sack_duplicates_count_as_delivered_segments() {
    let mut it = Script::new(&Stack { sack: false, tso_burst: false, ..linux() }, 100.0);
    it.write(40).sends(0..10).after(100.0);
    it.ack(0, &[]).sends([10]).is_in(CaState::Disorder).ack(0, &[]).sends([11]).has_in_flight(10);
    it.ack(0, &[]).sends([0]).is_in(CaState::Recovery).has_ssthresh(7).has_in_flight(9);
    it.after(100.0).ack(5, &[]).sends([5]).has_in_flight(7).has_cwnd(7);
    it.ack(5, &[]).sends([12]).ack(5, &[]).sends([13]).has_in_flight(7);
}

/// The state is held until data above `high_seq` is acknowledged (tcp_is_non_sack_preventing_reopen), and the time of the
/// first retransmission, which is forgotten there, is no evidence of a spurious one (tcp_packet_delayed). Duplicates of
/// the ACK at which it is held enter no second recovery.
#[test]
fn without_sack_a_recovery_is_held_and_not_undone() {
    let mut it = Script::new(&Stack { sack: false, tso_burst: false, timestamps: true, ..linux() }, 100.0);
    let sent = it.now();
    it.echo(sent).write(40).sends(0..10).after(100.0);
    it.ack(0, &[]).sends([10]).ack(0, &[]).sends([11]).ack(0, &[]).sends([0]);
    let again = it.now();
    it.echo(again).after(100.0).ack(12, &[]).is_in(CaState::Recovery).has_ssthresh(7);
    let (recoveries, undos) = (it.sender.counters().recoveries, it.sender.counters().undos);
    it.ack(12, &[]).ack(12, &[]).ack(12, &[]).is_in(CaState::Recovery);
    it.after(100.0).ack(13, &[]).is_in(CaState::Open).has_ssthresh(7);
    assert_eq!((it.sender.counters().recoveries, it.sender.counters().undos), (recoveries, undos));
}

/// Without SACK there is no probe (tcp_schedule_loss_probe), and a timeout marks all segments lost, also recent ones, as RACK
/// has no RTT (tcp_clean_rtx_queue, tcp_timeout_mark_lost): one segment is in flight.
#[test]
fn without_sack_a_timeout_marks_all_segments() {
    let mut it = Script::new(&Stack { sack: false, tso_burst: false, ..linux() }, 100.0);
    it.write(12).sends(0..10).after(100.0).ack(2, &[]).sends([10, 11]);
    let rto = it.sender.rtt().rto().as_millis();
    it.after_silence_sends(rto, [2]).is_in(CaState::Loss).has_in_flight(1).counts(1, 0);
}
