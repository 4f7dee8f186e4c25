//! Scripted tests of small receive windows. Segments have 1000 bytes unless the window has no room for them.

#![allow(clippy::single_range_in_vec_init)] // a lone SACK block is a range

mod script;

use cwndlab_control::RecoveryKind;
use cwndlab_transport::stack::{Pacing, Rules, Stack};
use script::{linux, rfc, Script};

fn opened(stack: &Stack, window: u64) -> Script {
    Script::with_window(RecoveryKind::Rack, &Stack { tso_burst: false, ..stack.clone() }, 100.0, window)
}

/// RFC 9293, section 3.8.6.2.1: a window of a full segment receives one, and a smaller one a segment of its size (rule
/// 3: at least half of the largest window). Linux, tcp_bound_to_half_wnd: segments are at most half of the largest
/// window, or all of it up to 536 bytes.
#[test]
fn segments_are_not_larger_than_the_largest_window() {
    for (window, by_rfc, by_linux) in [
        (2000, &[1000, 1000][..], &[1000, 1000][..]),
        (1500, &[1000], &[750, 750]),
        (1000, &[1000], &[500, 500]),
        (600, &[600], &[300, 300]),
        (537, &[537], &[268, 268]),
        (536, &[536], &[536]),
        (1, &[1], &[1]),
    ] {
        for (stack, payloads) in [(rfc(), by_rfc), (linux(), by_linux)] {
            let mut it = opened(&stack, window);
            it.window(window).write(5).sends_payloads(payloads).after(100.0);
            it.ack(payloads.len() as u64, &[]).sends_payloads(payloads);
        }
    }
}

/// RFC 9293, section 3.8.6.2.1. Rule 3: half of the largest window is sent at once, less only by the override timeout
/// (rule 4), which is between 0.1 and 1 s: here the RTO of 300 ms. Linux sends it as a window probe
/// (tcp_write_wakeup) after an RTO.
#[test]
fn a_window_below_a_segment_receives_what_fits_after_the_override_timeout() {
    for stack in [rfc(), linux()] {
        let mut it = opened(&stack, 10_000);
        it.write(10).sends(0..10).after(100.0).window(600).ack(10, &[]).write(5);
        it.after_silence_sends_payloads(300.0, &[600]).after(100.0).window(400).ack(11, &[]);
        it.after_silence_sends_payloads(300.0, &[400]).after(100.0).window(100_000).ack(12, &[]);
        it.sends_payloads(&[1000, 1000, 1000, 1000]).counts(0, 0);
    }
    let mut it = opened(&rfc(), 1200);
    it.window(700).write(5).sends_payloads(&[1000]).after(100.0).ack(1, &[]).sends_payloads(&[700]);
    it.after(100.0).window(599).ack(2, &[]).after_silence_sends_payloads(300.0, &[599]);
}

/// RFC 9293, section 3.8.6.2.1, rule 4: the override timeout is at most a second, here with an RTO of three.
#[test]
fn the_override_timeout_is_at_most_a_second() {
    let mut it = Script::with_window(RecoveryKind::Rack, &Stack { tso_burst: false, ..rfc() }, 1000.0, 10_000);
    it.write(10).sends(0..10).after(1000.0).window(600).ack(10, &[]).write(5);
    it.after_silence_sends_payloads(1000.0, &[600]);
}

/// RFC 9293, section 3.8.6.2.1, rule 2: data that fits into the window is sent at once.
#[test]
fn data_that_fits_into_a_window_below_a_segment_is_sent_at_once() {
    for stack in [rfc(), linux()] {
        let mut it = opened(&stack, 10_000);
        it.write(10).sends(0..10).after(100.0).window(600).ack(10, &[]);
        it.write_bytes(200).sends_payloads(&[200]).after(100.0).ack(11, &[]);
        it.write_bytes(600).sends_payloads(&[600]).after(100.0).ack(12, &[]);
        assert!(it.sender.is_drained());
    }
}

/// A segment of a small window that is lost is retransmitted as it was sent, also under a closed window.
#[test]
fn a_lost_segment_of_a_small_window_is_retransmitted() {
    for stack in [rfc(), linux()] {
        let mut it = opened(&Stack { tail_loss_probe: false, ..stack }, 500);
        it.window(500).write_bytes(700).sends_payloads(&[500]).after_silence_sends_payloads(300.0, &[500]);
        it.after(100.0).window(0).ack(1, &[]);
        let rto = it.sender.rtt().rto().as_millis();
        it.after_silence_probes_window(rto);
        it.window(500).ack(1, &[]).sends_payloads(&[200]).after(100.0).ack(2, &[]);
        assert!(it.sender.is_drained());
    }
}

/// RFC 9293, section 3.7.4: a short segment waits while data are unacknowledged. Linux, tcp_minshall_check: only behind
/// another short one, so that the end of a write leaves with it.
#[test]
fn nagles_algorithm_delays_a_short_segment() {
    let run = |stack: Stack| {
        let mut it = Script::new(&Stack { pacing: Pacing::Off, ..stack }, 100.0);
        it.sender.set_nagle(true);
        it
    };
    run(rfc()).write(2).write_bytes(4).sends([0, 1]).after(100.0).ack(2, &[]).sends([2]);
    run(linux())
        .write(2)
        .write_bytes(4)
        .sends([0, 1, 2])
        .write_bytes(4)
        .is_silent()
        .after(100.0)
        .ack(3, &[])
        .sends([3]);
}

/// draft-ietf-ccwg-bbr, section 4.1.2.4; Linux, tcp_rate_check_app_limited: less than a segment is unsent, which
/// Nagle's algorithm delays while others are in flight. The samples until its delivery are application-limited.
#[test]
fn data_that_nagles_algorithm_delays_is_application_limited() {
    for stack in [rfc(), linux()] {
        let linux = stack.rules == Rules::Linux;
        let mut it = Script::new(&Stack { pacing: Pacing::Off, ..stack }, 100.0);
        it.sender.set_nagle(true);
        it.write(2).write_bytes(4).sends(0..if linux { 3 } else { 2 }).write_bytes(4).after(100.0);
        let mut limited = f64::NAN;
        it.sender.named_values(&mut |name, value| {
            if name == "transport.app_limited" {
                limited = value;
            }
        });
        assert_eq!(limited, 1.0);
    }
}
