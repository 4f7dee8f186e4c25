//! Requests and responses with think times between a response and the next request.

use cwndlab_config::{fields, Positive, Table};
use cwndlab_network::random::{Purpose, Stream};
use cwndlab_units::Time;

use crate::application::{Application, ApplicationKind};
use crate::configuration::Configuration;
use crate::dialogue::{Action, Dialogue, End, Message};
use crate::distribution::Distribution;
use crate::distribution_fields::{PositiveSizes, Times};
use crate::flow_context::FlowContext;
use crate::repetition::Repetition;
use crate::sampling::sample_size;

/// The declaration of the workload.
pub static SPEC: Table = Table::new(
    "request-response",
    "Requests and responses. The flow's receiver is the client: requests travel against the flow's direction, responses in it (TCP).",
    &[Config::FIELDS],
)
.class("RequestResponse");

fields! {
    /// The configuration of the workload.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// sizes of requests
        request: PositiveSizes = required("'request = \"20 kB\"'"),
        /// sizes of responses
        response: PositiveSizes = required("'response = \"20 kB\"'"),
        /// time from the end of a response to the next request
        think: Times = "0 s",
        /// total number
        count: Option<Positive<u64>> = absent("unlimited"),
        /// a separate connection for each
        new_connection: bool = false,
    }
}

/// The end that requests opens the connection.
const OPENER: End = End::Receiver;

impl Configuration for Config {
    fn application_kind(&self) -> ApplicationKind {
        ApplicationKind::Dialogue(OPENER)
    }

    fn application(&self, flow: &FlowContext) -> Application {
        Application::Dialogue(Box::new(RequestResponse::new(self, flow)))
    }

    fn secondary_connections(&self) -> u32 {
        1
    }
}

/// A request, with the size of its response.
const REQUEST: u8 = 0;
/// A response, with its size.
const RESPONSE: u8 = 1;

/// The state of client and server.
#[derive(Debug)]
struct RequestResponse {
    request: Distribution,
    response: Distribution,
    response_sizes: Stream,
    request_sizes: Stream,
    exchanges: Repetition,
}

impl RequestResponse {
    fn new(config: &Config, flow: &FlowContext) -> Self {
        Self {
            request: config.request.clone(),
            response: config.response.clone(),
            response_sizes: flow.stream(Purpose::Size),
            request_sizes: flow.stream(Purpose::Other),
            exchanges: Repetition::new(config.count, config.new_connection, &config.think, flow),
        }
    }
}

impl Dialogue for RequestResponse {
    fn opener(&self) -> End {
        OPENER
    }

    fn due(&self) -> Time {
        self.exchanges.due
    }

    fn on_timer(&mut self, now: Time, actions: &mut Vec<Action>) {
        if self.exchanges.on_timer(now, actions) {
            let response = sample_size(&self.response, &mut self.response_sizes);
            self.exchanges.begin(now, response, actions);
            let request = sample_size(&self.request, &mut self.request_sizes);
            actions.push(Action::Send(request, Message { kind: REQUEST, size: response, since: now }));
        }
    }

    fn on_message(&mut self, message: Message, now: Time, actions: &mut Vec<Action>) {
        if message.kind == REQUEST {
            actions.push(Action::Send(message.size, Message { kind: RESPONSE, ..message }));
        } else {
            self.exchanges.complete(message.since, message.size, now, actions);
        }
    }
}

#[cfg(test)]
mod tests {
    use cwndlab_units::Bytes;

    use super::*;
    use crate::NEVER;

    fn client(count: u64, new_connection: bool, stop: Time) -> RequestResponse {
        let config = Config {
            request: Distribution::Fixed(100.0),
            response: Distribution::Fixed(5_000.0),
            think: Distribution::Fixed(30.0),
            count: Some(count),
            new_connection,
        };
        RequestResponse::new(&config, &FlowContext { flow: 0.into(), seed: 1, stop, header: Bytes(40) })
    }

    fn at_timer(client: &mut RequestResponse, now: u64) -> Vec<Action> {
        let mut actions = Vec::new();
        client.on_timer(Time::from_nanos(now), &mut actions);
        actions
    }

    /// The actions at `now`, when the response to the request sent at `since` reaches the client.
    fn at_response(client: &mut RequestResponse, since: u64, now: u64) -> Vec<Action> {
        let mut reply = Vec::new();
        let mut actions = Vec::new();
        let request = Message { kind: REQUEST, size: Bytes(5_000), since: Time::from_nanos(since) };
        client.on_message(request, Time::from_nanos(now), &mut reply);
        let response = Message { kind: RESPONSE, ..request };
        assert_eq!(reply, [Action::Send(Bytes(5_000), response)]);
        client.on_message(response, Time::from_nanos(now), &mut actions);
        actions
    }

    /// By hand: three exchanges over one connection, each 30 ns after the previous response.
    #[test]
    fn exchanges_follow_responses_until_the_count_is_reached() {
        let mut client = client(3, false, NEVER);
        let request = |since| {
            let size = Bytes(5_000);
            Action::Send(Bytes(100), Message { kind: REQUEST, size, since: Time::from_nanos(since) })
        };
        let offer = |since| Action::Offer(Time::from_nanos(since), Bytes(5_000));
        let complete = |since| {
            let start = Time::from_nanos(since);
            vec![Action::Deliver(start), Action::Record(start, Bytes(5_000))]
        };
        assert_eq!(at_timer(&mut client, 0), [Action::Connect, offer(0), request(0)]);
        assert_eq!((at_response(&mut client, 0, 1_000), client.due()), (complete(0), Time::from_nanos(1_030)));
        assert_eq!(at_timer(&mut client, 1_030), [offer(1_030), request(1_030)]);
        assert_eq!((at_response(&mut client, 1_030, 2_000), client.due()), (complete(1_030), Time::from_nanos(2_030)));
        assert_eq!(at_timer(&mut client, 2_030), [offer(2_030), request(2_030)]);
        let last = at_response(&mut client, 2_030, 3_000);
        assert_eq!(last, [complete(2_030), vec![Action::Finish]].concat());
        assert_eq!(client.due(), NEVER);
    }

    #[test]
    fn no_request_is_sent_after_the_stop() {
        let mut client = client(3, false, Time::from_nanos(1_010));
        at_timer(&mut client, 0);
        at_response(&mut client, 0, 1_000);
        assert_eq!(client.due(), Time::from_nanos(1_010));
        assert_eq!(at_timer(&mut client, 1_010), [Action::Finish]);
    }

    #[test]
    fn new_connection_opens_a_connection_for_each_exchange() {
        let mut client = client(2, true, NEVER);
        assert_eq!(at_timer(&mut client, 0)[0], Action::Connect);
        at_response(&mut client, 0, 1_000);
        assert_eq!(at_timer(&mut client, 1_030)[0], Action::Connect);
    }
}
