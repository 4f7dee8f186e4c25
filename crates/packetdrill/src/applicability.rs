//! Whether a script is about a data sender. This is decided from its text alone, before it runs.

use crate::commands;
use crate::report::Reason;
use crate::run::{algorithm_text, FIELDS};
use crate::script::{Action, Call, Event, Expression, Packet, Protocol, Script, TcpOption};
use crate::settings::{apply_option, Settings};

/// System calls without effect on a sender, and those that the interpreter carries out.
const CALLS: [&str; 18] = [
    "socket",
    "bind",
    "listen",
    "accept",
    "connect",
    "write",
    "send",
    "sendto",
    "sendmsg",
    "writev",
    "sendfile",
    "open",
    "close",
    "shutdown",
    "fcntl",
    "ioctl",
    "setsockopt",
    "getsockopt",
];
/// Calls that read.
const READS: [&str; 4] = ["read", "recv", "recvfrom", "readv"];
/// Socket options without effect on a sender whose buffer does not fill, and those that the interpreter applies.
const SOCKET_OPTIONS: [&str; 17] = [
    "SO_REUSEADDR",
    "SO_SNDBUF",
    "SO_RCVBUF",
    "SO_ERROR",
    "SO_MARK",
    "SO_PRIORITY",
    "TCP_NODELAY",
    "TCP_MAXSEG",
    "TCP_QUICKACK",
    "TCP_NOTSENT_LOWAT",
    "TCP_WINDOW_CLAMP",
    "TCP_DEFER_ACCEPT",
    "TCP_SYNCNT",
    "IP_TOS",
    "IP_MTU_DISCOVER",
    "IP_FREEBIND",
    "IP_RECVERR",
];
/// Constants of calls, and the features that they belong to.
const FEATURES: [(&str, &str); 22] = [
    ("MSG_FASTOPEN", "Fast Open"),
    ("TCP_FASTOPEN", "Fast Open"),
    ("TCP_FASTOPEN_CONNECT", "Fast Open"),
    ("TCP_FASTOPEN_KEY", "Fast Open"),
    ("TCP_FASTOPEN_NO_COOKIE", "Fast Open"),
    ("MSG_ZEROCOPY", "zero-copy"),
    ("SO_ZEROCOPY", "zero-copy"),
    ("SO_TIMESTAMPING", "timestamps of transmissions for the application"),
    ("MSG_ERRQUEUE", "error queue"),
    ("MSG_EOR", "record boundaries (MSG_EOR)"),
    ("MSG_MORE", "corking (MSG_MORE)"),
    ("TCP_CORK", "corking (TCP_CORK)"),
    ("TCP_MD5SIG", "MD5"),
    ("TCP_ULP", "TLS"),
    ("TCP_INQ", "receiver-side check (TCP_INQ)"),
    ("TCP_USER_TIMEOUT", "end of a silent connection (TCP_USER_TIMEOUT)"),
    ("SO_KEEPALIVE", "keep-alive"),
    ("TCP_KEEPIDLE", "keep-alive"),
    ("TCP_CONGESTION", "change of the algorithm by a socket option"),
    ("IPPROTO_UDP", "UDP"),
    ("IPPROTO_SCTP", "SCTP"),
    ("IPPROTO_MPTCP", "MPTCP"),
];

/// Linux pads the options of a SYN with `nop`, FreeBSD with `eol`.
const FREEBSD: &str = "another system (FreeBSD's options of a SYN)";

/// The reasons for which a script is not applicable, one per feature.
#[derive(Default)]
struct Reasons(Vec<Reason>);

impl Reasons {
    fn add(&mut self, line: u32, features: impl IntoIterator<Item = String>) {
        for feature in features {
            if !self.0.iter().any(|one| one.feature == feature) {
                self.0.push(Reason { line, feature });
            }
        }
    }
}

/// The settings of a script, and the reasons for which it is not applicable.
pub(crate) fn examine(script: &Script) -> (Settings, Vec<Reason>) {
    let mut settings = Settings::default();
    let mut reasons = Reasons::default();
    for option in &script.options {
        reasons.add(option.line, apply_option(option, &mut settings));
    }
    let begins = script.events.iter().take_while(|event| matches!(event.action, Action::Command(_))).count();
    for event in &script.events[..begins] {
        if let Action::Command(command) = &event.action {
            reasons.add(event.line, commands::apply(command, &mut settings));
        }
    }
    if cwndlab_algorithms::catalogue().parse(algorithm_text(&settings.algorithm)).is_err() {
        reasons.add(1, [format!("algorithm '{}' of the kernel", settings.algorithm)]);
    }
    let mut later = settings.clone();
    let last = script.events.iter().rposition(|event| !matches!(event.action, Action::Command(_)));
    for (index, event) in script.events.iter().enumerate().skip(begins) {
        // A command at the end only restores what the script set.
        let is_cleanup = index + 1 == script.events.len();
        match &event.action {
            Action::Command(_) if is_cleanup => {}
            Action::Command(command) => {
                reasons.add(event.line, commands::apply(command, &mut later));
                reasons.add(event.line, resized(&settings, &later));
            }
            Action::Code(text) => reasons.add(event.line, unknown_fields(text)),
            Action::Call(call) => reasons.add(event.line, of_call(call)),
            // A reset at the end has no effect that the script could check.
            Action::Inbound(packet) if packet.has('R') && Some(index) == last => {}
            Action::Inbound(packet) => reasons.add(event.line, of_packet(packet, true)),
            Action::Outbound(packet) => reasons.add(event.line, of_packet(packet, false)),
        }
    }
    for (line, feature) in of_whole(script, &settings) {
        reasons.add(line, [feature]);
    }
    (settings, reasons.0)
}

/// The transport's segments have the same size throughout, which the option of Accurate ECN reduces.
fn resized(settings: &Settings, later: &Settings) -> Option<String> {
    let changed = settings.accecn.option != later.accecn.option;
    changed.then(|| "change of the segment size (tcp_ecn_option during the connection)".to_owned())
}

/// Variables `tcpi_…` of a piece of Python that the transport does not have.
fn unknown_fields(text: &str) -> impl Iterator<Item = String> + '_ {
    let words = text.split(|one: char| !(one.is_ascii_alphanumeric() || one == '_'));
    let unknown = words.filter(|word| word.starts_with("tcpi_") && !FIELDS.contains(word));
    unknown.map(|field| format!("{field}, which the transport does not have"))
}

fn of_call(call: &Call) -> Option<String> {
    let name = call.name.as_str();
    let mut feature = None;
    let mut constants = Vec::new();
    call.arguments.iter().for_each(|one| one.for_each_word(&mut |word| constants.push(word.to_owned())));
    for word in &constants {
        let found = FEATURES.iter().find(|(constant, _)| constant == word).map(|(_, feature)| (*feature).to_owned());
        feature = feature.or(found);
    }
    if feature.is_some() {
        return feature;
    }
    match name {
        "setsockopt" | "getsockopt" => {
            let Some(Expression::Word(option)) = call.arguments.get(2) else { return None };
            (!SOCKET_OPTIONS.contains(&option.as_str())).then(|| format!("socket option {option}"))
        }
        "write" | "send" | "sendto" | "sendmsg" | "writev" | "sendfile" => of_write(call),
        "poll" | "epoll_create" | "epoll_ctl" | "epoll_wait" => Some("readiness of sockets (poll, epoll)".to_owned()),
        _ if CALLS.contains(&name) || READS.contains(&name) => None,
        _ => Some(format!("system call '{name}'")),
    }
}

/// A call that writes: one that writes less than it was given, or waits, is about the memory of the socket.
fn of_write(call: &Call) -> Option<String> {
    let result = call.result.integer()?;
    if matches!(call.errno.as_str(), "" | "EPIPE") && !(result < 0 && call.errno.is_empty()) {
        let requested = match call.name.as_str() {
            "sendfile" => call.arguments.get(3)?.integer()?,
            "sendmsg" | "writev" => result,
            _ => call.arguments.get(2)?.integer()?,
        };
        let memory = call.end.is_some() || result >= 0 && result < requested;
        return memory.then(|| "memory of the socket (a write that waits or is cut short)".to_owned());
    }
    let errno = if call.errno.is_empty() { "an error" } else { &call.errno };
    Some(format!("errors of system calls ({} = {errno})", call.name))
}

fn of_packet(packet: &Packet, inbound: bool) -> Option<String> {
    match packet.protocol {
        Protocol::Tcp => {}
        Protocol::Udp => return Some("UDP".to_owned()),
        Protocol::UdpLite => return Some("UDP-Lite".to_owned()),
        Protocol::Sctp => return Some("SCTP".to_owned()),
        Protocol::Icmp => return Some("ICMP".to_owned()),
        Protocol::Encapsulated => return Some("encapsulation".to_owned()),
    }
    for option in packet.options() {
        match option {
            TcpOption::FastOpen => return Some("Fast Open".to_owned()),
            TcpOption::Md5 => return Some("MD5".to_owned()),
            TcpOption::Symbol(name) => return Some(format!("symbol {name} of the command line (-D)")),
            TcpOption::End if packet.has('S') => return Some(FREEBSD.to_owned()),
            TcpOption::Sack(_) if !inbound => return Some("receiver-side check (SACK blocks of ours)".to_owned()),
            _ => {}
        }
    }
    if packet.has('S') && packet.len > 0 {
        return Some("Fast Open".to_owned());
    }
    if !inbound && packet.dscp.is_some_and(|dscp| dscp != 0) {
        return Some("DSCP of a packet".to_owned());
    }
    if packet.has('R') {
        return Some("reset of a connection".to_owned());
    }
    if packet.urgent || packet.has('U') {
        return Some("urgent data".to_owned());
    }
    if inbound && packet.flags.is_empty() {
        return Some("receiver-side check (invalid segment)".to_owned());
    }
    if !inbound && packet.window.is_some() && !packet.has('S') {
        return Some("receiver-side check (our window)".to_owned());
    }
    None
}

/// Reasons that follow from several events.
fn of_whole(script: &Script, settings: &Settings) -> Vec<(u32, String)> {
    let mut reasons = Vec::new();
    let packets = || {
        script.events.iter().filter_map(|event| match &event.action {
            Action::Inbound(packet) => Some((event.line, packet, true)),
            Action::Outbound(packet) => Some((event.line, packet, false)),
            _ => None,
        })
    };
    let repeated = |flag: char| packets().filter(|(_, packet, inbound)| !inbound && packet.has(flag)).nth(1);
    let calls = |name: &str| {
        let is_call = |event: &&Event| matches!(&event.action, Action::Call(call) if call.name == name);
        script.events.iter().filter(is_call).count()
    };
    // A SYN with flags of ECN is answered by the transport (RFC 9768, section 3.1), and its repetitions are a part of the
    // negotiation (section 3.1.4).
    let negotiates = settings.ecn.is_accurate() || packets().any(|(_, packet, _)| packet.has('S') && packet.ace() != 0);
    if let Some((line, ..)) = repeated('S').filter(|_| !negotiates || calls("connect") + calls("accept") > 1) {
        reasons.push((line, "repeated SYN, or several connections".to_owned()));
    }
    let syn = packets().find(|(_, packet, inbound)| *inbound && packet.has('S') && !packet.has('.'));
    if let Some((line, ..)) = syn.filter(|_| calls("connect") > 0) {
        reasons.push((line, "simultaneous open, or several connections".to_owned()));
    }
    if let Some((line, ..)) = repeated('F') {
        reasons.push((line, "repetition of a FIN".to_owned()));
    }
    let writes = script.events.iter().any(|event| match &event.action {
        Action::Call(call) => {
            matches!(call.name.as_str(), "write" | "send" | "sendto" | "sendmsg" | "writev" | "sendfile")
                && call.result.integer().is_some_and(|count| count > 0)
        }
        _ => false,
    });
    if !writes && !negotiates {
        reasons.push((1, "no data is sent: handshake, end, or receiver alone".to_owned()));
    }
    let mut next = 1;
    for (line, packet, _) in packets().filter(|(_, packet, inbound)| *inbound && !packet.has('S')) {
        if packet.len > 0 && packet.seq != next {
            reasons.push((line, "receiver-side check (data out of order)".to_owned()));
            break;
        }
        next += packet.len + u64::from(packet.has('F'));
    }
    reasons
}
