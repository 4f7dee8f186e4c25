//! Streams by hand, after RFC 6120 and XEP-0198.

use super::*;
use crate::handshake::testing::{flight_sizes, sent_sizes};
use crate::handshake::{Authentication, TlsVersion};

fn config() -> Config {
    Config {
        payload: Distribution::Fixed(100.0),
        schedule: Schedule::each(Duration::from_secs(10)),
        stanza: Bytes(200),
        ack_every: 5,
        keep_alive: Duration::ZERO,
        keep_alive_kind: KeepAlive::Whitespace,
        response_timeout: None,
        resume: true,
        resume_within: Duration::from_secs(300),
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
    let tls = Tls { tls: TlsVersion::Tls13, tls_authentication: Some(Authentication::RawKeys), tls_chain: Bytes(0) };
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
            let answer = Action::Send(Bytes(bytes), Message { size: Bytes(n), ..plain(ANSWER, at(now)) });
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

/// A client that has logged in at 0 s with a stream of its own, requests an acknowledgement of each stanza, and gives its
/// connection up at 35 s: the stanzas of 20 and 30 s, if the schedule has it, and their requests are lost.
fn broken(config: Config) -> Xmpp {
    let config = Config { ack_every: 1, response_timeout: Some(Duration::from_secs(15)), ..config };
    let (mut client, actions) = connected(&config);
    assert_eq!(sizes(&actions), [45]);
    let enabled = at_message(&mut client, plain(ENABLE, at(0)), 0);
    assert_eq!(sizes(&enabled), [67]);
    at_message(&mut client, plain(ENABLED, at(0)), 0);
    for now in [0, 10, 20, 30] {
        let sent = at_timer(&mut client, now);
        assert!(now == 30 || sizes(&sent) == [300, 26], "{sent:?}");
        if now < 20 {
            at_message(&mut client, Message { kind: STANZA, size: Bytes(100), since: at(now) }, now);
            let answer = at_message(&mut client, plain(REQUEST, at(now)), now);
            let [Action::Send(_, answer)] = answer[..] else { panic!("{answer:?}") };
            at_message(&mut client, answer, now);
        }
    }
    assert_eq!(client.due(), at(35));
    assert_eq!(at_timer(&mut client, 35), [Action::Connect]);
    client
}

fn sizes(actions: &[Action]) -> Vec<u64> {
    actions.iter().filter_map(|one| if let Action::Send(bytes, _) = one { Some(bytes.0) } else { None }).collect()
}

/// XEP-0198, section 5: in place of binding a resource the client resumes the stream with `<resume/>` of 62 bytes. The server
/// has handled two stanzas, `<resumed/>` has 63 bytes; the others are sent again, and one that was generated since.
#[test]
fn a_resumed_stream_continues_after_the_last_handled_stanza() {
    let mut client = broken(config());
    assert_eq!(at_timer(&mut client, 40), [Action::Offer(at(40), Bytes(100))], "it waits for the connection");
    let mut actions = Vec::new();
    client.on_connected(at(41), &mut actions);
    assert_eq!(actions, [Action::Send(Bytes(62), plain(RESUME, at(41)))]);
    let resumed = Message { kind: RESUMED, size: Bytes(2), since: at(42) };
    assert_eq!(at_message(&mut client, plain(RESUME, at(41)), 42), [Action::Send(Bytes(63), resumed)]);
    let mut expected = Vec::new();
    for since in [20, 30, 40].map(at) {
        expected.push(Action::Send(Bytes(300), Message { kind: STANZA, size: Bytes(100), since }));
        expected.push(Action::Send(Bytes(26), plain(REQUEST, at(43))));
    }
    assert_eq!(at_message(&mut client, resumed, 43), expected);
    at_timer(&mut client, 50);
    assert_eq!(client.due(), at(58), "15 s for an answer");
}

/// XEP-0198, section 5: a server that has forgotten the stream answers `<failed/>`; the client binds a resource, with 140
/// bytes each, and begins another stream. The lost stanza is the last one of three, so that the dialogue ends.
#[test]
fn a_forgotten_stream_loses_unacknowledged_stanzas() {
    let schedule = Schedule { count: Some(3), ..config().schedule };
    let mut client = broken(Config { schedule, resume_within: Duration::from_secs(10), ..config() });
    let mut actions = Vec::new();
    client.on_connected(at(36), &mut actions);
    assert_eq!(sizes(&actions), [62]);
    let failed = at_message(&mut client, plain(RESUME, at(36)), 37);
    assert_eq!(failed, [Action::Send(Bytes(100), plain(FAILED, at(37)))]);
    let bind = at_message(&mut client, plain(FAILED, at(37)), 38);
    assert_eq!(bind, [Action::Send(Bytes(140), plain(BIND, at(38)))]);
    assert_eq!(sizes(&at_message(&mut client, plain(BIND, at(38)), 39)), [140]);
    let begun = at_message(&mut client, plain(BOUND, at(39)), 40);
    assert_eq!(begun, [Action::Finish, Action::Send(Bytes(45), plain(ENABLE, at(40)))]);
}

/// By hand: a further login ends before the resource is bound, which a round trip of the workload takes or `<resume/>`. With
/// SASL2, `<resume/>` of 62 bytes goes with the first message of the authentication and `<resumed/>` of 63 with the last,
/// in place of 140.
#[test]
fn a_further_login_has_no_binding() {
    let timeout = Some(Duration::from_secs(15));
    let flights = |login| flight_sizes(&Config { login, response_timeout: timeout, ..config() }.handshake());
    let [first, later] = flights(Login::Direct);
    assert_eq!((&first[..8], &first[8..]), (&later[..], &[140, 140][..]));
    let [first, later] = flights(Login::Sasl2);
    assert_eq!((first, later), (vec![310, 560, 160, 300], vec![310 + 62, 560, 160, 300 - 140 + 63]));
    let [first, later] = flight_sizes(&config().handshake());
    assert_eq!(first, later, "nobody notices that the connection is lost");
}
