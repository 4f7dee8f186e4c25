//! Requests and responses of a REST interface, such as FHIR, over HTTP/3, HTTP/2 or HTTP/1.1 with connections that are
//! reused.
//!
//! Sources: RFC 9113 (HTTP/2: frames 4.1 and 4.2, preface 3.4, settings 6.5), RFC 9112 (HTTP/1.1), RFC 9114 (HTTP/3: frames
//! 7.1, control streams 6.2.1), RFC 7541 and RFC 9204 (HPACK, QPACK: header fields that repeat are short).
//!
//! ```text
//! bytes of a message, HTTP/2 = 9 + header + body + 9 · ⌈body / 16384⌉                         (1)
//!                     HTTP/3 = 1 + v(header) + header + [1 + v(body) + body]                  (2)
//! v(n) = 1 below 64, 2 below 2^14, 4 below 2^30, 8: a variable-length integer (RFC 9000, 16)
//! ```
//!
//! With HTTP/2 the responses of requests that are sent together share the connection's one stream of bytes, so that a lost
//! packet delays all that follow. With HTTP/3 each message has a stream of its own. Responses are sent one after another, in
//! the order of the requests (RFC 9218, 10, of responses that are not incremental).
//!
//! QPACK's encoder refers only to fields that the other end has acknowledged, so that no stream is blocked (RFC 9204,
//! 2.1.2): all messages of the first requests have all header fields. HPACK's needs no acknowledgement.
//!
//! Not modelled: windows of HTTP/2 and QUIC, whose clients announce large ones; QPACK's streams of instructions.

use cwndlab_config::{fields, words, Faults, Positive, Reader, Table};
use cwndlab_network::random::{Purpose, Stream};
use cwndlab_units::{Bytes, Duration, Time};

use crate::application::{Application, ApplicationKind};
use crate::configuration::Configuration;
use crate::dialogue::{Action, Dialogue, End, Message};
use crate::distribution::Distribution;
use crate::distribution_fields::{Sizes, Times};
use crate::flow_context::FlowContext;
use crate::handshake::{Handshake, Tls};
use crate::http::{frame, in_frames, Version, FRAME_HEADER};
use crate::repetition::Repetition;
use crate::sampling::sample_size;
use crate::server::Server;

/// The declaration of the workload.
pub static SPEC: Table = Table::new(
    "rest",
    "Requests to a REST interface, such as FHIR, and their responses over HTTP/3 (RFC 9114), HTTP/2 (RFC 9113) or HTTP/1.1: `parallel` at a time, `gap` after the last response to those before, over a connection that the server closes after `idle_timeout` without a request. A transfer is a request with its response; its size is that of the response's body, or of the request's body if the flow's sender is the client.",
    &[Config::FIELDS],
)
.class("Rest");

/// A control stream of HTTP/3: its type, and a SETTINGS frame without settings (RFC 9114, 6.2.1 and 7.2.4).
const CONTROL_STREAM: Bytes = Bytes(3);
/// The client's connection preface without its SETTINGS (RFC 9113, 3.4).
const PREFACE: Bytes = Bytes(24);

words! {
    /// The end that sends requests.
    pub enum Client {
        /// the flow's receiver: responses travel in the flow's direction, as for queries
        Receiver = "receiver",
        /// the flow's sender: requests travel in the flow's direction, as for observations of a device
        Sender = "sender",
    }
}

fields! {
    /// The configuration of the workload.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// the end that sends requests
        client: Client = "receiver",
        /// version of HTTP
        http: Version = "2",
        /// body of a request
        request: Sizes = absent("0 B", Distribution::Fixed(0.0)),
        /// body of a response
        response: Sizes = absent("uniform from 1 kB to 2.5 kB, as a FHIR observation", Distribution::Uniform(1e3, 2.5e3)),
        /// header fields of the first request on a connection, with HTTP/3 of those that are sent together first; of all requests
        /// with HTTP/1.1
        first_header: Positive<Bytes> = "500 B",
        /// header fields of further requests with HTTP/2 and HTTP/3
        header: Positive<Bytes> = "60 B",
        /// header fields of the responses to them
        first_response_header: Option<Positive<Bytes>> = absent("`first_header`"),
        /// header fields of further responses with HTTP/2 and HTTP/3
        response_header: Option<Positive<Bytes>> = absent("`header`"),
        /// with HTTP/2 the client writes its preface on its own, as httpx does, and the server the header fields of each response,
        /// as nginx does
        separate_writes: bool = absent("false", false),
        /// requests that are sent together, not with HTTP/1.1
        parallel: u64 = 1 in 1..=100,
        /// time from a response, the last one to requests that were sent together, to the next request
        gap: Times = required("'gap = \"10 s\"'"),
        /// time from the arrival of a request to its response
        processing: Times = "0 s",
        /// idle time after which the connection is closed; the next request opens another one
        idle_timeout: Positive<Duration> = "75 s",
        /// total number
        count: Option<Positive<u64>> = absent("unlimited"),
        /// TLS
        tls: Tls,
    }
    check
}

impl Config {
    fn check(&self, table: &Reader<'_>, faults: &mut Faults) {
        if self.http == Version::Http3 {
            self.tls.check_quic(table, faults);
        }
        if self.http == Version::Http11 && self.parallel > 1 {
            let what = "needs streams, which HTTP/1.1 does not have";
            faults.add(table.at("parallel"), what, "write 'http = \"2\"' or \"3\"");
        }
        if self.http != Version::Http2 && self.separate_writes {
            faults.add(table.at("separate_writes"), "exists only with HTTP/2", "write 'http = \"2\"'");
        }
    }

    fn opener(&self) -> End {
        match self.client {
            Client::Receiver => End::Receiver,
            Client::Sender => End::Sender,
        }
    }

    /// Size of a request with this body; `full`: it has all header fields.
    fn request_bytes(&self, body: Bytes, full: bool) -> Bytes {
        self.message_bytes(body, if full { self.first_header } else { self.header })
    }

    /// Sizes of the parts of a response with this body, of which the first follows `before` bytes.
    fn response_parts(&self, before: Bytes, body: Bytes, full: bool) -> Vec<Bytes> {
        let header = if full {
            self.first_response_header.unwrap_or(self.first_header)
        } else {
            self.response_header.unwrap_or(self.header)
        };
        let whole = before + self.message_bytes(body, header);
        if !self.separate_writes || body == Bytes::ZERO {
            return vec![whole];
        }
        let first = before + FRAME_HEADER + header;
        vec![first, whole - first]
    }

    /// Whether a message has all header fields: of the request with this number on a new connection, or on an open one.
    fn repeats(&self, opens: bool, number: u64) -> bool {
        match self.http {
            Version::Http11 => true,
            Version::Http2 => opens && number == 0,
            Version::Http3 => opens,
        }
    }

    fn message_bytes(&self, body: Bytes, header: Bytes) -> Bytes {
        match self.http {
            Version::Http11 => header + body,
            Version::Http2 => FRAME_HEADER + header + in_frames(body), // (1)
            Version::Http3 if body == Bytes::ZERO => frame(header),
            Version::Http3 => frame(header) + frame(body), // (2)
        }
    }

    /// What the client sends before the first request, and the server before the first response: the server's preface is a
    /// SETTINGS frame; another one acknowledges the client's.
    fn prefaces(&self) -> [Bytes; 2] {
        match self.http {
            Version::Http11 => [Bytes::ZERO; 2],
            Version::Http2 => [PREFACE + FRAME_HEADER, FRAME_HEADER * 2],
            Version::Http3 => [CONTROL_STREAM; 2],
        }
    }
}

impl Configuration for Config {
    fn application_kind(&self) -> ApplicationKind {
        ApplicationKind::Dialogue(self.opener())
    }

    fn application(&self, flow: &FlowContext) -> Application {
        let handshake =
            if self.is_quic() { Handshake::quic(&self.tls) } else { Handshake::default().secure(&self.tls) };
        Application::Dialogue(handshake.wrap(Box::new(Rest::new(self, flow))))
    }

    fn is_quic(&self) -> bool {
        self.http == Version::Http3
    }

    fn secondary_connections(&self) -> u32 {
        1
    }
}

/// Draws the size of a body, which may be 0.
fn sample_body(sizes: &Distribution, stream: &mut Stream) -> Bytes {
    if *sizes == Distribution::Fixed(0.0) {
        return Bytes::ZERO;
    }
    sample_size(sizes, stream)
}

/// A request, whose number among those that were sent with it is its size, and the first one of a connection.
const REQUEST: u8 = 0;
const FIRST_REQUEST: u8 = 1;
/// A response, and the first one of a connection.
const RESPONSE: u8 = 2;
const FIRST_RESPONSE: u8 = 3;
/// Acknowledgement of the server's SETTINGS.
const SETTINGS_ACK: u8 = 4;
/// The client's preface on its own, and the server's.
const CLIENT_PREFACE: u8 = 5;
const SERVER_PREFACE: u8 = 6;

/// A request and its response.
#[derive(Clone, Copy, Debug)]
struct Outstanding {
    /// Sizes of the bodies.
    request: Bytes,
    response: Bytes,
    /// Both have all header fields.
    full: bool,
}

/// The state of client and server.
#[derive(Debug)]
struct Rest {
    config: Config,
    request_sizes: Stream,
    response_sizes: Stream,
    exchanges: Repetition,
    /// The requests that were sent together.
    outstanding: Vec<Outstanding>,
    /// Time at which the server closes the idle connection.
    closes: Time,
    server: Server,
}

impl Rest {
    fn new(config: &Config, flow: &FlowContext) -> Self {
        Self {
            config: config.clone(),
            request_sizes: flow.stream(Purpose::Other),
            response_sizes: flow.stream(Purpose::Size),
            exchanges: Repetition::new(config.count, false, &config.gap, flow),
            outstanding: Vec::new(),
            closes: Time::ZERO,
            server: Server::new(&config.processing, flow),
        }
    }

    /// Size of an exchange.
    fn size(&self, one: Outstanding) -> Bytes {
        if self.config.client == Client::Sender {
            one.request
        } else {
            one.response
        }
    }

    /// Sends the request with this number among those that are sent together; `opens`: on a new connection.
    fn send_request(&mut self, number: u64, opens: bool, now: Time, actions: &mut Vec<Action>) {
        let request = sample_body(&self.config.request, &mut self.request_sizes);
        let response = sample_body(&self.config.response, &mut self.response_sizes);
        let one = Outstanding { request, response, full: self.config.repeats(opens, number) };
        self.outstanding.push(one);
        let first = opens && number == 0;
        self.exchanges.new_connection = first;
        self.exchanges.begin(now, self.size(one), actions);
        let message = Message { kind: REQUEST, size: Bytes(number), since: now };
        let bytes = self.config.request_bytes(request, one.full);
        let preface = self.config.prefaces()[0];
        if !first {
            actions.push(Action::Send(bytes, message));
        } else if self.config.separate_writes {
            let preface = Action::Send(preface, Message { kind: CLIENT_PREFACE, ..message });
            actions.extend([preface, Action::Send(bytes, message)]);
        } else {
            actions.push(Action::Send(preface + bytes, Message { kind: FIRST_REQUEST, ..message }));
        }
    }
}

impl Dialogue for Rest {
    fn opener(&self) -> End {
        self.config.opener()
    }

    fn due(&self) -> Time {
        self.exchanges.due
    }

    fn on_timer(&mut self, now: Time, actions: &mut Vec<Action>) {
        if !self.exchanges.on_timer(now, actions) {
            return;
        }
        let opens = self.closes <= now;
        self.outstanding.clear();
        for number in 0..self.exchanges.batch(self.config.parallel) {
            self.send_request(number, opens, now, actions);
        }
    }

    fn responder_due(&self) -> Time {
        self.server.due()
    }

    fn on_responder_timer(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.server.on_timer(now, actions);
    }

    fn on_message(&mut self, message: Message, now: Time, actions: &mut Vec<Action>) {
        let Some(&one) = self.outstanding.get(message.size.0 as usize) else { return };
        match message.kind {
            REQUEST | FIRST_REQUEST => {
                if self.config.client == Client::Sender {
                    actions.push(Action::Deliver(message.since));
                }
                let first = message.kind == FIRST_REQUEST;
                let before = if first { self.config.prefaces()[1] } else { Bytes::ZERO };
                let parts = self.config.response_parts(before, one.response, one.full);
                let kind = if first { FIRST_RESPONSE } else { RESPONSE };
                self.server.respond_in_parts(&parts, Message { kind, ..message }, now, actions);
            }
            CLIENT_PREFACE => {
                let [_, preface] = self.config.prefaces();
                actions.push(Action::Send(preface, Message { kind: SERVER_PREFACE, ..message }));
            }
            SERVER_PREFACE => {
                actions.push(Action::Send(FRAME_HEADER, Message { kind: SETTINGS_ACK, ..message }));
            }
            RESPONSE | FIRST_RESPONSE => {
                if message.kind == FIRST_RESPONSE && self.config.http == Version::Http2 {
                    actions.push(Action::Send(FRAME_HEADER, Message { kind: SETTINGS_ACK, ..message }));
                }
                self.closes = now + self.config.idle_timeout;
                self.exchanges.complete(message.since, self.size(one), now, actions);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NEVER;

    fn config(http: Version, gap: f64) -> Config {
        Config {
            client: Client::Receiver,
            http,
            request: Distribution::Fixed(0.0),
            response: Distribution::Fixed(20_000.0),
            first_header: Bytes(500),
            header: Bytes(60),
            first_response_header: None,
            response_header: None,
            separate_writes: false,
            parallel: 1,
            gap: Distribution::Fixed(gap),
            processing: Distribution::Fixed(0.0),
            idle_timeout: Duration::from_secs(75),
            count: None,
            tls: Tls::NONE,
        }
    }

    fn client(config: &Config) -> Rest {
        Rest::new(config, &FlowContext { flow: 0.into(), seed: 1, stop: NEVER, header: Bytes(40) })
    }

    fn at(seconds: u64) -> Time {
        Time::from_nanos(seconds * 1_000_000_000)
    }

    /// The actions of a request at `start`, its response at `end`, and of both ends between.
    fn exchange(client: &mut Rest, start: u64, end: u64) -> (Vec<Action>, Vec<Action>, Vec<Action>) {
        let mut all = [(); 3].map(|()| Vec::new());
        assert!(start == 0 || client.due() == at(start), "{:?}", client.due());
        client.on_timer(at(start), &mut all[0]);
        for n in 0..2 {
            let last = all[n].iter().rev().find_map(|action| match *action {
                Action::Send(_, message) => Some(message),
                _ => None,
            });
            client.on_message(last.expect("a message is sent"), at(if n == 0 { start } else { end }), &mut all[n + 1]);
        }
        all.into()
    }

    fn sizes(actions: &[Action]) -> Vec<u64> {
        let sent =
            actions.iter().filter_map(|action| if let Action::Send(bytes, _) = action { Some(bytes.0) } else { None });
        sent.collect()
    }

    /// RFC 9113: the first request follows the preface of 24 + 9 bytes: 33 + 9 + 500; the response two SETTINGS frames:
    /// 18 + 9 + 500 + 20,000 in two frames, 18; the client acknowledges the settings with 9. Further messages have
    /// short header fields.
    #[test]
    fn http_2_has_a_preface_frames_and_short_headers() {
        let mut client = client(&config(Version::Http2, 10e9));
        let (request, response, after) = exchange(&mut client, 0, 1);
        assert_eq!((request[0], sizes(&request)), (Action::Connect, vec![542]));
        assert_eq!((sizes(&response), sizes(&after)), (vec![20_545], vec![9]));
        assert_eq!(after[1..], [Action::Deliver(at(0)), Action::Record(at(0), Bytes(20_000))]);
        let (request, response, after) = exchange(&mut client, 11, 12);
        assert_eq!((request[0], sizes(&request)), (Action::Offer(at(11), Bytes(20_000)), vec![69]));
        assert_eq!((sizes(&response), sizes(&after)), (vec![20_087], vec![]));
    }

    /// By hand: responses have 229 bytes of header fields, then 35: 18 + 9 + 229 + 20,018, and 9 + 35 + 20,018.
    #[test]
    fn responses_have_header_fields_of_their_own() {
        let own = Config {
            first_response_header: Some(Bytes(229)),
            response_header: Some(Bytes(35)),
            ..config(Version::Http2, 10e9)
        };
        let mut client = client(&own);
        let first = exchange(&mut client, 0, 1);
        assert_eq!((sizes(&first.0), sizes(&first.1)), (vec![542], vec![20_274]));
        let second = exchange(&mut client, 11, 12);
        assert_eq!((sizes(&second.0), sizes(&second.1)), (vec![69], vec![20_062]));
    }

    /// RFC 9113, 3.4, by hand: the preface of 33 bytes is on its own, and the server's 18 bytes answer it, which the client
    /// acknowledges with 9. A response of 20,000 bytes is 9 + 500, then 20,000 in two frames, 20,018; one without a body is not
    /// divided.
    #[test]
    fn prefaces_and_header_fields_are_writes_of_their_own() {
        let separate = Config { separate_writes: true, ..config(Version::Http2, 10e9) };
        assert_eq!(separate.response_parts(Bytes::ZERO, Bytes::ZERO, true), [Bytes(509)]);
        let mut client = client(&separate);
        let mut requests = Vec::new();
        client.on_timer(at(0), &mut requests);
        assert_eq!(sizes(&requests), [33, 509]);
        let (mut answers, mut after) = (Vec::new(), Vec::new());
        let sent = |actions: &[Action]| -> Vec<Message> {
            let sent = actions.iter();
            sent.filter_map(|one| if let Action::Send(_, message) = *one { Some(message) } else { None }).collect()
        };
        for message in sent(&requests) {
            client.on_message(message, at(1), &mut answers);
        }
        assert_eq!(sizes(&answers), [18, 509, 20_018]);
        for message in sent(&answers) {
            client.on_message(message, at(2), &mut after);
        }
        assert_eq!(sizes(&after), [9]);
        assert_eq!(after[1..], [Action::Deliver(at(0)), Action::Record(at(0), Bytes(20_000))]);
    }

    /// RFC 9112: each message has all header fields.
    #[test]
    fn http_1_1_repeats_the_header() {
        let mut client = client(&config(Version::Http11, 10e9));
        for start in [0, 11] {
            let (request, response, after) = exchange(&mut client, start, start + 1);
            assert_eq!((sizes(&request), sizes(&response), sizes(&after)), (vec![500], vec![20_500], vec![]));
        }
    }

    /// RFC 9114, sections 6.2.1 and 7.1: the first request follows the control stream, 3 + 1 + 2 + 500 bytes; the response the
    /// server's, 3 + 503 + 1 + 4 + 20,000. Further messages have short header fields, 1 + 1 + 60. SETTINGS have no
    /// acknowledgement.
    #[test]
    fn http_3_has_control_streams_and_frames() {
        let mut client = client(&config(Version::Http3, 10e9));
        let (request, response, after) = exchange(&mut client, 0, 1);
        assert_eq!((sizes(&request), sizes(&response), sizes(&after)), (vec![506], vec![20_511], vec![]));
        let (request, response, _) = exchange(&mut client, 11, 12);
        assert_eq!((sizes(&request), sizes(&response)), (vec![62], vec![20_067]));
        assert_eq!([0, 63, 64, 16_383, 16_384, 1 << 30].map(|n| frame(Bytes(n)).0 - n), [2, 2, 3, 3, 5, 9]);
    }

    /// By hand: of five requests three are sent at once, and two after all responses and the gap. RFC 7541, 2.3: the second
    /// request may refer to the header fields of the first; RFC 9204, 2.1.2: only if they are acknowledged.
    #[test]
    fn requests_are_sent_together() {
        for (http, first, second) in [(Version::Http2, [542, 69, 69], 69), (Version::Http3, [506, 503, 503], 62)] {
            let mut client = client(&Config { parallel: 3, count: Some(5), ..config(http, 10e9) });
            let mut requests = Vec::new();
            client.on_timer(at(0), &mut requests);
            assert_eq!(sizes(&requests), first);
            assert_eq!(requests.iter().filter(|one| matches!(one, Action::Connect)).count(), 1);
            let mut actions = Vec::new();
            for (number, second) in [(2, 1), (0, 2), (1, 3)] {
                let response = Message { kind: RESPONSE, size: Bytes(number), since: at(0) };
                assert_eq!(client.due(), NEVER);
                client.on_message(response, at(second), &mut actions);
            }
            assert_eq!((sizes(&actions), client.due()), (vec![], at(13)));
            let mut requests = Vec::new();
            client.on_timer(at(13), &mut requests);
            assert_eq!(sizes(&requests), [second; 2]);
            actions.clear();
            for number in [0, 1] {
                assert!(!actions.contains(&Action::Finish));
                client.on_message(Message { kind: RESPONSE, size: Bytes(number), since: at(13) }, at(14), &mut actions);
            }
            assert_eq!(actions.last(), Some(&Action::Finish));
        }
    }

    /// By hand: 74 s after the response the connection is reused; 75 s after it another one is opened, with the full
    /// header.
    #[test]
    fn an_idle_connection_is_closed() {
        for (gap, bytes) in [(74, 69), (75, 542)] {
            let mut client = client(&config(Version::Http2, gap as f64 * 1e9));
            exchange(&mut client, 0, 1);
            let (request, ..) = exchange(&mut client, 1 + gap, 200);
            assert_eq!((request.contains(&Action::Connect), sizes(&request)), (gap == 75, vec![bytes]));
        }
    }

    /// An observation of 2000 bytes is delivered when the server has it, and recorded with the response. Processing of
    /// 3 s delays the response.
    #[test]
    fn a_sender_uploads() {
        let upload = Config {
            client: Client::Sender,
            request: Distribution::Fixed(2000.0),
            response: Distribution::Fixed(0.0),
            processing: Distribution::Fixed(3e9),
            ..config(Version::Http2, 10e9)
        };
        let mut device = client(&upload);
        assert_eq!(device.opener(), End::Sender);
        let mut actions = Vec::new();
        device.on_timer(at(0), &mut actions);
        let message = Message { kind: FIRST_REQUEST, size: Bytes::ZERO, since: at(0) };
        let request = Action::Send(Bytes(33 + 9 + 500 + 2000 + 9), message);
        assert_eq!(actions, [Action::Connect, Action::Offer(at(0), Bytes(2000)), request]);
        actions.clear();
        device.on_message(message, at(1), &mut actions);
        assert_eq!((actions, device.responder_due()), (vec![Action::Deliver(at(0))], at(4)));
        let mut reply = Vec::new();
        device.on_responder_timer(at(4), &mut reply);
        let response = Message { kind: FIRST_RESPONSE, ..message };
        assert_eq!(reply, [Action::Send(Bytes(18 + 9 + 500), response)]);
        let mut after = Vec::new();
        device.on_message(response, at(5), &mut after);
        assert_eq!(after.last(), Some(&Action::Record(at(0), Bytes(2000))));
    }
}
