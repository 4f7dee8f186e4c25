//! Accurate ECN in scripts: the handshake, what packets report, and what is no script or not applicable.

use cwndlab_packetdrill::report::{Code, Outcome, Report};
use cwndlab_packetdrill::run_script;
use proptest::prelude::*;

const SYSCTL: &str = "`sysctl -q net.ipv4.tcp_timestamps=0 net.ipv4.tcp_ecn=3`\n";
const LISTEN: &str = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 listen(3, 1) = 0\n";
const CONNECT: &str = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0...0.1 connect(3, ..., ...) = 0\n";
const WRITE: &str = "+0 accept(3, ..., ...) = 4\n+0 write(4, ..., 1000) = 1000\n";

/// ECN fields of the IP header.
const ECN: [&str; 4] = ["", "[ect0] ", "[ect1] ", "[ce] "];

fn run(rest: &str) -> Report {
    run_script(&format!("{SYSCTL}{rest}")).unwrap()
}

/// The events of a server up to the ACK of its SYN-ACK, which has these flags.
fn served(flags: &str) -> String {
    let syn = "+0 < S7 0:0(0) win 65535 <mss 1000,sackOK>\n+0 > S2. 0:0(0) ack 1 <...>\n";
    format!("{LISTEN}{syn}+.1 < {flags} 1:1(0) ack 1 win 65535\n{WRITE}")
}

fn assert_passes(rest: &str) {
    let report = run(rest);
    assert_eq!(report.outcome, Outcome::Passed, "{rest}");
}

fn reasons(rest: &str) -> Vec<String> {
    match run(rest).outcome {
        Outcome::NotApplicable { reasons } => reasons.into_iter().map(|reason| reason.feature).collect(),
        other => panic!("{other:?}"),
    }
}

fn got(rest: &str) -> String {
    match run(rest).outcome {
        Outcome::Failed(failure) => failure.got,
        other => panic!("{other:?}"),
    }
}

/// RFC 9768, table 3: Not-ECT, ECT(1), ECT(0) and CE of a SYN-ACK are 2, 3, 4 and 6 in the ACK of it, also of one that is
/// repeated; r.cep is then 5, but 6 after CE.
#[test]
fn the_ack_of_a_syn_ack_encodes_its_codepoint() {
    for (field, ace, count) in [("noecn", 2, 5), ("ect1", 3, 5), ("ect0", 4, 5), ("ce", 6, 6)] {
        let syn_ack =
            format!("+.1 < [{field}] S2. 0:0(0) ack 1 win 65535 <mss 1000>\n+0 > [ect0] {ace}. 1:1(0) ack 1\n");
        let data = format!("+0 write(3, ..., 100) = 100\n+0 > [ect0] {count}. 1:101(100) ack 1\n");
        assert_passes(&format!("{CONNECT}+0 > S7 0:0(0) <...>\n{syn_ack}{syn_ack}{data}"));
        let other = syn_ack.replace(&format!("{ace}. 1:1"), "5. 1:1");
        assert!(got(&format!("{CONNECT}+0 > S7 0:0(0) <...>\n{other}")).contains("[ect0]"), "{field}");
    }
}

/// RFC 9768, table 4: 000 ends the use of ECT and marks are ignored, 110 makes s.cep 6, and other values leave it at 5.
/// Section 3.2.2.3: SYN-ACKs are not ECN-capable, so that another field than Not-ECT ends the use of ECT, too.
#[test]
fn the_server_reads_the_ack_of_the_syn_ack() {
    for (ace, ecn, marks) in [
        (0, "noecn", 0),
        (1, "ect0", 1),
        (2, "ect0", 1),
        (3, "noecn", 1),
        (4, "noecn", 1),
        (5, "ect0", 1),
        (6, "noecn", 1),
        (7, "ect0", 1),
    ] {
        let begin = format!("{}+0 > [{ecn}] 5. 1:1001(1000) ack 1\n", served(&format!("{ace}.")));
        let report = run(&format!("{begin}+.1 < 6. 1:1(0) ack 1001 win 65535\n+0 %{{ pass }}%\n"));
        assert_eq!(report.outcome, Outcome::Passed, "{ace}");
        let [Code { values, .. }] = report.code.as_slice() else { panic!("one piece of code") };
        assert_eq!(values["tcpi_delivered_ce"], marks, "{ace}");
    }
}

/// Linux, Documentation/networking/ip-sysctl.rst, tcp_syn_linear_timeouts: timeouts of 1, 1, 1, 1, 1, 2 s and so on, and
/// tcp_syn_retries, tcp_synack_retries: six more, of which the last one leaves after 67 s, and five repetitions. SYN-ACKs wait
/// 1, 2, 4, 8 and 16 s.
#[test]
fn syns_and_syn_acks_are_repeated_as_in_linux() {
    let syns = |waits: &[u32], packet: &str| {
        let lines: Vec<String> = waits.iter().map(|wait| format!("+{wait} > {packet}\n")).collect();
        lines.concat()
    };
    let client =
        |waits| format!("{CONNECT}+0 > S7 0:0(0) <...>\n+1 > S7 0:0(0) <...>\n{}", syns(waits, "S 0:0(0) <...>"));
    assert_passes(&client(&[1, 1, 1, 1, 2, 4, 8, 16, 32]));
    assert!(got(&client(&[1, 1, 1, 1, 1])).starts_with("no packet"));
    assert!(got(&client(&[1, 1, 1, 1, 2, 4, 8, 16, 32, 64])).starts_with("no packet"));
    let first = "+0 < S7 0:0(0) win 65535 <mss 1000>\n+0 > S2. 0:0(0) ack 1 <...>\n+1 > S2. 0:0(0) ack 1 <...>\n";
    let server = |waits| format!("{LISTEN}{first}{}", syns(waits, "S. 0:0(0) ack 1 <...>"));
    assert_passes(&server(&[2, 4, 8, 16]));
    assert!(got(&server(&[2, 4, 8, 16, 32])).starts_with("no packet"));
}

/// RFC 9768, section 3.2.2.4 and note 1 of table 4: after 000 the server sends no ECT, and still feeds back marks.
#[test]
fn an_end_that_stopped_ect_still_feeds_back() {
    let begin = format!("{}+0 > [noecn] 5. 1:1001(1000) ack 1\n", served("0."));
    assert_passes(&format!(
        "{begin}+.1 < [ce] 5. 1:101(100) ack 1001 win 65535\n+0 > [noecn] 6. 1001:1001(0) ack 101\n"
    ));
}

/// RFC 9768, section 3.2.3.2.1. The first option comes with the ACK of the data, so that only then ours has one, and its
/// counters are those of a first option.
#[test]
fn an_option_on_a_syn_is_ignored() {
    let option = "ECN e0b 0 ceb 77 e1b 0";
    let begin = served("2.").replace("mss 1000,sackOK", &format!("mss 1000,sackOK,{option}"));
    let rest = "+0 > 5. 1:1001(1000) ack 1\n+.1 < 5. 1:1(0) ack 1001 win 65535 <ECN e0b 1001 ceb 0 e1b 1>\n";
    let more = "+0 write(4, ..., 1000) = 1000\n+0 > 5. 1001:2001(1000) ack 1 <ECN e1b 1 ceb 0 e0b 1>\n+0 %{ pass }%\n";
    let report = run(&format!("{begin}{rest}{more}"));
    assert_eq!(report.outcome, Outcome::Passed);
    assert_eq!(report.code[0].values["tcpi_delivered_ce_bytes"], 0);
    assert_eq!(report.code[0].values["tcpi_delivered_e0_bytes"], 1000);
}

/// RFC 9768, section 3.2.2.5.1: three marked ACKs are acknowledged, and the ACK has no SACK blocks.
#[test]
fn three_marked_acks_are_acknowledged() {
    let begin = format!("{}+0 > 5. 1:1001(1000) ack 1\n", served("2."));
    let marked = "+.001 < [ce] 5. 1:1(0) ack 1 win 65535\n";
    assert_passes(&format!("{begin}{}+0 > [ect0] 0. 1001:1001(0) ack 1\n", marked.repeat(3)));
    let two = got(&format!("{begin}{}+0 > [ect0] 7. 1001:1001(0) ack 1\n", marked.repeat(2)));
    assert!(two.starts_with("no packet"), "{two}");
}

/// RFC 9331, section 4.1: packets of L4S carry ECT(1); others ECT(0), also those without data (Linux, `tcp_ecn_send`).
#[test]
fn algorithms_of_l4s_send_ect1() {
    for (algorithm, field) in [("prague", "ect1"), ("reno", "ect0"), ("dctcp", "ect0")] {
        let begin = format!("`sysctl -q net.ipv4.tcp_congestion_control={algorithm}`\n{}", served("2."));
        let data = format!("+0 > [{field}] 5. 1:1001(1000) ack 1\n");
        let ack = format!("+.1 < 5. 1:101(100) ack 1001 win 65535\n+0 > [{field}] 5. 1001:1001(0) ack 101\n");
        assert_passes(&format!("{begin}{data}{ack}"));
    }
}

/// Packetdrill, tcp_packet.c: a digit stands for the letters A (4), W (2) and E (1).
#[test]
fn digits_and_letters_are_the_same_flags() {
    let data = "+0 > 5. 1:1001(1000) ack 1\n";
    for (digit, letters) in [("S7", "SEWA"), ("S2.", "SW."), ("5.", "EA."), ("2.", ".W")] {
        assert_passes(&format!("{}{data}", served("2.")).replace(&format!(" {digit} "), &format!(" {letters} ")));
    }
    let got = got(&format!("{}+0 > 6. 1:1001(1000) ack 1\n", served("2.")));
    assert!(got.starts_with("[ect0] AE. 1:1001(1000) ack 1 at "), "{got}");
}

/// The option is compared by its bytes: order, number of counters, and values.
#[test]
fn the_option_of_a_packet_is_compared() {
    let begin = served("2.").replace("ack 1 win 65535\n+0 accept", "ack 1 win 65535 <ECN e1b 1>\n+0 accept");
    let sends = |option: &str| format!("{begin}+0 > 5. 1:989(988) ack 1{option}\n");
    assert_passes(&sends(" <ECN e1b 1 ceb 0 e0b 1,nop>"));
    for other in ["", " <ECN e0b 1 ceb 0 e1b 1>", " <ECN e1b 1 ceb 0>", " <ECN e1b 1 ceb 0 e0b 2>"] {
        assert!(got(&sends(other)).contains("with ECN e1b 1 ceb 0 e0b 1"), "{other}");
    }
}

#[test]
fn faults_of_flags_and_options_have_line_and_column() {
    let fault = |packet: &str| run_script(&format!("0 socket(...) = 3\n+0 < {packet}\n")).unwrap_err().to_string();
    for flags in ["8.", "55.", "E5."] {
        assert!(fault(&format!("{flags} 1:1(0) ack 1")).starts_with("line 2, column 6: "), "{flags}");
    }
    assert!(fault(". 1:1(0) ack 1 win 9 <ECN ceb 1>").ends_with("expected the order 'e0b ceb e1b' or 'e1b ceb e0b'"));
    assert!(fault(". 1:1(0) ack 1 win 9 <ECN e0b 16777216>").ends_with("expected a number of 24 bits"));
}

/// RFC 9768, section 3.2.2.2: the mark of a SYN does not count, and only the ACK of a SYN-ACK has the encoding of table 3.
/// RFC 9293, section 3.10.7.4: a SYN in an established connection is answered by an ACK.
#[test]
fn a_syn_in_the_connection_is_not_counted() {
    let begin = format!("{}+0 > 5. 1:1001(1000) ack 1\n", served("2."));
    assert_passes(&format!("{begin}+.01 < [ce] S7 0:0(0) win 65535 <mss 1000>\n+0 > [ect0] 5. 1001:1001(0) ack 1\n"));
}

/// The options of Linux that set Accurate ECN; other values are those of another kernel.
#[test]
fn unknown_values_of_the_sysctls_are_named() {
    for setting in ["tcp_ecn=6", "tcp_ecn_option=4", "tcp_ecn_fallback=2", "tcp_ecn_option_beacon=x"] {
        let text = format!(
            "`sysctl -q net.ipv4.{setting}`\n{LISTEN}+0 < S 0:0(0) win 9 <mss 9>\n+0 > S. 0:0(0) ack 1 <...>\n"
        );
        match run_script(&text).unwrap().outcome {
            Outcome::NotApplicable { reasons } => assert_eq!(reasons[0].feature, format!("sysctl {setting}")),
            other => panic!("{other:?}"),
        }
    }
}

/// RFC 3168, section 6.1.3: a receiver echoes a mark. The simulated one does not.
#[test]
fn the_echo_of_classic_ecn_is_not_applicable() {
    let begin = served("2.").replace("S7", "SEW").replace("S2.", "SE.").replace("2. 1:1", ". 1:1");
    let rest =
        "+0 > [ect0] . 1:1001(1000) ack 1\n+.1 < [ce] . 1:101(100) ack 1001 win 65535\n+0 > E. 1001:1001(0) ack 101\n";
    assert_eq!(reasons(&format!("{begin}{rest}")), ["receiver-side check (echo of classic ECN)"]);
}

proptest! {
    /// Any order of these packets gives a report, in finite time.
    #[test]
    fn no_order_of_marked_packets_stops_the_interpreter(
        client in any::<bool>(),
        events in prop::collection::vec(
            prop_oneof![
                (0u8..8, 0usize..4).prop_map(|(ace, ecn)| format!("+.3 < {}S{ace} 0:0(0) win 999 <mss 1000>", ECN[ecn])),
                (0u8..8, 0usize..4, 0u32..9).prop_map(|(ace, ecn, value)| format!(
                    "+.3 < {}S{ace}. 0:0(0) ack 1 win 999 <mss 1000,ECN e1b {value} ceb {value}>", ECN[ecn]
                )),
                (0u8..8, 0usize..4, 0u32..30).prop_map(|(ace, ecn, segments)| format!(
                    "+.1 < {}{ace}. 1:1(0) ack {} win 999", ECN[ecn], 1 + 988 * segments
                )),
                (0u8..8, 0u32..30, 0u32..1 << 24).prop_map(|(ace, segments, value)| format!(
                    "+.1 < {ace}. 1:1(0) ack {} win 999 <ECN e0b {value} ceb {value} e1b {value}>", 1 + 988 * segments
                )),
                (1u32..30_000).prop_map(|bytes| format!("+0 write(3, ..., {bytes}) = {bytes}")),
                Just("* > 5. 1:1(0) ack 1".to_owned()),
                Just("+9 %{ pass }%".to_owned()),
                Just("+.5 < [ce] F5. 1:1(0) ack 1 win 0".to_owned()),
            ],
            1..20,
        ),
    ) {
        let begin = if client { CONNECT } else { LISTEN };
        let _ = run(&format!("{begin}{}\n", events.join("\n")));
    }
}

#[test]
fn what_the_handshake_lacks_is_named() {
    let open = format!("{CONNECT}+0 > S7 0:0(0) <...>\n+.1 < S7 0:0(0) win 65535 <mss 1000>\n");
    assert_eq!(reasons(&open), ["simultaneous open, or several connections"]);
    let both =
        format!("{LISTEN}+0 < S7 0:0(0) win 9 <mss 9>\n+0 > S2. 0:0(0) ack 1 <...>\n+.1 < SEW 0:0(0) win 9 <mss 9>\n");
    assert_eq!(reasons(&both), ["reset of a connection"]);
    let changed = format!("{}+0 `sysctl -q net.ipv4.tcp_ecn_option=0`\n+0 > 5. 1:1001(1000) ack 1\n", served("2."));
    assert_eq!(reasons(&changed), ["change of the segment size (tcp_ecn_option during the connection)"]);
    assert_passes(&format!("{}+0 > 5. 1:1001(1000) ack 1\n+.1 < R. 1:1(0) ack 1001 win 9\n", served("2.")));
}
