//! Scripts through the public interface: faults, reasons, and differences between script and sender.

use cwndlab_packetdrill::report::{Outcome, Report};
use cwndlab_packetdrill::run_script;
use proptest::prelude::*;

/// A connection with an MSS of 1000 bytes and an RTT of 100 ms.
const BEGIN: &str = "\
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000,sackOK>
+0 > S. 0:0(0) ack 1 <...>
+.1 < . 1:1(0) ack 1 win 65535
+0 accept(3, ..., ...) = 4
";

fn run(rest: &str) -> Report {
    run_script(&format!("{BEGIN}{rest}")).unwrap()
}

/// Line, expectation and what happened instead.
fn failure(rest: &str) -> (u32, String, String) {
    match run(rest).outcome {
        Outcome::Failed(failure) => (failure.line, failure.expected, failure.got),
        other => panic!("{other:?}"),
    }
}

fn reasons(text: &str) -> Vec<String> {
    match run_script(text).unwrap().outcome {
        Outcome::NotApplicable { reasons } => reasons.into_iter().map(|reason| reason.feature).collect(),
        other => panic!("{other:?}"),
    }
}

/// RFC 6928: ten segments; after the ACK of two, four more.
#[test]
fn a_script_that_describes_slow_start_passes() {
    let rest = "
+0 write(4, ..., 30000) = 30000
+0 > . 1:10001(10000) ack 1
+.1 < . 1:1(0) ack 2001 win 65535
+0 > . 10001:14001(4000) ack 1
";
    assert_eq!(run(rest).outcome, Outcome::Passed);
}

#[test]
fn another_packet_is_named_with_line_time_and_both_packets() {
    let rest = "+0 write(4, ..., 30000) = 30000\n+0 > . 1:11001(11000) ack 1\n";
    let (line, expected, got) = failure(rest);
    assert_eq!(line, 9);
    assert_eq!(expected, ". 1:11001(11000) ack 1 at 0.100007 s");
    // RFC 8985, section 7.2: the probe after two round trips and 2 ms, at the tick after (`calc_index`).
    let next = "next is . 10001:11001(1000) ack 1 at 0.304000 s";
    assert_eq!(got, format!(". 1:10001(10000) ack 1 at 0.100006 s; {next}"));
}

/// RFC 6298: the retransmission follows after 300 ms at the earliest, so that none is sent within 100 ms.
#[test]
fn a_packet_that_is_not_sent_is_a_failure() {
    let rest = "+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1\n+.1 > P. 1:1001(1000) ack 1\n";
    let (line, _, got) = failure(rest);
    let sent = "no packet until 0.212507 s; it is sent at 0.408000 s";
    assert_eq!((line, got.as_str()), (10, sent));
}

/// The retransmission timer expires after 300 ms, at a multiple of 8 ms above (`calc_index`): that is too early for a script that expects it after 600 ms.
#[test]
fn a_packet_that_is_sent_early_is_a_failure() {
    let rest = "+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1\n+.6 > P. 1:1001(1000) ack 1\n";
    let (line, _, got) = failure(rest);
    assert_eq!((line, got.as_str()), (10, ". 1:1001(1000) ack 1 at 0.408000 s"));
}

#[test]
fn an_ack_within_a_segment_is_not_applicable() {
    let rest = "+0 write(4, ..., 2000) = 2000\n+0 > P. 1:2001(2000) ack 1\n+.1 < . 1:1(0) ack 501 win 65535\n";
    match run(rest).outcome {
        Outcome::NotApplicable { reasons } => assert_eq!(reasons[0].line, 10),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_write_after_close_must_be_expected_to_fail() {
    let rest = "+0 write(4, ..., 1000) = 1000\n+0 close(4) = 0\n+0 write(4, ..., 1000) = 1000\n";
    let (line, expected, got) = failure(rest);
    assert_eq!((line, expected.as_str(), got.as_str()), (10, "write = 1000 ", "-1 EPIPE"));
}

/// The FIN follows the last data, with it where both leave at once (RFC 9293, section 3.6).
#[test]
fn the_fin_follows_the_data() {
    let rest = "
+0 write(4, ..., 12000) = 12000
+0 > . 1:10001(10000) ack 1
+0 close(4) = 0
+.1 < . 1:1(0) ack 10001 win 65535
+0 > FP. 10001:12001(2000) ack 1
+.1 < F. 1:1(0) ack 12002 win 65535
+0 > . 12002:12002(0) ack 2
";
    assert_eq!(run(rest).outcome, Outcome::Passed);
}

#[test]
fn code_is_returned_with_the_values_of_its_time() {
    let report = run("+0 write(4, ..., 3000) = 3000\n+.01 %{ assert tcpi_unacked == 3 }%\n");
    let [code] = report.code.as_slice() else { panic!("one piece of code") };
    assert_eq!((code.line, code.text.as_str()), (9, "assert tcpi_unacked == 3"));
    let value = |name| code.values[name];
    assert_eq!([value("tcpi_unacked"), value("tcpi_snd_cwnd"), value("tcpi_snd_mss")], [3, 10, 1000]);
    assert_eq!(value("tcpi_snd_ssthresh"), 0x7fff_ffff);
}

/// RFC 9293, section 3.8.6.3: a receiver may delay an ACK. The simulated one does not, so that a script that expects the
/// delay is not about the sender.
#[test]
fn an_ack_that_the_receiver_delays_is_not_applicable() {
    let rest = "+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1\n+.1 < . 1:1(0) ack 1001 win 65535\n";
    for peer in ["< P. 1:101(100) ack 1001 win 65535", "< F. 1:1(0) ack 1001 win 65535"] {
        let ack = if peer.contains('F') { 2 } else { 101 };
        match run(&format!("{rest}+.1 {peer}\n+.04 > . 1001:1001(0) ack {ack}\n")).outcome {
            Outcome::NotApplicable { reasons } => {
                assert_eq!((reasons[0].line, &*reasons[0].feature), (12, "receiver-side check (a delayed ACK)"));
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(run(&format!("{rest}+.1 {peer}\n+0 > . 1001:1001(0) ack {ack}\n")).outcome, Outcome::Passed);
    }
    // The ACK of two segments, and one that data carries.
    let two = "+.1 < . 1:101(100) ack 1001 win 65535\n+.01 < . 101:201(100) ack 1001 win 65535\n";
    assert_eq!(run(&format!("{rest}{two}+0 > . 1001:1001(0) ack 201\n")).outcome, Outcome::Passed);
    let answer = "+.01 write(4, ..., 500) = 500\n+0 > P. 1001:1501(500) ack 201\n";
    assert_eq!(run(&format!("{rest}{two}{answer}")).outcome, Outcome::Passed);
    // The sender is still judged: this data is not sent.
    let (line, ..) = failure(&format!("{rest}{two}+.01 > P. 1001:1501(500) ack 201\n"));
    assert_eq!(line, 13);
}

#[test]
fn packets_of_other_protocols_and_old_forms_are_read() {
    let data = "+0 write(4, ..., 1000) = 1000\n";
    for (line, feature) in [
        ("+0 < [1:1461(1460)] icmp unreachable frag_needed mtu 1200", "ICMP"),
        ("+0 < icmp unreachable frag_needed mtu 1200 [1:1461(1460)]", "ICMP"),
        ("+0 < sctp: INIT[flgs=0, tag=1,\n  a_rwnd=1500, adaptation]\n+0 > sctp: INIT_ACK[flgs=0]", "SCTP"),
        ("+0 > sctp(tag=0): INIT[flgs=0]", "SCTP"),
        ("+0 < udplite(1000, 0)", "UDP-Lite"),
    ] {
        assert_eq!(reasons(&format!("{BEGIN}{data}{line}\n")), [feature], "{line}");
    }
    let unchecked = "+0 > P. 1:1001(1000) ack 1 <nocheck>\n+0 < . 1:1(0) ack 1001 win 9 <nop, nocheck>\n";
    assert_eq!(run(&format!("{data}{unchecked}")).outcome, Outcome::Passed);
    let freebsd = BEGIN.replace("sackOK", "sackOK, eol, eol");
    assert_eq!(reasons(&format!("{freebsd}{data}")), ["another system (FreeBSD's options of a SYN)"]);
}

/// RFC 9293, section 3.10.7.4: an ACK below SND.UNA can be ignored. RFC 5681, section 2: it is no duplicate ACK, three of
/// which would begin a fast retransmit without SACK.
#[test]
fn an_ack_below_the_first_byte_is_ignored() {
    let rest = "
+0 write(4, ..., 30000) = 30000
+0 > . 1:10001(10000) ack 1
+.1 < . 1:1(0) ack 0 win 65535
+0 < . 1:1(0) win 65535
+0 < . 1:1(0) ack 0 win 65535
+0 < . 1:1(0) ack 2001 win 65535
+0 > . 10001:14001(4000) ack 1
";
    let text = format!("{BEGIN}{rest}").replace(",sackOK", "");
    assert_eq!(run_script(&text).unwrap().outcome, Outcome::Passed);
}

#[test]
fn a_script_about_other_features_names_them() {
    let text = "
--ip_version=ipv6
`sysctl -q net.ipv4.tcp_thin_linear_timeouts=1`
0 socket(..., SOCK_STREAM, IPPROTO_MPTCP) = 3
+0 sendto(3, ..., 100, MSG_FASTOPEN, ..., ...) = 100
+0 > S 0:100(100) <mss 1460,FO>
";
    let expected = ["IPv6 only", "sysctl tcp_thin_linear_timeouts=1", "MPTCP", "Fast Open"];
    assert_eq!(reasons(text), expected);
}

/// A script fails or passes for its own reasons, not for those of its environment.
#[test]
fn sysctls_that_have_no_effect_on_a_sender_are_accepted() {
    let text = format!(
        "`sysctl -q net.ipv4.tcp_rmem=\"4096 540000 1\" # a remark\nethtool -K tun0 tso off`\n{BEGIN}+0 write(4, ..., 1000) = 1000\n"
    );
    assert_eq!(run_script(&text).unwrap().outcome, Outcome::Passed);
}

#[test]
fn faults_have_line_and_column() {
    let fault = |text: &str| run_script(text).unwrap_err().to_string();
    assert_eq!(fault("0 socket(..., SOCK_STREAM = 3\n"), "line 1, column 27: found '= 3', expected ',' or ')'");
    assert_eq!(
        fault("0 socket(...) = 3\n+0 > . 1:1001(999) ack 1\n"),
        "line 2, column 20: found 'ack 1', expected a payload of last minus first sequence number, 16 bits"
    );
    assert_eq!(
        fault("0 socket(...) = 3\n+0 < S 0:0(0) win 1 <mss>\n"),
        "line 2, column 25: found '>', expected a number of 16 bits"
    );
    assert_eq!(
        fault(&format!("0 socket({}", "[".repeat(100_000))),
        "line 1, column 30: found '[[[[[[[[[[[[[[[[[[[[', expected fewer levels of brackets"
    );
    assert_eq!(
        fault("nonsense\n"),
        "line 1, column 1: found 'nonsense', expected an event: a time, then a packet, a system call, `…` or %{…}%"
    );
}

proptest! {
    /// Any text gives a report or a fault, in finite time.
    #[test]
    fn no_text_stops_the_interpreter(text in "(?s)[ -~\n]{0,200}") {
        let _ = run_script(&text);
    }

    /// Any events of these kinds give a report or a fault as well.
    #[test]
    fn no_order_of_events_stops_the_interpreter(
        events in prop::collection::vec(
            prop_oneof![
                (0u32..40).prop_map(|segments| format!("+.01 < . 1:1(0) ack {} win 65535", 1 + 1000 * segments)),
                (0u32..40, 1u32..4).prop_map(|(from, count)| format!(
                    "+.01 < . 1:1(0) ack 1 win 100 <sack {}:{}>", 1 + 1000 * from, 1 + 1000 * (from + count)
                )),
                (1u32..30_000).prop_map(|bytes| format!("+0 write(4, ..., {bytes}) = {bytes}")),
                (0u32..30).prop_map(|number| format!("* > . {0}:{1}(1000) ack 1", 1 + 1000 * number, 1001 + 1000 * number)),
                Just("+0 close(4) = 0".to_owned()),
                Just("+.5 < F. 1:1(0) ack 1 win 0".to_owned()),
                Just("+2 %{ pass }%".to_owned()),
            ],
            1..20,
        ),
    ) {
        let _ = run_script(&format!("{BEGIN}+0 write(4, ..., 9000) = 9000\n{}\n", events.join("\n")));
    }
}
