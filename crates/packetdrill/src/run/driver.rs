//! The loop over the events, and the phases of a connection.

use std::collections::VecDeque;

use cwndlab_units::{Bytes, Duration, Time};

use super::connection::{since_start, Connection, START};
use super::expect::difference;
use super::info::values;
use super::opening::{Client, Context, Server, FIRST_BYTE};
use super::timestamps::Timestamps;
use super::wire::{describe, Sent};
use crate::commands;
use crate::report::{Code, Failure, Outcome, Reason, Report};
use crate::script::{Action, Call, Event, EventTime, Expression, Packet, Script, TcpOption};
use crate::settings::Settings;

/// The part of the time since the last event by which an event may be early or late (packetdrill, config.c: 12.5 %).
const TOLERANCE_SHARE: u64 = 8;
/// How long a packet with the time `*` is awaited.
const PATIENCE: Duration = Duration::from_secs(3600);
/// How long a packet is awaited that was not sent in time, to say when it is.
const LATER: Duration = Duration::from_secs(120);
/// Packets that are searched for one that was expected.
const MOST_LATER: usize = 1000;
/// The time that an event takes. It orders what a script does at the same time, as the processing time does in
/// packetdrill.
const EVENT: Duration = Duration::from_micros(1);
/// Why a script with both kinds of SYNs ends.
const RESET: &str = "reset of a connection";

/// Why the events end early.
enum Stop {
    Failed { expected: String, got: String },
    NotApplicable(&'static str),
}

/// The phases of the connection.
enum Phase {
    Closed,
    /// Our SYN was sent.
    SynSent(Client),
    /// The peer's SYN was answered.
    SynReceived(Server),
    Established(Box<Connection>),
}

/// The state of a run.
struct Driver {
    settings: Settings,
    now: Time,
    phase: Phase,
    /// The packets of the handshake that no event has taken yet; later ones are in the connection.
    queue: VecDeque<Sent>,
    ts_recent: Option<u64>,
    timestamps: Timestamps,
    /// The highest acknowledgement of the peer's data that an event took.
    acknowledged: u64,
    code: Vec<Code>,
}

/// Runs a script that is applicable.
pub(crate) fn run(script: &Script, settings: Settings) -> Report {
    let mut driver = Driver {
        settings,
        now: START,
        phase: Phase::Closed,
        queue: VecDeque::new(),
        ts_recent: None,
        timestamps: Timestamps::default(),
        acknowledged: FIRST_BYTE,
        code: Vec::new(),
    };
    for event in &script.events {
        let line = event.line;
        if let Err(stop) = driver.step(event) {
            let outcome = match stop {
                Stop::Failed { expected, got } => {
                    Outcome::Failed(Failure { line, time_ns: since_start(driver.now).as_nanos(), expected, got })
                }
                Stop::NotApplicable(feature) => {
                    Outcome::NotApplicable { reasons: vec![Reason { line, feature: feature.to_owned() }] }
                }
            };
            return Report { outcome, code: driver.code };
        }
    }
    Report { outcome: Outcome::Passed, code: driver.code }
}

impl Driver {
    fn step(&mut self, event: &Event) -> Result<(), Stop> {
        if let Action::Outbound(packet) = &event.action {
            return self.expect(event.time, packet);
        }
        self.advance(self.times(event.time).0);
        let ended = self.act(event);
        self.now += EVENT;
        ended
    }

    /// Carries out an event other than the expectation of a packet.
    fn act(&mut self, event: &Event) -> Result<(), Stop> {
        match &event.action {
            Action::Inbound(packet) => self.receive(packet),
            Action::Call(call) => self.call(call),
            Action::Code(text) => {
                self.collect(event.line, text);
                Ok(())
            }
            Action::Command(command) => {
                commands::apply(command, &mut self.settings);
                Ok(())
            }
            Action::Outbound(_) => unreachable!("step handles it"),
        }
    }

    /// The first and the last time of an event.
    fn times(&self, time: EventTime) -> (Time, Time) {
        match time {
            EventTime::Any => (self.now, self.now + PATIENCE),
            EventTime::Absolute(from, to) => (START + from, START + to),
            EventTime::Relative(from, to) => (self.now + from, self.now + to),
        }
    }

    fn connection(&mut self) -> Option<&mut Connection> {
        match &mut self.phase {
            Phase::Established(connection) => Some(connection),
            _ => None,
        }
    }

    fn queue(&mut self) -> &mut VecDeque<Sent> {
        match &mut self.phase {
            Phase::Established(connection) => &mut connection.wire.queue,
            _ => &mut self.queue,
        }
    }

    /// When the next timer expires; `Time::MAX` if none runs.
    fn next_timer(&self) -> Time {
        match &self.phase {
            Phase::Closed => Time::MAX,
            Phase::SynSent(client) => client.timer,
            Phase::SynReceived(server) => server.timer,
            Phase::Established(connection) => connection.next_timer(),
        }
    }

    /// Handles the next timer.
    fn fire_timer(&mut self) {
        match &mut self.phase {
            Phase::Closed => {}
            Phase::SynSent(client) => client.repeat(&self.settings, &mut self.queue),
            Phase::SynReceived(server) => server.repeat(&self.settings, &mut self.queue),
            Phase::Established(connection) => connection.fire_timer(),
        }
    }

    /// Advances to `until`; timers expire.
    fn advance(&mut self, until: Time) {
        while self.next_timer() < until {
            self.fire_timer();
        }
        self.now = self.now.max(until);
    }

    /// Waits for a packet until `deadline`; timers expire.
    fn next_packet(&mut self, deadline: Time) -> Option<Sent> {
        loop {
            if let Some(sent) = self.queue().pop_front() {
                self.now = self.now.max(sent.at);
                return Some(sent);
            }
            if self.next_timer() > deadline {
                return None;
            }
            self.fire_timer();
        }
    }

    /// Takes the packets that make up an expected one, and compares them with it.
    fn expect(&mut self, time: EventTime, packet: &Packet) -> Result<(), Stop> {
        let (from, to) = self.times(time);
        let tolerance = self.settings.tolerance.max(from.saturating_since(self.now) / TOLERANCE_SHARE);
        let expected = || format!("{}{}", describe(packet), window_of(time, from, to));
        let deadline = to + tolerance;
        let Some(mut sent) = self.next_expected(packet, deadline) else {
            let later = self.sent_later(packet, deadline);
            let got = format!("no packet until {:.6} s{later}", since_start(deadline).as_secs());
            return Err(Stop::Failed { expected: expected(), got });
        };
        while sent.len < packet.len {
            let follows = |next: &Sent| next.seq == sent.seq + sent.len && next.len > 0;
            if self.queue().front().is_some_and(|next| !follows(next)) {
                break;
            }
            let Some(next) = self.next_packet(deadline) else { break };
            if !follows(&next) {
                break;
            }
            sent.append(&next);
        }
        let negotiated = self.connection().map(|connection| *connection.negotiated());
        if let Some(got) = difference(&sent, packet, negotiated.as_ref()) {
            let later = self.sent_later(packet, deadline);
            return Err(Stop::Failed { expected: expected(), got: format!("{got}{later}") });
        }
        let early = sent.at + tolerance < from;
        if early && self.acknowledges(&sent) {
            return Err(Stop::NotApplicable("receiver-side check (a delayed ACK)"));
        }
        if !matches!(time, EventTime::Any) && (early || sent.at > deadline) {
            return Err(Stop::Failed { expected: expected(), got: describe_time(&sent) });
        }
        self.acknowledged = self.acknowledged.max(sent.ack.unwrap_or(0));
        self.record_timestamp(&sent, packet)
    }

    /// Whether a packet acknowledges data of the peer for the first time, and does nothing else.
    fn acknowledges(&self, sent: &Sent) -> bool {
        sent.is_pure_ack() && sent.ack.is_some_and(|ack| ack > self.acknowledged)
    }

    /// The next packet. A receiver may delay an ACK and send it with data, or with the next ACK (RFC 9293, section
    /// 3.8.6.3), so that an ACK of the peer's data is left out where the script expects a packet with a later or the same
    /// acknowledgement in its place.
    fn next_expected(&mut self, packet: &Packet, deadline: Time) -> Option<Sent> {
        loop {
            let sent = self.next_packet(deadline)?;
            let same = packet.len == 0 && !packet.has('F') && packet.ack == sent.ack;
            if same || !self.acknowledges(&sent) || packet.ack < sent.ack {
                return Some(sent);
            }
        }
    }

    /// When the sender sends a packet that a script expected before: text that follows the difference.
    fn sent_later(&mut self, packet: &Packet, deadline: Time) -> String {
        let negotiated = self.connection().map(|connection| *connection.negotiated());
        let failed_at = self.now;
        let mut first = None;
        for _ in 0..MOST_LATER {
            let Some(sent) = self.next_packet(deadline + LATER) else { break };
            if difference(&sent, packet, negotiated.as_ref()).is_none() {
                self.now = failed_at;
                return format!("; it is sent at {:.6} s", since_start(sent.at).as_secs());
            }
            first = first.or(Some(describe_time(&sent)));
        }
        self.now = failed_at;
        first.map_or_else(|| "; nothing follows".to_owned(), |first| format!("; next is {first}"))
    }

    fn record_timestamp(&mut self, sent: &Sent, packet: &Packet) -> Result<(), Stop> {
        for option in packet.options() {
            if let TcpOption::Timestamps(value, _) = option {
                let Settings { timestamp_tick, tolerance, .. } = self.settings;
                if let Some(ours) = self.timestamps.record(*value, sent.at, timestamp_tick, tolerance) {
                    return Err(Stop::Failed { expected: format!("TS val {value}"), got: format!("TS val {ours}") });
                }
            }
        }
        Ok(())
    }

    fn receive(&mut self, packet: &Packet) -> Result<(), Stop> {
        if packet.has('R') {
            return Ok(()); // the last event: `applicability` has examined it
        }
        let echo = packet.options().find_map(|option| match option {
            TcpOption::Timestamps(value, echo) => {
                self.ts_recent = Some(*value);
                self.timestamps.time_of(*echo)
            }
            _ => None,
        });
        if self.open(packet)? {
            return Ok(());
        }
        let now = self.now;
        let ts_recent = self.ts_recent;
        let Some(connection) = self.connection() else { return Ok(()) };
        if connection.owes_echo(packet) {
            return Err(Stop::NotApplicable("receiver-side check (echo of classic ECN)"));
        }
        connection.wire.ts_recent = ts_recent;
        connection
            .receive(now, packet, echo)
            .map_err(|_| Stop::NotApplicable("acknowledges part of a segment: the transport counts whole segments"))
    }

    /// Handles a packet of the handshake. Returns whether nothing of it remains for the connection.
    fn open(&mut self, packet: &Packet) -> Result<bool, Stop> {
        let context = Context { settings: &self.settings, now: self.now, ts_recent: self.ts_recent };
        let is_syn = packet.has('S') && !packet.has('.');
        let (phase, is_done) = match std::mem::replace(&mut self.phase, Phase::Closed) {
            Phase::Closed if is_syn => match Server::open(packet, &mut self.queue, &context) {
                Some(server) => (Phase::SynReceived(server), true),
                None => return Err(Stop::NotApplicable(RESET)),
            },
            Phase::SynSent(client) if packet.has('S') && packet.has('.') => {
                let connection = client.establish(packet, std::mem::take(&mut self.queue), &context);
                (Phase::Established(Box::new(connection)), true)
            }
            Phase::SynReceived(mut server) if is_syn => {
                if !server.on_syn(packet, &mut self.queue, &context) {
                    return Err(Stop::NotApplicable(RESET));
                }
                (Phase::SynReceived(server), true)
            }
            Phase::SynReceived(server) => {
                let mut connection = server.establish(packet, std::mem::take(&mut self.queue), &context);
                let is_pure = packet.len == 0 && !packet.has('F');
                if is_pure {
                    connection.count(packet);
                }
                (Phase::Established(Box::new(connection)), is_pure)
            }
            other => (other, false),
        };
        self.phase = phase;
        Ok(is_done)
    }

    fn call(&mut self, call: &Call) -> Result<(), Stop> {
        let now = self.now;
        match call.name.as_str() {
            "connect" => self.phase = Phase::SynSent(Client::open(now, &self.settings, &mut self.queue)),
            "write" | "send" | "sendto" | "sendmsg" | "writev" | "sendfile" => return self.write(call),
            "setsockopt" => self.set_option(call),
            "close" => {
                if let Some(connection) = self.connection() {
                    connection.close(now);
                }
            }
            "shutdown" if call.arguments.get(1) != Some(&Expression::Word("SHUT_RD".to_owned())) => {
                if let Some(connection) = self.connection() {
                    connection.close(now);
                }
            }
            "ioctl" => return self.queue_size(call),
            _ => {} // they have no effect on the sender
        }
        Ok(())
    }

    fn write(&mut self, call: &Call) -> Result<(), Stop> {
        let now = self.now;
        let result = call.result.integer().unwrap_or_default();
        let failed = |got: &str| Stop::Failed {
            expected: format!("{} = {result} {}", call.name, call.errno),
            got: got.to_owned(),
        };
        let Some(connection) = self.connection() else { return Err(failed("the connection is not established")) };
        if connection.is_closed() != (call.errno == "EPIPE") {
            return Err(failed(if connection.is_closed() { "-1 EPIPE" } else { "all bytes are written" }));
        }
        if let Ok(bytes) = u64::try_from(result) {
            connection.write(now, Bytes(bytes));
        }
        Ok(())
    }

    fn set_option(&mut self, call: &Call) {
        let [_, _, Expression::Word(option), value, ..] = call.arguments.as_slice() else { return };
        let now = self.now;
        match option.as_str() {
            "TCP_NODELAY" => {
                self.settings.nagle = value.value() == Some(0);
                let nagle = self.settings.nagle;
                if let Some(connection) = self.connection() {
                    connection.set_nagle(now, nagle);
                }
            }
            "TCP_MAXSEG" => self.settings.max_segment = value.value().map(i64::cast_unsigned),
            _ => {}
        }
    }

    /// `ioctl` with `SIOCOUTQ` or `SIOCOUTQNSD`: unacknowledged, or unsent bytes.
    fn queue_size(&mut self, call: &Call) -> Result<(), Stop> {
        let [_, Expression::Word(request), size, ..] = call.arguments.as_slice() else { return Ok(()) };
        let Some((unacknowledged, unsent)) = self.connection().map(|connection| connection.unacknowledged()) else {
            return Ok(());
        };
        let actual = match request.as_str() {
            "SIOCOUTQ" => unacknowledged + unsent,
            "SIOCOUTQNSD" => unsent,
            _ => return Ok(()),
        };
        match size.value() {
            Some(expected) if expected.cast_unsigned() != actual => {
                Err(Stop::Failed { expected: format!("{request} = {expected}"), got: actual.to_string() })
            }
            _ => Ok(()),
        }
    }

    fn collect(&mut self, line: u32, text: &str) {
        let time_ns = since_start(self.now).as_nanos();
        let values = match &self.phase {
            Phase::Established(connection) => values(connection),
            _ => std::collections::BTreeMap::new(),
        };
        self.code.push(Code { line, time_ns, text: text.to_owned(), values });
    }
}

/// The expected time as text.
fn window_of(time: EventTime, from: Time, to: Time) -> String {
    let seconds = |at: Time| since_start(at).as_secs();
    match time {
        EventTime::Any => String::new(),
        _ if from == to => format!(" at {:.6} s", seconds(from)),
        _ => format!(" between {:.6} and {:.6} s", seconds(from), seconds(to)),
    }
}

fn describe_time(sent: &Sent) -> String {
    format!("{sent} at {:.6} s", since_start(sent.at).as_secs())
}
