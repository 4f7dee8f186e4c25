//! Requests and responses over UDP, with retransmissions by the client.

use cwndlab_config::{fields, Faults, Positive, Reader, Table};
use cwndlab_network::random::{Purpose, Stream};
use cwndlab_units::{Bytes, Duration, Time};

use crate::application::{Application, ApplicationKind};
use crate::configuration::{check_interval, Configuration, Transport};
use crate::dialogue::{End, Message};
use crate::distribution::Distribution;
use crate::distribution_fields::{PositiveSizes, Times};
use crate::dtls::Dtls;
use crate::exchange::{Action, DatagramExchange, Exchange};
use crate::flow_context::FlowContext;
use crate::sampling::{sample_pause, sample_size};
use crate::{NEVER, UDP_HEADER};

/// The declaration of the workload.
pub static SPEC: Table = Table::new(
    "udp-request-response",
    "Requests and responses in a datagram each, as of DNS, SNMP or remote calls. The flow's receiver is the client: requests travel against the flow's direction, responses in it. The client sends a request again after `timeout`, which doubles each time (RFC 8085, 3.1.1), and gives up after `retransmissions`; the server answers each copy (UDP).",
    &[Config::FIELDS],
)
.class("UdpRequestResponse");

/// Largest payload of a datagram in an Ethernet frame of 1500 bytes: larger ones would be fragmented, which is not modelled.
const MAX_PAYLOAD: Bytes = Bytes(1472);

fields! {
    /// The configuration of the workload.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// sizes of requests, at most 1472 B
        request: PositiveSizes = required("'request = \"60 B\"'"),
        /// sizes of responses, at most 1472 B
        response: PositiveSizes = required("'response = \"200 B\"'"),
        /// time from the end of an exchange to the next request
        think: Times = "0 s",
        /// total number
        count: Option<Positive<u64>> = absent("unlimited"),
        /// time from a request to its first retransmission
        timeout: Positive<Duration> = "1 s",
        /// retransmissions of a request, after whose last timeout it is given up
        retransmissions: u32 = 4 in 0..=20,
        /// time that the server needs for a response
        processing: Times = "0 s",
        /// DTLS
        dtls: Dtls,
    }
    check
}

impl Config {
    fn check(&self, table: &Reader<'_>, faults: &mut Faults) {
        let limit = self.limit();
        for (name, sizes) in [("request", &self.request), ("response", &self.response)] {
            if let Distribution::Fixed(largest) | Distribution::Uniform(_, largest) = sizes {
                if *largest > limit.0 as f64 {
                    let hint = "larger datagrams would be fragmented; use 'request-response' over TCP";
                    faults.add(table.at(name), format!("is larger than {} B", limit.0), hint);
                }
            }
        }
        check_interval(table, "timeout", self.timeout, "RFC 8085, section 3.1.1, recommends 1 s", faults);
    }

    /// Largest message that fits beside its record of DTLS.
    fn limit(&self) -> Bytes {
        MAX_PAYLOAD - self.dtls.record()
    }
}

impl Configuration for Config {
    const TRANSPORTS: &'static [Transport] = &[Transport::Udp];

    fn application_kind(&self) -> ApplicationKind {
        ApplicationKind::Exchange
    }

    fn application(&self, flow: &FlowContext) -> Application {
        Application::Exchange(Box::new(DatagramExchange::new(
            self.dtls.wrap(Box::new(Client::new(self, flow))),
            flow.header,
        )))
    }

    fn packet(&self) -> Option<Bytes> {
        Some(UDP_HEADER + MAX_PAYLOAD)
    }

    fn secondary_connections(&self) -> u32 {
        1
    }
}

/// A request, whose size is that of its response.
const REQUEST: u8 = 0;
const RESPONSE: u8 = 1;

/// A request that waits for its response.
#[derive(Debug)]
struct Open {
    bytes: Bytes,
    message: Message,
    sent: u32,
    timeout: Duration,
    due: Time,
}

/// The state of client and server.
#[derive(Debug)]
struct Client {
    config: Config,
    /// Time at which the client stops to request; [`NEVER`] after it.
    stop: Time,
    stopped: bool,
    requests: Stream,
    responses: Stream,
    times: Stream,
    processing: Stream,
    /// Time of the next request; the start of the flow first.
    next: Time,
    open: Option<Open>,
    ended: u64,
    /// Responses that the server is working on.
    pending: Vec<(Time, Message)>,
}

impl Client {
    fn new(config: &Config, flow: &FlowContext) -> Self {
        Self {
            config: config.clone(),
            stop: flow.stop,
            stopped: false,
            requests: flow.stream(Purpose::Other),
            responses: flow.stream(Purpose::Size),
            times: flow.stream(Purpose::Time),
            processing: flow.further_stream(Purpose::Other),
            next: Time::ZERO,
            open: None,
            ended: 0,
            pending: Vec::new(),
        }
    }

    fn send_request(&mut self, now: Time, actions: &mut Vec<Action>) {
        let limit = self.config.limit();
        let size = sample_size(&self.config.response, &mut self.responses).min(limit);
        let bytes = sample_size(&self.config.request, &mut self.requests).min(limit);
        let message = Message { kind: REQUEST, size, since: now };
        let timeout = self.config.timeout;
        self.open = Some(Open { bytes, message, sent: 1, timeout, due: now + timeout });
        self.next = NEVER;
        actions.extend([Action::Offer(now, size), Action::Send(End::Receiver, bytes, message)]);
    }

    /// Sends the open request again, or gives it up.
    fn on_timeout(&mut self, now: Time, actions: &mut Vec<Action>) {
        let Some(open) = self.open.as_mut().filter(|open| open.due <= now) else { return };
        if open.sent > self.config.retransmissions {
            return self.end(now, actions);
        }
        open.sent += 1;
        open.timeout = open.timeout + open.timeout;
        open.due = now + open.timeout;
        actions.push(Action::Send(End::Receiver, open.bytes, open.message));
    }

    /// Ends an exchange: the next one follows after a pause, unless the client has stopped.
    fn end(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.open = None;
        self.ended += 1;
        if self.stopped || self.config.count.is_some_and(|count| self.ended >= count) {
            actions.push(Action::Finish);
        } else {
            // The start of an exchange is its identity: no two are equal.
            self.next = now + sample_pause(&self.config.think, &mut self.times).max(Duration::from_nanos(1));
        }
    }

    fn respond(message: Message, actions: &mut Vec<Action>) {
        actions.push(Action::Send(End::Sender, message.size, Message { kind: RESPONSE, ..message }));
    }
}

impl Exchange for Client {
    fn due(&self) -> Time {
        let pending = self.pending.iter().map(|&(due, _)| due).min().unwrap_or(NEVER);
        self.next.min(self.open.as_ref().map_or(NEVER, |open| open.due)).min(pending).min(self.stop)
    }

    fn on_timer(&mut self, now: Time, actions: &mut Vec<Action>) {
        if now >= self.stop {
            (self.stop, self.next, self.stopped) = (NEVER, NEVER, true);
            actions.extend(self.open.is_none().then_some(Action::Finish));
        }
        for (_, message) in self.pending.extract_if(.., |(due, _)| *due <= now) {
            Self::respond(message, actions);
        }
        self.on_timeout(now, actions);
        if self.next <= now {
            self.send_request(now, actions);
        }
    }

    fn on_datagram(&mut self, _at: End, message: Message, now: Time, actions: &mut Vec<Action>) {
        if message.kind == REQUEST {
            let processing = sample_pause(&self.config.processing, &mut self.processing);
            if processing == Duration::ZERO {
                Self::respond(message, actions);
            } else {
                self.pending.push((now + processing, message));
            }
        } else if self.open.as_ref().is_some_and(|open| open.message.since == message.since) {
            actions.extend([Action::Deliver(message.since), Action::Record(message.since, message.size)]);
            self.end(now, actions);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: u64) -> Time {
        Time::from_nanos(second * 1_000_000_000)
    }

    fn client(count: Option<u64>, processing: f64) -> Client {
        let config = Config {
            request: Distribution::Fixed(60.0),
            response: Distribution::Fixed(200.0),
            think: Distribution::Fixed(10e9),
            count,
            timeout: Duration::from_secs(1),
            retransmissions: 2,
            processing: Distribution::Fixed(processing),
            dtls: Dtls::NONE,
        };
        Client::new(&config, &FlowContext { flow: 0.into(), seed: 1, stop: NEVER, header: Bytes(28) })
    }

    fn at_timer(client: &mut Client, now: u64) -> Vec<Action> {
        let mut actions = Vec::new();
        assert_eq!(client.due(), if now == 0 { Time::ZERO } else { at(now) });
        client.on_timer(at(now), &mut actions);
        actions
    }

    fn message(kind: u8, since: u64) -> Message {
        Message { kind, size: Bytes(200), since: at(since) }
    }

    fn at_arrival(client: &mut Client, end: End, message: Message, now: u64) -> Vec<Action> {
        let mut actions = Vec::new();
        client.on_datagram(end, message, at(now), &mut actions);
        actions
    }

    /// RFC 8085, section 3.1.1: timeouts of 1, 2 and 4 s; then the request is given up, and the next one follows after 10 s.
    #[test]
    fn a_request_without_response_is_repeated_and_given_up() {
        let mut client = client(None, 0.0);
        let request = |since| Action::Send(End::Receiver, Bytes(60), message(REQUEST, since));
        assert_eq!(at_timer(&mut client, 0), [Action::Offer(at(0), Bytes(200)), request(0)]);
        assert_eq!(at_timer(&mut client, 1), [request(0)]);
        assert_eq!(at_timer(&mut client, 3), [request(0)]);
        assert_eq!(at_timer(&mut client, 7), []);
        assert_eq!(at_timer(&mut client, 17), [Action::Offer(at(17), Bytes(200)), request(17)]);
        assert_eq!(at_arrival(&mut client, End::Receiver, message(RESPONSE, 0), 18), [], "it comes too late");
    }

    /// Each copy of a request is answered after 5 s; the first response ends the exchange.
    #[test]
    fn the_first_response_ends_the_exchange() {
        let mut client = client(Some(1), 5e9);
        at_timer(&mut client, 0);
        assert_eq!(at_arrival(&mut client, End::Sender, message(REQUEST, 0), 0), []);
        at_timer(&mut client, 1);
        at_timer(&mut client, 3);
        let response = Action::Send(End::Sender, Bytes(200), message(RESPONSE, 0));
        assert_eq!(at_timer(&mut client, 5), [response]);
        let complete = [Action::Deliver(at(0)), Action::Record(at(0), Bytes(200)), Action::Finish];
        assert_eq!(at_arrival(&mut client, End::Receiver, message(RESPONSE, 0), 6), complete);
        assert_eq!(at_arrival(&mut client, End::Receiver, message(RESPONSE, 0), 7), []);
        assert_eq!(client.due(), NEVER);
    }

    /// By hand: the request of 0 s has no response at the stop at 0.5 s. It is sent again at 1 s, and its response ends the flow;
    /// a client without a request on its way ends at the stop.
    #[test]
    fn an_open_request_outlasts_the_stop() {
        let stopping = |stop| Client { stop, ..client(None, 0.0) };
        let mut waiting = stopping(Time::from_nanos(500_000_000));
        let mut actions = Vec::new();
        waiting.on_timer(at(0), &mut actions);
        let request = actions[1];
        actions.clear();
        waiting.on_timer(waiting.due(), &mut actions);
        assert_eq!((actions.len(), waiting.due()), (0, at(1)));
        waiting.on_timer(at(1), &mut actions);
        assert_eq!(std::mem::take(&mut actions), [request]);
        let response = Message { kind: RESPONSE, size: Bytes(200), since: at(0) };
        waiting.on_datagram(End::Receiver, response, at(2), &mut actions);
        let complete = [Action::Deliver(at(0)), Action::Record(at(0), Bytes(200)), Action::Finish];
        assert_eq!((&actions[..], waiting.due()), (&complete[..], NEVER));
        actions.clear();
        let mut idle = stopping(at(5));
        idle.on_timer(at(0), &mut Vec::new());
        idle.on_datagram(End::Receiver, response, at(2), &mut Vec::new());
        assert_eq!(idle.due(), at(5));
        idle.on_timer(at(5), &mut actions);
        assert_eq!((&actions[..], idle.due()), (&[Action::Finish][..], NEVER));
    }
}
