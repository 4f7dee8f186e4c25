//! XMPP: a client that sends message stanzas to its server, with the acknowledgements of stream management.
//!
//! Sources: RFC 6120 (login), XEP-0198 (stream management), XEP-0199 (ping), XEP-0368 (direct TLS), XEP-0388 and
//! XEP-0386 (SASL2 and Bind 2). Sizes of elements are the lengths of their XML with the attributes that they must have:
//!
//! ```text
//! <r xmlns='urn:xmpp:sm:3'/>            26
//! <a xmlns='urn:xmpp:sm:3' h='1'/>      31 + digits of h
//! <enable xmlns='urn:xmpp:sm:3'/>       31     <enabled …/>  32
//! <starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>  51     <proceed …/>  50
//! with an identifier of 15 characters, as in the examples of XEP-0198:
//! <enable xmlns='urn:xmpp:sm:3' resume='true'/>  45     <enabled … id='some-long-sm-id' resume='true'/>  67
//! <resume xmlns='urn:xmpp:sm:3' h='1' previd='some-long-sm-id'/>  61 + digits of h     <resumed …/>  62 + digits
//! <failed xmlns='urn:xmpp:sm:3'><item-not-found xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></failed>  100
//! ```
//!
//! After `response_timeout` without an answer the client opens another connection. It authenticates and resumes its stream
//! in place of binding a resource (XEP-0198, 5): the server says how many stanzas it has handled, and the client sends all
//! further ones again. With SASL2 the request and its answer go with those of the authentication. A server that has
//! forgotten the stream refuses; the client binds a resource, and its unacknowledged stanzas are lost.

use std::collections::VecDeque;

use cwndlab_config::{fields, words, Faults, Positive, Reader, Table};
use cwndlab_network::random::{Purpose, Stream};
use cwndlab_units::{Bytes, Duration, Time};

use crate::application::{Application, ApplicationKind, OfferedLoad};
use crate::configuration::{check_interval, Configuration};
use crate::dialogue::{Action, Dialogue, End, Message};
use crate::distribution::Distribution;
use crate::distribution_fields::PositiveSizes;
use crate::flow_context::FlowContext;
use crate::handshake::{Handshake, Tls};
use crate::sampling::sample_size;
use crate::schedule::{Generation, Schedule};
use crate::NEVER;

/// The declaration of the workload.
pub static SPEC: Table = Table::new(
    "xmpp",
    "A client that sends message stanzas to its server by XMPP (RFC 6120; TCP): login with SCRAM, then messages every `period`, a request for an acknowledgement after each `ack_every` stanzas and its answer (XEP-0198), and a keep-alive after an idle time. A transfer is a message, complete at the server.",
    &[Config::FIELDS],
)
.class("Xmpp");

words! {
    /// The login, and the place of TLS.
    pub enum Login {
        /// TLS by STARTTLS, if there is TLS; SASL with SCRAM (two round trips), resource binding
        Starttls = "starttls",
        /// TLS before XMPP (XEP-0368), then the same
        Direct = "direct",
        /// TLS before XMPP, then SASL2 with Bind 2: the client's first message goes with the stream header, and the
        /// resource is bound with the last answer
        Sasl2 = "sasl2",
    }
}

words! {
    /// What a client sends after an idle time.
    pub enum KeepAlive {
        /// a space, which has no answer
        Whitespace = "whitespace",
        /// a ping and its answer (XEP-0199)
        Ping = "ping",
    }
}

const STARTTLS: Bytes = Bytes(51);
const PROCEED: Bytes = Bytes(50);
const ENABLE_BYTES: Bytes = Bytes(31);
const ENABLED_BYTES: Bytes = Bytes(32);
const ENABLE_RESUME_BYTES: Bytes = Bytes(45);
const ENABLED_RESUME_BYTES: Bytes = Bytes(67);
/// `<resume/>` and `<resumed/>` without the digits of h.
const RESUME_BYTES: Bytes = Bytes(61);
const RESUMED_BYTES: Bytes = Bytes(62);
const FAILED_BYTES: Bytes = Bytes(100);
const REQUEST_BYTES: Bytes = Bytes(26);
/// `<a/>` without the digits of h.
const ANSWER_BYTES: Bytes = Bytes(31);
/// Ping of a client and its answer in the examples of XEP-0199, without line breaks.
const PING_BYTES: Bytes = Bytes(110);
const PONG_BYTES: Bytes = Bytes(80);
/// Counts of stanzas are modulo 2³² (XEP-0198).
const MODULUS: u64 = 1 << 32;

fields! {
    /// The configuration of the workload.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// payload of a message
        payload: PositiveSizes = absent("uniform from 128 B to 1024 B", Distribution::Uniform(128.0, 1024.0)),
        /// times of the messages, from the end of the login
        schedule: Schedule,
        /// XML of a message around its payload
        stanza: Bytes = "200 B",
        /// stanzas of the client between two requests for an acknowledgement; 0: no stream management
        ack_every: u32 = 5 in 0..=1_000_000,
        /// idle time of the client before a keep-alive; zero disables it
        keep_alive: Duration = "60 s",
        /// what the client sends then
        keep_alive_kind: KeepAlive = "whitespace",
        /// time without an answer to a login, a request for an acknowledgement or a ping after which the client opens
        /// another connection
        response_timeout: Option<Positive<Duration>> = absent("never"),
        /// whether another connection resumes the stream (XEP-0198, 5): stanzas that are not acknowledged are sent again.
        /// Otherwise they are lost
        resume: bool = true,
        /// time without bytes of the client after which the server has forgotten the stream
        resume_within: Duration = "300 s",
        /// the login, and the place of TLS
        login: Login = "starttls",
        /// size of a client's stream header
        stream: Positive<Bytes> = "150 B",
        /// size of a server's stream header and features
        features: Positive<Bytes> = "400 B",
        /// size of each element of SASL
        sasl: Positive<Bytes> = "150 B",
        /// size of the request for a resource, and of its answer
        bind: Positive<Bytes> = "150 B",
        /// TLS
        tls: Tls,
    }
    check
}

impl Config {
    fn check(&self, table: &Reader<'_>, faults: &mut Faults) {
        check_interval(table, "keep_alive", self.keep_alive, "\"0 s\" disables it", faults);
        if let Some(timeout) = self.response_timeout {
            check_interval(table, "response_timeout", timeout, "leave it out to wait for ever", faults);
        }
        let pings = self.keep_alive_kind == KeepAlive::Ping && self.keep_alive != Duration::ZERO;
        if self.response_timeout.is_some() && self.ack_every == 0 && !pings {
            let hint = "write 'ack_every = 5' or 'keep_alive_kind = \"ping\"'";
            faults.add(table.at("response_timeout"), "nothing that the client sends has an answer", hint);
        }
    }

    /// Whether the client asks for a stream that it can resume.
    fn resumes(&self) -> bool {
        self.resume && self.ack_every > 0 && self.response_timeout.is_some()
    }

    /// The login of the first connection, and that of further ones.
    fn handshake(&self) -> Handshake {
        let mut first = Handshake::default();
        if self.login == Login::Starttls && self.tls.is_secure() {
            first = first.then(&[self.stream, self.features, STARTTLS, PROCEED]);
        }
        let first = first.secure(&self.tls);
        if self.login == Login::Sasl2 {
            let sasl2 = |request: Bytes, answer: Bytes| {
                let request = self.stream + self.sasl + request;
                first.clone().then(&[request, self.features + self.sasl, self.sasl, self.sasl + answer])
            };
            let login = sasl2(Bytes::ZERO, self.bind);
            // One digit of h each.
            return if self.resumes() {
                login.again(sasl2(RESUME_BYTES + Bytes(1), RESUMED_BYTES + Bytes(1)))
            } else {
                login
            };
        }
        let stream = [self.stream, self.features];
        let login = first.then(&stream).then(&[self.sasl; 4]).then(&stream);
        let bound = login.clone().then(&[self.bind; 2]);
        if self.resumes() {
            bound.again(login)
        } else {
            bound
        }
    }
}

/// The client opens the connection.
const OPENER: End = End::Sender;

impl Configuration for Config {
    fn application_kind(&self) -> ApplicationKind {
        ApplicationKind::Dialogue(OPENER)
    }

    fn application(&self, flow: &FlowContext) -> Application {
        Application::Dialogue(self.handshake().wrap(Box::new(Xmpp::new(self, flow))))
    }

    fn offered_load(&self) -> OfferedLoad {
        self.schedule.offered_load()
    }

    fn secondary_connections(&self) -> u32 {
        1
    }
}

/// Carries the size of its payload.
const STANZA: u8 = 0;
const ENABLE: u8 = 1;
const ENABLED: u8 = 2;
/// `<r/>`
const REQUEST: u8 = 3;
/// `<a/>`
const ANSWER: u8 = 4;
const SPACE: u8 = 5;
const PING: u8 = 6;
const PONG: u8 = 7;
/// `<resume/>`, and its answers: the number of stanzas that the server has handled is the size.
const RESUME: u8 = 8;
const RESUMED: u8 = 9;
const FAILED: u8 = 10;
/// Resource binding on a further connection, and its answer.
const BIND: u8 = 11;
const BOUND: u8 = 12;

/// A stanza of the client.
#[derive(Clone, Copy, Debug)]
struct Stanza {
    bytes: Bytes,
    message: Message,
    /// It was sent on the stream.
    sent: bool,
}

/// The state of client and server.
#[derive(Debug)]
struct Xmpp {
    config: Config,
    messages: Generation,
    payloads: Stream,
    /// Stanzas of the client on this stream.
    sent: u64,
    /// Stanzas that the server has handled, and those of them that the client knows of.
    handled: u64,
    acknowledged: u64,
    /// The client's stanzas after these.
    unacknowledged: VecDeque<Stanza>,
    /// The client has logged in on its connection, and has resumed its stream or begun another one.
    is_connected: bool,
    /// The client has the identifier of its stream.
    is_resumable: bool,
    /// Time of the client's last bytes.
    last_sent: Time,
    /// Time of the last bytes at the server.
    last_heard: Time,
    /// Time since which an answer of the server is awaited; [`NEVER`] if none is.
    awaiting: Time,
    /// Answers that are awaited.
    requests: u64,
}

impl Xmpp {
    fn new(config: &Config, flow: &FlowContext) -> Self {
        Self {
            config: config.clone(),
            messages: Generation::new(&config.schedule, flow),
            payloads: flow.stream(Purpose::Size),
            sent: 0,
            handled: 0,
            acknowledged: 0,
            unacknowledged: VecDeque::new(),
            is_connected: false,
            is_resumable: false,
            last_sent: Time::ZERO,
            last_heard: Time::ZERO,
            awaiting: NEVER,
            requests: 0,
        }
    }

    fn keep_alive_due(&self) -> Time {
        if self.config.keep_alive == Duration::ZERO || !self.is_connected {
            NEVER
        } else {
            self.last_sent + self.config.keep_alive
        }
    }

    /// Time at which the client gives its connection up.
    fn reconnect_due(&self) -> Time {
        let timeout = self.config.response_timeout.filter(|_| self.awaiting != NEVER);
        timeout.map_or(NEVER, |timeout| self.awaiting + timeout)
    }

    /// Notes that an answer is awaited.
    fn expect_answer(&mut self, now: Time) {
        self.requests += 1;
        self.awaiting = self.awaiting.min(now);
    }

    /// Notes an answer.
    fn on_answer(&mut self, now: Time) {
        self.requests = self.requests.saturating_sub(1);
        self.awaiting = if self.requests > 0 { now } else { NEVER };
    }

    /// Gives the connection up and opens another one.
    fn reconnect(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.await_login(now);
        actions.push(Action::Connect);
    }

    fn await_login(&mut self, now: Time) {
        (self.is_connected, self.requests, self.awaiting) = (false, 0, now);
    }

    /// A stanza of the client, which waits if it has no connection.
    fn add_stanza(&mut self, bytes: Bytes, message: Message, now: Time, actions: &mut Vec<Action>) {
        self.unacknowledged.push_back(Stanza { bytes, message, sent: self.is_connected });
        if self.is_connected {
            self.send_stanza(bytes, message, now, actions);
        }
    }

    /// Sends a stanza, and a request for an acknowledgement after each `ack_every` of them.
    fn send_stanza(&mut self, bytes: Bytes, message: Message, now: Time, actions: &mut Vec<Action>) {
        self.last_sent = now;
        self.sent += 1;
        actions.push(Action::Send(bytes, message));
        if message.kind == PING {
            self.expect_answer(now);
        }
        let every = u64::from(self.config.ack_every);
        if every > 0 && self.sent.is_multiple_of(every) {
            self.request(now, actions);
        }
    }

    /// Sends a request for an acknowledgement.
    fn request(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.expect_answer(now);
        actions.push(Action::Send(REQUEST_BYTES, plain(REQUEST, now)));
    }

    /// Notes that the server has handled `count` stanzas of the stream.
    fn acknowledge(&mut self, count: u64) {
        while self.acknowledged < count {
            self.acknowledged += 1;
            self.unacknowledged.pop_front();
        }
    }

    /// Begins a stream at the end of a login: stanzas of an earlier one that are not acknowledged are lost, those that waited
    /// are sent.
    fn begin_stream(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.acknowledge(self.handled);
        let lost = |one: &Stanza| one.sent && one.message.kind == STANZA;
        for _ in self.unacknowledged.iter().filter(|one| lost(one)) {
            self.messages.complete(actions);
        }
        self.unacknowledged.retain(|one| !one.sent);
        (self.sent, self.handled, self.acknowledged, self.is_resumable) = (0, 0, 0, false);
        self.last_sent = now;
        if self.config.ack_every > 0 {
            // The client need not wait for the answer.
            let bytes = if self.config.resumes() { ENABLE_RESUME_BYTES } else { ENABLE_BYTES };
            actions.push(Action::Send(bytes, plain(ENABLE, now)));
        }
        self.connect(now, actions);
    }

    /// Resumes the stream, of which the server has handled `count` stanzas: sends all further ones, and a request at least.
    fn resume_stream(&mut self, count: u64, now: Time, actions: &mut Vec<Action>) {
        self.acknowledge(count);
        self.unacknowledged.iter_mut().for_each(|one| one.sent = false);
        self.sent = count;
        self.connect(now, actions);
        if self.sent > count && self.requests == 0 {
            self.request(now, actions);
        }
    }

    /// Continues on a connection with a stream: sends the stanzas that wait.
    fn connect(&mut self, now: Time, actions: &mut Vec<Action>) {
        (self.is_connected, self.requests, self.awaiting) = (true, 0, NEVER);
        for at in 0..self.unacknowledged.len() {
            let Stanza { bytes, message, sent } = self.unacknowledged[at];
            if !sent {
                self.unacknowledged[at].sent = true;
                self.send_stanza(bytes, message, now, actions);
            }
        }
    }

    /// Whether the server still has the stream at `now`.
    fn server_remembers(&self, now: Time) -> bool {
        now <= self.last_heard + self.config.resume_within
    }

    /// Handles bytes of the client at the server.
    fn on_server(&mut self, message: Message, now: Time, actions: &mut Vec<Action>) {
        let send = |bytes, kind, size| Action::Send(bytes, Message { kind, size, since: now });
        match message.kind {
            STANZA | PING => {
                self.handled += 1;
                if self.config.ack_every == 0 {
                    self.acknowledge(self.handled);
                }
                if message.kind == PING {
                    actions.push(send(PONG_BYTES, PONG, Bytes::ZERO));
                    return;
                }
                actions.extend([Action::Deliver(message.since), Action::Record(message.since, message.size)]);
                self.messages.complete(actions);
            }
            ENABLE => {
                let bytes = if self.config.resumes() { ENABLED_RESUME_BYTES } else { ENABLED_BYTES };
                actions.push(send(bytes, ENABLED, Bytes::ZERO));
            }
            REQUEST => actions.push(send(ANSWER_BYTES + digits(self.handled), ANSWER, Bytes(self.handled))),
            RESUME if self.server_remembers(now) => {
                actions.push(send(RESUMED_BYTES + digits(self.handled), RESUMED, Bytes(self.handled)));
            }
            RESUME => actions.push(send(FAILED_BYTES, FAILED, Bytes::ZERO)),
            BIND => actions.push(send(self.config.bind, BOUND, Bytes::ZERO)),
            _ => {}
        }
    }
}

/// A message without a size.
fn plain(kind: u8, since: Time) -> Message {
    Message { kind, size: Bytes::ZERO, since }
}

/// The digits of a number of stanzas.
fn digits(count: u64) -> Bytes {
    Bytes(u64::from((count % MODULUS).checked_ilog10().unwrap_or(0) + 1))
}

impl Dialogue for Xmpp {
    fn opener(&self) -> End {
        OPENER
    }

    fn due(&self) -> Time {
        if self.messages.is_finished() {
            return NEVER;
        }
        if !self.messages.is_running() {
            let reconnect = self.reconnect_due();
            return if reconnect == NEVER { NEVER } else { reconnect.min(self.messages.stop()) };
        }
        self.messages.due().min(self.keep_alive_due()).min(self.reconnect_due())
    }

    fn on_timer(&mut self, now: Time, actions: &mut Vec<Action>) {
        if self.messages.opens_or_ends(now, actions) {
            self.await_login(now);
            return;
        }
        for _ in 0..self.messages.take(now) {
            let size = sample_size(&self.config.payload, &mut self.payloads);
            actions.push(Action::Offer(now, size));
            self.add_stanza(self.config.stanza + size, Message { kind: STANZA, size, since: now }, now, actions);
        }
        if self.reconnect_due() <= now {
            return self.reconnect(now, actions);
        }
        if self.keep_alive_due() <= now {
            match self.config.keep_alive_kind {
                KeepAlive::Whitespace => {
                    self.last_sent = now;
                    actions.push(Action::Send(Bytes(1), plain(SPACE, now)));
                }
                KeepAlive::Ping => self.add_stanza(PING_BYTES, plain(PING, now), now, actions),
            }
        }
    }

    fn on_connected(&mut self, now: Time, actions: &mut Vec<Action>) {
        if !self.messages.has_started() {
            self.messages.start(now);
            return self.begin_stream(now, actions);
        }
        match self.config.login {
            _ if !self.config.resumes() => self.begin_stream(now, actions),
            Login::Sasl2 if self.is_resumable && self.server_remembers(now) => {
                self.resume_stream(self.handled, now, actions);
            }
            Login::Sasl2 => self.begin_stream(now, actions),
            // One digit of h: the stanzas of the server are few.
            _ if self.is_resumable => actions.push(Action::Send(RESUME_BYTES + Bytes(1), plain(RESUME, now))),
            _ => actions.push(Action::Send(self.config.bind, plain(BIND, now))),
        }
    }

    fn on_message(&mut self, message: Message, now: Time, actions: &mut Vec<Action>) {
        match message.kind {
            ENABLED => self.is_resumable = true,
            ANSWER => {
                self.acknowledge(message.size.0);
                self.on_answer(now);
            }
            PONG => self.on_answer(now),
            RESUMED => self.resume_stream(message.size.0, now, actions),
            FAILED => actions.push(Action::Send(self.config.bind, plain(BIND, now))),
            BOUND => self.begin_stream(now, actions),
            _ => {
                self.on_server(message, now, actions);
                self.last_heard = now;
            }
        }
    }
}

#[cfg(test)]
mod tests;
