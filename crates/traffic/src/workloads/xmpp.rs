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
//! ```

use cwndlab_config::{fields, words, Faults, Reader, Table};
use cwndlab_network::random::{Purpose, Stream};
use cwndlab_units::{Bytes, Duration, Time};

use crate::application::{Application, ApplicationKind, OfferedLoad};
use crate::configuration::Configuration;
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
const REQUEST_BYTES: Bytes = Bytes(26);
/// `<a/>` without the digits of h.
const ANSWER_BYTES: Bytes = Bytes(31);
/// Ping of a client and its answer in the examples of XEP-0199, without line breaks.
const PING_BYTES: Bytes = Bytes(110);
const PONG_BYTES: Bytes = Bytes(80);
/// Counts of stanzas are modulo 2³² (XEP-0198).
const MODULUS: u64 = 1 << 32;
/// A shorter time would make keep-alives most of the events of a run.
const SHORTEST_KEEP_ALIVE: Duration = Duration::from_millis(1);

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
        /// the login, and the place of TLS
        login: Login = "starttls",
        /// size of a client's stream header
        stream: Bytes = "150 B",
        /// size of a server's stream header and features
        features: Bytes = "400 B",
        /// size of each element of SASL
        sasl: Bytes = "150 B",
        /// size of the request for a resource, and of its answer
        bind: Bytes = "150 B",
        /// TLS
        tls: Tls,
    }
    check
}

impl Config {
    fn check(&self, table: &Reader<'_>, faults: &mut Faults) {
        if self.keep_alive != Duration::ZERO && self.keep_alive < SHORTEST_KEEP_ALIVE {
            let what = format!("is shorter than {SHORTEST_KEEP_ALIVE}");
            faults.add(table.at("keep_alive"), what, "\"0 s\" disables it");
        }
    }

    fn handshake(&self) -> Handshake {
        let mut handshake = Handshake::default();
        if self.login == Login::Starttls && self.tls.is_secure() {
            handshake = handshake.then(&[self.stream, self.features, STARTTLS, PROCEED]);
        }
        let handshake = handshake.secure(&self.tls);
        if self.login == Login::Sasl2 {
            return handshake.then(&[
                self.stream + self.sasl,
                self.features + self.sasl,
                self.sasl,
                self.sasl + self.bind,
            ]);
        }
        let scram = [self.sasl; 4];
        let stream = [self.stream, self.features];
        handshake.then(&stream).then(&scram).then(&stream).then(&[self.bind; 2])
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

/// The state of client and server.
#[derive(Debug)]
struct Xmpp {
    config: Config,
    messages: Generation,
    payloads: Stream,
    /// Stanzas of the client.
    sent: u64,
    /// Stanzas that the server has handled.
    handled: u64,
    /// Time of the client's last bytes.
    last_sent: Time,
}

impl Xmpp {
    fn new(config: &Config, flow: &FlowContext) -> Self {
        Self {
            config: config.clone(),
            messages: Generation::new(&config.schedule, flow),
            payloads: flow.stream(Purpose::Size),
            sent: 0,
            handled: 0,
            last_sent: Time::ZERO,
        }
    }

    fn keep_alive_due(&self) -> Time {
        if self.config.keep_alive == Duration::ZERO {
            NEVER
        } else {
            self.last_sent + self.config.keep_alive
        }
    }

    /// Sends a stanza, and a request for an acknowledgement after each `ack_every` of them.
    fn send_stanza(&mut self, bytes: Bytes, message: Message, now: Time, actions: &mut Vec<Action>) {
        self.last_sent = now;
        self.sent += 1;
        actions.push(Action::Send(bytes, message));
        let every = u64::from(self.config.ack_every);
        if every > 0 && self.sent.is_multiple_of(every) {
            actions.push(Action::Send(REQUEST_BYTES, plain(REQUEST, now)));
        }
    }
}

/// A message without a size.
fn plain(kind: u8, since: Time) -> Message {
    Message { kind, size: Bytes::ZERO, since }
}

impl Dialogue for Xmpp {
    fn opener(&self) -> End {
        OPENER
    }

    fn due(&self) -> Time {
        if !self.messages.is_running() {
            return NEVER;
        }
        self.messages.due().min(self.keep_alive_due())
    }

    fn on_timer(&mut self, now: Time, actions: &mut Vec<Action>) {
        if self.messages.opens_or_ends(now, actions) {
            return;
        }
        for _ in 0..self.messages.take(now) {
            let size = sample_size(&self.config.payload, &mut self.payloads);
            actions.push(Action::Offer(now, size));
            self.send_stanza(self.config.stanza + size, Message { kind: STANZA, size, since: now }, now, actions);
        }
        if self.keep_alive_due() <= now {
            match self.config.keep_alive_kind {
                KeepAlive::Whitespace => {
                    self.last_sent = now;
                    actions.push(Action::Send(Bytes(1), plain(SPACE, now)));
                }
                KeepAlive::Ping => self.send_stanza(PING_BYTES, plain(PING, now), now, actions),
            }
        }
    }

    fn on_connected(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.last_sent = now;
        self.messages.start(now);
        if self.config.ack_every > 0 {
            // The client need not wait for the answer.
            actions.push(Action::Send(ENABLE_BYTES, plain(ENABLE, now)));
        }
    }

    fn on_message(&mut self, message: Message, now: Time, actions: &mut Vec<Action>) {
        match message.kind {
            STANZA => {
                self.handled += 1;
                actions.extend([Action::Deliver(message.since), Action::Record(message.since, message.size)]);
                self.messages.complete(actions);
            }
            PING => {
                self.handled += 1;
                actions.push(Action::Send(PONG_BYTES, plain(PONG, now)));
            }
            ENABLE => actions.push(Action::Send(ENABLED_BYTES, plain(ENABLED, now))),
            REQUEST => {
                let digits = (self.handled % MODULUS).checked_ilog10().unwrap_or(0) + 1;
                actions.push(Action::Send(ANSWER_BYTES + Bytes(u64::from(digits)), plain(ANSWER, now)));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handshake::testing::sent_sizes;
    use crate::handshake::{Authentication, TlsVersion};

    fn config() -> Config {
        Config {
            payload: Distribution::Fixed(100.0),
            schedule: Schedule::each(Duration::from_secs(10)),
            stanza: Bytes(200),
            ack_every: 5,
            keep_alive: Duration::ZERO,
            keep_alive_kind: KeepAlive::Whitespace,
            login: Login::Starttls,
            stream: Bytes(150),
            features: Bytes(400),
            sasl: Bytes(160),
            bind: Bytes(140),
            tls: Tls::NONE,
        }
    }

    fn context() -> FlowContext {
        FlowContext { flow: 0.into(), seed: 1, stop: NEVER, header: Bytes(40) }
    }

    fn at(seconds: u64) -> Time {
        Time::from_nanos(seconds * 1_000_000_000)
    }

    /// A client that has logged in at 0 s, and its actions then.
    fn connected(config: &Config) -> (Xmpp, Vec<Action>) {
        let mut client = Xmpp::new(config, &context());
        client.on_timer(at(0), &mut Vec::new());
        let mut actions = Vec::new();
        client.on_connected(at(0), &mut actions);
        (client, actions)
    }

    fn at_timer(client: &mut Xmpp, seconds: u64) -> Vec<Action> {
        let mut actions = Vec::new();
        client.on_timer(at(seconds), &mut actions);
        actions
    }

    fn at_message(client: &mut Xmpp, message: Message, seconds: u64) -> Vec<Action> {
        let mut actions = Vec::new();
        client.on_message(message, at(seconds), &mut actions);
        actions
    }

    /// RFC 6120: stream, STARTTLS, TLS, stream, SCRAM twice, stream, bind are eight round trips, nine with that of
    /// TCP; seven with direct TLS, and four with SASL2, TCP's included.
    #[test]
    fn a_login_takes_nine_seven_or_four_round_trips() {
        let tls =
            Tls { tls: TlsVersion::Tls13, tls_authentication: Some(Authentication::RawKeys), tls_chain: Bytes(0) };
        let login = |login| sent_sizes(Config { login, tls, ..config() }.application(&context()));
        let starttls = login(Login::Starttls);
        assert_eq!(starttls.len(), 8);
        assert_eq!(starttls[..3], [[150, 400], [51, 50], [162, 394]]);
        // With the client's last flight of TLS, 233 bytes; a record has 22 bytes more.
        assert_eq!(starttls[3..], [[405, 422], [182, 182], [182, 182], [172, 422], [162, 162]]);
        assert_eq!(login(Login::Direct), [&[[162, 394]], &starttls[3..]].concat());
        assert_eq!(login(Login::Sasl2), [[162, 394], [233 + 332, 582], [182, 322]]);
        let without = sent_sizes(config().application(&context()));
        assert_eq!(without, [[150, 400], [160, 160], [160, 160], [150, 400], [140, 140]]);
    }

    /// XEP-0198: `<enable/>` of 31 bytes, `<r/>` of 26 after each fifth stanza, `<a h='n'/>` of 31 bytes and the digits
    /// of n.
    #[test]
    fn stanzas_are_acknowledged_by_their_number() {
        let (mut client, actions) = connected(&config());
        assert_eq!(actions, [Action::Send(Bytes(31), plain(ENABLE, at(0)))]);
        assert_eq!(at_message(&mut client, plain(ENABLE, at(0)), 0), [Action::Send(Bytes(32), plain(ENABLED, at(0)))]);
        for n in 1..=10 {
            let now = (n - 1) * 10;
            let stanza = Message { kind: STANZA, size: Bytes(100), since: at(now) };
            let mut expected = vec![Action::Offer(at(now), Bytes(100)), Action::Send(Bytes(300), stanza)];
            let request = plain(REQUEST, at(now));
            if n % 5 == 0 {
                expected.push(Action::Send(Bytes(26), request));
            }
            assert_eq!(at_timer(&mut client, now), expected);
            let complete = [Action::Deliver(at(now)), Action::Record(at(now), Bytes(100))];
            assert_eq!(at_message(&mut client, stanza, now), complete);
            if n % 5 == 0 {
                let bytes = if n == 5 { 32 } else { 33 };
                let answer = Action::Send(Bytes(bytes), plain(ANSWER, at(now)));
                assert_eq!(at_message(&mut client, request, now), [answer]);
            }
        }
    }

    /// RFC 6120: a space of one byte without an answer. XEP-0199, examples of a client's ping: 110 and 80 bytes.
    #[test]
    fn a_keep_alive_is_a_space_or_a_ping() {
        for (keep_alive_kind, sent, reply) in [
            (KeepAlive::Whitespace, (1, SPACE), None),
            (KeepAlive::Ping, (110, PING), Some(Action::Send(Bytes(80), plain(PONG, at(4))))),
        ] {
            let config = Config { keep_alive: Duration::from_secs(4), keep_alive_kind, ..config() };
            let (mut client, _) = connected(&config);
            at_timer(&mut client, 0);
            assert_eq!(client.due(), at(4));
            let message = plain(sent.1, at(4));
            assert_eq!(at_timer(&mut client, 4), [Action::Send(Bytes(sent.0), message)]);
            assert_eq!(at_message(&mut client, message, 4), Vec::from_iter(reply));
            assert_eq!(client.due(), at(8));
        }
    }
}
