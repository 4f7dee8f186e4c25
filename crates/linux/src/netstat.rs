//! TCP counters of a network namespace: the `TcpExt` lines of `/proc/net/netstat` (proc_pid_net(5)).

/// The counters of TCP senders (`include/uapi/linux/snmp.h`, `net/ipv4/proc.c`).
const SENDER_COUNTERS: &[&str] = &[
    "TCPSackRecovery",
    "TCPRenoRecovery",
    "TCPTimeouts",
    "TCPSynRetrans",
    "TCPLossProbes",
    "TCPLostRetransmit",
    "TCPFullUndo",
    "TCPPartialUndo",
    "TCPDSACKUndo",
    "TCPLossUndo",
    "TCPDSACKRecv",
    "TCPHystartTrainDetect",
    "TCPHystartDelayDetect",
];

/// The sender counters of the calling thread's network namespace, under the kernel's names.
#[must_use]
pub fn sender_counters() -> Vec<(String, u64)> {
    parse(&std::fs::read_to_string("/proc/thread-self/net/netstat").unwrap_or_default())
}

/// Parses a line of names and a line of values, both with the prefix `TcpExt:`.
fn parse(text: &str) -> Vec<(String, u64)> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("TcpExt:"));
    let names = lines.next().unwrap_or_default();
    let values = lines.next().unwrap_or_default();
    names
        .split_whitespace()
        .zip(values.split_whitespace())
        .filter(|(name, _)| SENDER_COUNTERS.contains(name))
        .filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The form that `netstat_seq_show` of `net/ipv4/proc.c` prints.
    #[test]
    fn counters_are_paired_with_their_names() {
        let text = "TcpExt: SyncookiesSent TCPTimeouts TCPLossProbes\nTcpExt: 7 3 5\nIpExt: InOctets\nIpExt: 9\n";
        assert_eq!(parse(text), [("TCPTimeouts".to_owned(), 3), ("TCPLossProbes".to_owned(), 5)]);
        assert_eq!(parse(""), []);
    }
}
