//! Requests and responses of a REST interface, such as FHIR, over HTTP/2 or HTTP/1.1 with connections that are reused.
//!
//! Sources: RFC 9113 (HTTP/2: frames 4.1 and 4.2, preface 3.4, settings 6.5), RFC 9112 (HTTP/1.1), RFC 7541 (HPACK:
//! header fields that repeat are short). One request is outstanding.
//!
//! ```text
//! bytes of a message, HTTP/2 = 9 + header + body + 9 · ⌈body / 16384⌉                         (1)
//! ```
//!
//! Not modelled: windows of HTTP/2, whose clients announce large ones; HTTP/3, which needs QUIC.

use cwndlab_config::{fields, words, Positive, Table};
use cwndlab_network::random::{Purpose, Stream};
use cwndlab_units::{Bytes, Duration, Time};

use crate::application::{Application, ApplicationKind};
use crate::configuration::Configuration;
use crate::dialogue::{Action, Dialogue, End, Message};
use crate::distribution::Distribution;
use crate::distribution_fields::{Sizes, Times};
use crate::flow_context::FlowContext;
use crate::handshake::{Handshake, Tls};
use crate::repetition::Repetition;
use crate::sampling::sample_size;
use crate::server::Server;

/// The declaration of the workload.
pub static SPEC: Table = Table::new(
    "rest",
    "Requests to a REST interface, such as FHIR, and their responses over HTTP/2 (RFC 9113) or HTTP/1.1 (TCP): one after another, each `gap` after the previous response, over a connection that the server closes after `idle_timeout` without a request. A transfer is a request with its response; its size is that of the response's body, or of the request's body if the flow's sender is the client.",
    &[Config::FIELDS],
)
.class("Rest");

/// Header of a frame of HTTP/2 (RFC 9113, 4.1), and a SETTINGS frame without settings (6.5).
const FRAME_HEADER: Bytes = Bytes(9);
/// Largest payload of a frame (RFC 9113, 4.2).
const FRAME: u64 = 16_384;
/// The client's connection preface without its SETTINGS (RFC 9113, 3.4).
const PREFACE: Bytes = Bytes(24);

words! {
    /// Version of HTTP.
    pub enum Version {
        /// HTTP/2: frames, short header fields after the first message
        Http2 = "2",
        /// HTTP/1.1: all header fields with each message
        Http11 = "1.1",
    }
}

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
        /// header fields of the first request on a connection; of all requests with HTTP/1.1
        first_header: Positive<Bytes> = "500 B",
        /// header fields of further requests with HTTP/2
        header: Positive<Bytes> = "60 B",
        /// header fields of the first response on a connection; of all responses with HTTP/1.1
        first_response_header: Option<Positive<Bytes>> = absent("`first_header`"),
        /// header fields of further responses with HTTP/2
        response_header: Option<Positive<Bytes>> = absent("`header`"),
        /// time from a response to the next request
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
}

impl Config {
    fn opener(&self) -> End {
        match self.client {
            Client::Receiver => End::Receiver,
            Client::Sender => End::Sender,
        }
    }

    /// Size of a request with this body.
    fn request_bytes(&self, body: Bytes, first: bool) -> Bytes {
        self.message_bytes(body, if self.repeats(first) { self.first_header } else { self.header })
    }

    /// Size of a response with this body.
    fn response_bytes(&self, body: Bytes, first: bool) -> Bytes {
        let header = if self.repeats(first) {
            self.first_response_header.unwrap_or(self.first_header)
        } else {
            self.response_header.unwrap_or(self.header)
        };
        self.message_bytes(body, header)
    }

    /// Whether a message has all header fields.
    fn repeats(&self, first: bool) -> bool {
        first || self.http == Version::Http11
    }

    fn message_bytes(&self, body: Bytes, header: Bytes) -> Bytes {
        if self.http == Version::Http11 {
            return header + body;
        }
        FRAME_HEADER + header + body + FRAME_HEADER * body.0.div_ceil(FRAME) // (1)
    }
}

impl Configuration for Config {
    fn application_kind(&self) -> ApplicationKind {
        ApplicationKind::Dialogue(self.opener())
    }

    fn application(&self, flow: &FlowContext) -> Application {
        Application::Dialogue(Handshake::default().secure(&self.tls).wrap(Box::new(Rest::new(self, flow))))
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

/// A request, with the size of its response's body, and the first one of a connection.
const REQUEST: u8 = 0;
const FIRST_REQUEST: u8 = 1;
/// A response, and the first one of a connection.
const RESPONSE: u8 = 2;
const FIRST_RESPONSE: u8 = 3;
/// Acknowledgement of the server's SETTINGS.
const SETTINGS_ACK: u8 = 4;

/// The state of client and server.
#[derive(Debug)]
struct Rest {
    config: Config,
    request_sizes: Stream,
    response_sizes: Stream,
    exchanges: Repetition,
    /// Size of the outstanding request's body.
    request: Bytes,
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
            request: Bytes::ZERO,
            closes: Time::ZERO,
            server: Server::new(&config.processing, flow),
        }
    }

    /// Size of an exchange whose response has this body.
    fn size(&self, response: Bytes) -> Bytes {
        if self.config.client == Client::Sender {
            self.request
        } else {
            response
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
        self.request = sample_body(&self.config.request, &mut self.request_sizes);
        let response = sample_body(&self.config.response, &mut self.response_sizes);
        let first = self.closes <= now;
        self.exchanges.new_connection = first;
        self.exchanges.begin(now, self.size(response), actions);
        let preface = first && self.config.http == Version::Http2;
        let before = if preface { PREFACE + FRAME_HEADER } else { Bytes::ZERO };
        let kind = if first { FIRST_REQUEST } else { REQUEST };
        let bytes = before + self.config.request_bytes(self.request, first);
        actions.push(Action::Send(bytes, Message { kind, size: response, since: now }));
    }

    fn responder_due(&self) -> Time {
        self.server.due()
    }

    fn on_responder_timer(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.server.on_timer(now, actions);
    }

    fn on_message(&mut self, message: Message, now: Time, actions: &mut Vec<Action>) {
        match message.kind {
            REQUEST | FIRST_REQUEST => {
                if self.config.client == Client::Sender {
                    actions.push(Action::Deliver(message.since));
                }
                let first = message.kind == FIRST_REQUEST;
                // The server's preface is a SETTINGS frame; another one acknowledges the client's.
                let settings = first && self.config.http == Version::Http2;
                let before = if settings { FRAME_HEADER * 2 } else { Bytes::ZERO };
                let bytes = before + self.config.response_bytes(message.size, first);
                let kind = if first { FIRST_RESPONSE } else { RESPONSE };
                self.server.respond(bytes, Message { kind, ..message }, now, actions);
            }
            RESPONSE | FIRST_RESPONSE => {
                if message.kind == FIRST_RESPONSE && self.config.http == Version::Http2 {
                    actions.push(Action::Send(FRAME_HEADER, Message { kind: SETTINGS_ACK, ..message }));
                }
                self.closes = now + self.config.idle_timeout;
                self.exchanges.complete(message.since, self.size(message.size), now, actions);
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

    /// RFC 9112: each message has all header fields.
    #[test]
    fn http_1_1_repeats_the_header() {
        let mut client = client(&config(Version::Http11, 10e9));
        for start in [0, 11] {
            let (request, response, after) = exchange(&mut client, start, start + 1);
            assert_eq!((sizes(&request), sizes(&response), sizes(&after)), (vec![500], vec![20_500], vec![]));
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
