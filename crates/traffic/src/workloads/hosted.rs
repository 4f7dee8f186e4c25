//! A transfer by the protocol stack of somebody else, which runs in virtual time in processes of its own: one for each
//! end.

use std::collections::VecDeque;
use std::mem;

use cwndlab_config::{fields, Faults, Positive, Reader, Table};
use cwndlab_hosted::frame::{Call, Item, Items, Role, Start};
use cwndlab_hosted::process::StackProcess;
use cwndlab_hosted::report::StackReport;
use cwndlab_network::random::Purpose;
use cwndlab_units::{Bytes, Duration, Fault, Rate, Time};

use crate::action;
use crate::application::{Application, ApplicationKind, OfferedLoad};
use crate::byte_source::{ByteSource, Drained, WritePattern};
use crate::configuration::{Configuration, Transport};
use crate::dialogue::{End, Message};
use crate::distribution_fields::{PositiveTimes, Times};
use crate::exchange::{Action, DatagramExchange, Exchange};
use crate::flow_context::FlowContext;
use crate::{NEVER, UDP_HEADER};

/// The declaration of the workload.
pub static SPEC: Table = Table::new(
    "hosted",
    "A transfer by the protocol stack of somebody else, such as quinn, which runs in processes of its own in virtual time (docs/host.md). The sender opens the connection and sends; the stacks exchange datagrams (UDP).",
    &[Config::FIELDS],
)
.class("Hosted");

fields! {
    /// The configuration of the workload.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// stack of the sender: its program is `cwndlab-stack-NAME`, in a folder of `CWNDLAB_STACKS` or `PATH`
        stack: String = required("'stack = \"quinn\"'"),
        /// stack of the receiver
        peer: Option<String> = absent("the sender's"),
        /// congestion control, by its name in the stack
        controller: Option<String> = absent("the stack's default"),
        /// options that only the sender's stack interprets
        options: Option<String> = absent("none"),
        /// options that only the receiver's stack interprets
        peer_options: Option<String> = absent("none"),
        /// size of the transfer
        bytes: Option<Bytes> = absent("unlimited"),
        /// time from the last acknowledgement of a transfer of `bytes` to the start of the next one, over a connection of its own
        gap: Option<Duration> = absent("one transfer"),
        /// with `gap`: number of transfers
        count: Option<Positive<u64>> = absent("unlimited"),
        /// rate at which the sender's application writes, every 10 ms
        rate: Option<Rate> = absent("as much as can be sent"),
        /// lengths of periods in which the sender's application writes as much as can be sent
        on: Option<PositiveTimes> = absent("one period"),
        /// with `on`: lengths of the silent periods between them
        off: Option<Times> = absent("none"),
        /// largest packet, headers of IP and UDP included
        packet: Bytes = "1500 B",
    }
    check
}

impl Config {
    fn check(&self, table: &Reader<'_>, faults: &mut Faults) {
        for (key, name) in [("stack", Some(&self.stack)), ("peer", self.peer.as_ref())] {
            let fits = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-_.".contains(letter);
            if name.is_some_and(|name| name.is_empty() || name.len() > 64 || !name.chars().all(fits)) {
                let what = "is not the name of a stack: lower-case letters, digits, '-', '_' and '.'";
                faults.add(table.at(key), what, "scenarios contain names, not commands");
            }
        }
        let texts = [&self.controller, &self.options, &self.peer_options];
        for (key, text) in ["controller", "options", "peer_options"].into_iter().zip(texts) {
            if text.as_ref().is_some_and(|text| text.len() > 1000) {
                faults.add(table.at(key), "is longer than 1000 bytes", "");
            }
        }
        if !(1228..=9000).contains(&self.packet.0) {
            faults.add(table.at("packet"), "is not from 1228 B to 9000 B", "QUIC needs 1200 B of payload");
        }
        self.check_application(table, faults);
        if self.bytes == Some(Bytes::ZERO) {
            faults.add(table.at("bytes"), "is zero", "");
        }
        if self.rate.is_some_and(|rate| rate.0 < 1000) {
            faults.add(table.at("rate"), "is less than 1 kbit/s", "");
        }
    }

    /// Fields that need each other, and that exclude each other.
    fn check_application(&self, table: &Reader<'_>, faults: &mut Faults) {
        let (bytes, rate, gap) = (self.bytes.is_some(), self.rate.is_some(), self.gap.is_some());
        let (count, on, off) = (self.count.is_some(), self.on.is_some(), self.off.is_some());
        for (key, given, other, needed) in
            [("on", on, "off", off), ("off", off, "on", on), ("gap", gap, "bytes", bytes), ("count", count, "gap", gap)]
        {
            if given && !needed {
                faults.add(table.at(key), format!("needs '{other}'"), format!("write {other}, or remove {key}"));
            }
        }
        for (key, given, other, excluded) in
            [("on", on, "bytes", bytes), ("on", on, "rate", rate), ("gap", gap, "rate", rate)]
        {
            if given && excluded {
                faults.add(
                    table.at(key),
                    format!("and '{other}' exclude each other"),
                    format!("remove {key} or {other}"),
                );
            }
        }
    }

    /// When the application writes, without a rate.
    fn pattern(&self) -> WritePattern {
        match (self.bytes, self.gap, &self.on, &self.off) {
            (_, _, Some(on), Some(off)) => WritePattern::Periods { on: on.clone(), off: off.clone() },
            (Some(bytes), Some(gap), ..) => {
                WritePattern::Transfers { count: self.count, bytes, gap, new_connection: true }
            }
            (bytes, ..) => WritePattern::Once(bytes),
        }
    }
}

impl Configuration for Config {
    const TRANSPORTS: &'static [Transport] = &[Transport::Udp];

    fn application_kind(&self) -> ApplicationKind {
        ApplicationKind::Exchange
    }

    fn application(&self, flow: &FlowContext) -> Application {
        Application::Exchange(Box::new(DatagramExchange::new(Box::new(Transfer::new(self, flow)), flow.header)))
    }

    fn offered_load(&self) -> OfferedLoad {
        if self.on.is_some() || self.gap.is_some() {
            return OfferedLoad::Unknown;
        }
        OfferedLoad::Bytes(self.bytes)
    }

    fn secondary_connections(&self) -> u32 {
        1
    }

    fn packet(&self) -> Option<Bytes> {
        Some(self.packet)
    }
}

/// The time for which the network may hold a datagram.
const LIFETIME: Duration = Duration::from_secs(120);
/// The time after its first arrival for which the content of a datagram is kept for copies.
const COPIES: Duration = Duration::from_secs(1);
/// The time between two writes of an application with a rate.
const WRITES: Duration = Duration::from_millis(10);
/// Timers at the same time after which a stack that always wants another is faulty.
const MAX_TIMERS: u32 = 1000;

/// The contents of datagrams from one end.
#[derive(Debug, Default)]
struct Contents {
    /// Number of the first one.
    first: u64,
    /// Times of sending, ECN fields and contents; empty where they are forgotten.
    sent: VecDeque<(Time, u8, Vec<u8>)>,
    /// Times of first arrival with numbers.
    arrived: VecDeque<(Time, u64)>,
}

impl Contents {
    fn store(&mut self, now: Time, ecn: u8, payload: &[u8]) -> u64 {
        while self.arrived.front().is_some_and(|&(at, _)| now - at > COPIES) {
            let number = self.arrived.pop_front().map_or(0, |(_, number)| number);
            if let Some(one) = number.checked_sub(self.first).and_then(|at| self.sent.get_mut(at as usize)) {
                one.2 = Vec::new();
            }
        }
        while self.sent.front().is_some_and(|one| one.2.is_empty() || now - one.0 > LIFETIME) {
            self.sent.pop_front();
            self.first += 1;
        }
        self.sent.push_back((now, ecn, payload.to_vec()));
        self.first + self.sent.len() as u64 - 1
    }

    /// The ECN field and the content of a datagram that arrives.
    fn arrive(&mut self, now: Time, number: u64) -> Option<(u8, &[u8])> {
        let at = number.checked_sub(self.first)?;
        self.arrived.push_back((now, number));
        self.sent.get(at as usize).map(|(_, ecn, payload)| (*ecn, payload.as_slice()))
    }
}

/// A stack at one end.
#[derive(Debug)]
struct Host {
    process: StackProcess,
    timer: Time,
    report: StackReport,
    is_done: bool,
}

/// The bits of ECN of a datagram that a queue has marked.
const CE: u8 = 3;

/// The state of the transfer.
#[derive(Debug)]
struct Transfer {
    config: Config,
    flow: FlowContext,
    /// Sender and receiver, once started.
    hosts: Option<Box<[Host; 2]>>,
    /// What sender and receiver have sent.
    contents: [Contents; 2],
    call: Call,
    start: Time,
    /// When the application writes, without a rate.
    source: ByteSource,
    /// Bytes that the application has written, over all connections.
    written: u64,
    /// When it writes next.
    next_write: Time,
    /// Transfers that the receiver does not have in full: start, size, and the sum of all until the end.
    unrecorded: VecDeque<(Time, Bytes, u64)>,
    /// The application writes no more, and all is acknowledged.
    is_over: bool,
    /// A transfer is not acknowledged in full.
    has_unacked: bool,
    /// The sender may finish.
    is_finishing: bool,
    /// The next datagram that arrives is marked.
    is_marked: bool,
    /// The sender's datagrams may be marked.
    is_ecn_capable: bool,
    /// Time of the last call.
    now: Time,
    /// Timers that were due at that time.
    timers: u32,
    failure: Option<Fault>,
}

/// The report that the first answer of a stack begins.
fn ready(answer: Items<'_>) -> Result<StackReport, String> {
    let answer: Vec<Item<'_>> = answer.collect::<Result<_, _>>()?;
    match answer[..] {
        [Item::Ready(stack, controller)] => {
            Ok(StackReport { stack: stack.to_owned(), controller: controller.to_owned(), ..StackReport::default() })
        }
        [Item::Failure(what)] => Err(what.to_owned()),
        _ => Err("its first answer is not that it is ready".to_owned()),
    }
}

fn index(end: End) -> usize {
    usize::from(end == End::Receiver)
}

impl Transfer {
    fn new(config: &Config, flow: &FlowContext) -> Self {
        Self {
            config: config.clone(),
            flow: *flow,
            hosts: None,
            contents: Default::default(),
            call: Call::default(),
            start: Time::ZERO,
            source: ByteSource::new(config.pattern(), flow),
            written: 0,
            next_write: NEVER,
            unrecorded: VecDeque::new(),
            is_over: false,
            has_unacked: false,
            is_finishing: false,
            is_marked: false,
            is_ecn_capable: false,
            now: Time::ZERO,
            timers: 0,
            failure: None,
        }
    }

    /// Starts the process of an end.
    fn host(&self, end: End, seed: u64) -> Result<Host, Fault> {
        let config = &self.config;
        let (stack, options, role) = match end {
            End::Sender => (&config.stack, &config.options, Role::Sender),
            End::Receiver => (config.peer.as_ref().unwrap_or(&config.stack), &config.peer_options, Role::Receiver),
        };
        let mut process = StackProcess::start(stack)?;
        // The receiver's stack has its own congestion control for what it sends, unless both are the same stack.
        let controls = end == End::Sender || config.peer.is_none();
        let start = Start {
            role,
            seed,
            max_datagram: (config.packet - UDP_HEADER).0 as u16,
            controller: config.controller.as_deref().filter(|_| controls).unwrap_or_default(),
            options: options.as_deref().unwrap_or_default(),
        };
        let report = ready(process.call(&mut Call::start(&start))?).map_err(|what| process.fault(what))?;
        Ok(Host { process, timer: NEVER, report, is_done: false })
    }

    /// The time of a call: the present, but not before the last call, since packets of the emulator may be late.
    fn advance(&mut self, now: Time) -> Time {
        if now > self.now {
            (self.now, self.timers) = (now, 0);
        }
        self.now
    }

    fn begin(&mut self, now: Time, actions: &mut Vec<Action>) -> Result<(), Fault> {
        self.start = now;
        let mut seeds = self.flow.stream(Purpose::Algorithm);
        let seeds = [seeds.bits(), seeds.bits()];
        self.hosts = Some(Box::new([self.host(End::Sender, seeds[0])?, self.host(End::Receiver, seeds[1])?]));
        self.call.begin(now);
        self.answer(End::Receiver, now, actions)?;
        if self.config.rate.is_some() {
            self.unrecorded.extend(self.config.bytes.map(|bytes| (now, bytes, bytes.0)));
        }
        self.write(now, actions)
    }

    /// The application writes, or pauses.
    fn write(&mut self, now: Time, actions: &mut Vec<Action>) -> Result<(), Fault> {
        self.call.begin(now);
        if let Some(rate) = self.config.rate {
            self.write_at_rate(rate, now);
            return self.answer(End::Sender, now, actions);
        }
        let (action, next) = self.source.on_timer(now);
        self.next_write = next;
        match action {
            action::Action::Open(bytes) | action::Action::Write(bytes) | action::Action::Reopen(bytes) => {
                self.call.write(bytes.map_or(u64::MAX, |bytes| bytes.0));
                if let Some(bytes) = bytes {
                    self.written += bytes.0;
                    self.unrecorded.push_back((now, bytes, self.written));
                    (self.has_unacked, self.is_finishing) = (true, true);
                    self.call.finish();
                }
            }
            action::Action::Pause => self.call.pause(),
            action::Action::Stop | action::Action::Supply(_) | action::Action::Nothing => return Ok(()),
        }
        self.answer(End::Sender, now, actions)
    }

    /// What the rate has given until the next time.
    fn write_at_rate(&mut self, rate: Rate, now: Time) {
        let total = self.config.bytes.map_or(u64::MAX, |bytes| bytes.0);
        let passed = u128::from((now + WRITES - self.start).as_nanos());
        let given = u64::try_from(u128::from(rate.0) * passed / 8_000_000_000).unwrap_or(u64::MAX);
        let upto = given.min(total);
        self.call.write(upto - self.written);
        self.written = upto;
        self.next_write = if upto < total { now + WRITES } else { NEVER };
        if self.config.bytes.is_some() && upto == total {
            self.is_finishing = true;
            self.call.finish();
        }
    }

    /// Makes the call to an end, and takes its answer.
    fn answer(&mut self, end: End, now: Time, actions: &mut Vec<Action>) -> Result<(), Fault> {
        let Some(hosts) = &mut self.hosts else { return Ok(()) };
        let host = &mut hosts[index(end)];
        host.timer = NEVER;
        let mut wrong = None;
        for item in host.process.call(&mut self.call)? {
            match item {
                Ok(Item::Send(ecn, payload)) => {
                    if payload.is_empty() || payload.len() as u64 + UDP_HEADER.0 > self.config.packet.0 {
                        wrong = Some(format!("a datagram of {} bytes does not fit", payload.len()));
                        break;
                    }
                    if end == End::Sender {
                        self.is_ecn_capable = ecn & 3 != 0;
                    }
                    let number = self.contents[index(end)].store(now, ecn, payload);
                    let message = Message { kind: 0, size: Bytes(number), since: now };
                    actions.push(Action::Send(end, Bytes(payload.len() as u64), message));
                }
                Ok(Item::Next(at)) => host.timer = at,
                Ok(Item::Delivered(bytes)) => host.report.delivered = bytes,
                Ok(Item::Value(value, number)) => host.report.set(value, number),
                Ok(Item::Done) => host.is_done = true,
                Ok(Item::Ready(..)) => wrong = Some("it is ready again".to_owned()),
                Ok(Item::Failure(what)) => wrong = Some(what.to_owned()),
                Err(what) => wrong = Some(what),
            }
        }
        wrong.map_or(Ok(()), |what| Err(host.process.fault(what)))
    }

    /// Records transfers that are complete; after the last acknowledgement the next one is due, or the flow ends.
    fn conclude(&mut self, now: Time, actions: &mut Vec<Action>) {
        let Some(hosts) = &mut self.hosts else { return };
        while let Some(&(start, bytes, _)) = self.unrecorded.front().filter(|one| hosts[1].report.delivered >= one.2) {
            actions.push(Action::Record(start, bytes));
            self.unrecorded.pop_front();
        }
        // A stack may say more than once that all is acknowledged.
        let is_done = mem::take(&mut hosts[0].is_done) && (self.has_unacked || self.config.gap.is_none());
        if is_done {
            self.has_unacked = false;
            self.source.complete_transfer();
            match self.source.on_drained(now) {
                Drained::Wait(at) => self.next_write = at,
                Drained::Done | Drained::Nothing => self.is_over = true,
            }
        }
        // It was to stop between two transfers.
        self.is_over |= self.source.is_done() && !self.has_unacked;
        // The receiver of a kernel may read the last data later than it acknowledges them.
        if self.is_over && (self.unrecorded.is_empty() || self.config.gap.is_none()) {
            actions.push(Action::Finish);
        }
    }

    fn run_timers(&mut self, now: Time, actions: &mut Vec<Action>) -> Result<(), Fault> {
        if self.hosts.is_none() {
            self.begin(now, actions)?;
        }
        if now >= self.flow.stop && !mem::replace(&mut self.is_finishing, true) {
            self.next_write = NEVER;
            self.call.begin(now);
            self.call.finish();
            self.answer(End::Sender, now, actions)?;
        }
        if self.next_write <= now {
            self.write(now, actions)?;
        }
        for end in [End::Sender, End::Receiver] {
            let Some(host) = self.hosts.as_ref().map(|hosts| &hosts[index(end)]).filter(|host| host.timer <= now)
            else {
                continue;
            };
            self.timers += 1;
            if self.timers > MAX_TIMERS {
                let seconds = now.as_nanos() as f64 / 1e9;
                return Err(host.process.fault(format!("more than {MAX_TIMERS} timers at {seconds} s")));
            }
            self.call.begin(now);
            self.call.timer();
            self.answer(end, now, actions)?;
        }
        Ok(())
    }

    /// Ends the transfer after a failure.
    fn settle(&mut self, outcome: Result<(), Fault>, now: Time, actions: &mut Vec<Action>) {
        match outcome {
            Ok(()) => self.conclude(now, actions),
            Err(fault) => {
                self.failure = Some(fault);
                actions.push(Action::Finish);
            }
        }
    }
}

impl Exchange for Transfer {
    fn due(&self) -> Time {
        let timers = self.hosts.as_ref().map_or(NEVER, |hosts| hosts[0].timer.min(hosts[1].timer));
        let timers = timers.min(self.next_write);
        if self.is_finishing {
            timers
        } else {
            timers.min(self.flow.stop)
        }
    }

    fn on_timer(&mut self, now: Time, actions: &mut Vec<Action>) {
        let now = self.advance(now);
        let outcome = self.run_timers(now, actions);
        self.settle(outcome, now, actions);
    }

    fn on_datagram(&mut self, at: End, message: Message, now: Time, actions: &mut Vec<Action>) {
        let is_marked = mem::take(&mut self.is_marked);
        let now = self.advance(now);
        if self.failure.is_some() {
            return;
        }
        let Some((ecn, payload)) = self.contents[index(at.other())].arrive(now, message.size.0) else { return };
        self.call.begin(now);
        self.call.datagram(if is_marked { ecn | CE } else { ecn }, payload);
        let outcome = self.answer(at, now, actions);
        self.settle(outcome, now, actions);
    }

    fn is_ecn_capable(&self) -> bool {
        self.is_ecn_capable
    }

    fn on_mark(&mut self, _message: Message) {
        self.is_marked = true;
    }

    fn stacks(&self) -> Option<[&StackReport; 2]> {
        self.hosts.as_ref().map(|hosts| [&hosts[0].report, &hosts[1].report])
    }

    fn failure(&self) -> Option<&Fault> {
        self.failure.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: of three datagrams the first arrives, and again within a second; the second is lost; the third arrives
    /// after two minutes, as which no network holds it.
    #[test]
    fn the_content_of_a_datagram_is_kept_for_copies_and_until_it_must_have_arrived() {
        let at = |seconds: u64| Time::from_nanos(seconds * 1_000_000_000);
        let mut contents = Contents::default();
        assert_eq!(
            [contents.store(at(0), 2, b"a"), contents.store(at(0), 0, b"b"), contents.store(at(0), 0, b"c")],
            [0, 1, 2]
        );
        assert_eq!(contents.arrive(at(1), 0), Some((2, &b"a"[..])));
        assert_eq!(contents.arrive(at(2), 0), Some((2, &b"a"[..])));
        assert_eq!(contents.store(at(4), 0, b"d"), 3);
        assert_eq!((contents.first, contents.arrive(at(4), 0)), (1, None));
        assert_eq!(contents.store(at(121), 0, b"e"), 4);
        assert_eq!((contents.first, contents.arrive(at(121), 2)), (3, None));
        assert_eq!(contents.arrive(at(121), 3), Some((0, &b"d"[..])));
    }
}
