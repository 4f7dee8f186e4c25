//! Requests and responses: the client requests, the server responds, the client thinks and requests again.

use cwndlab_network::random::Stream;
use cwndlab_scenario::plan::{Distribution, Workload};
use cwndlab_units::{Bytes, Time};

use crate::sampling::{sample_pause, sample_size, OTHER_STREAM, SIZE_STREAM, TIME_STREAM};

/// The client.
#[derive(Debug)]
pub struct Client {
    request: Distribution,
    response: Distribution,
    think: Distribution,
    count: Option<u64>,
    new_connection: bool,
    response_sizes: Stream,
    request_sizes: Stream,
    think_times: Stream,
    started: u64,
    completed: u64,
}

/// A request, and what it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// It goes over a new connection.
    pub connect: bool,
    /// Size of the request.
    pub request: Bytes,
    /// Size of the response.
    pub response: Bytes,
}

impl Client {
    /// The client of a flow; `None` if its workload is another one.
    #[must_use]
    pub fn new(workload: &Workload, flow: u32, seed: u64) -> Option<Self> {
        let Workload::Exchanges { request, response, think, count, new_connection } = workload else { return None };
        let stream = |purpose| Stream::new(seed, purpose, u64::from(flow));
        Some(Self {
            request: request.clone(),
            response: response.clone(),
            think: think.clone(),
            count: *count,
            new_connection: *new_connection,
            response_sizes: stream(SIZE_STREAM),
            request_sizes: stream(OTHER_STREAM),
            think_times: stream(TIME_STREAM),
            started: 0,
            completed: 0,
        })
    }

    /// The next exchange.
    pub fn start_exchange(&mut self) -> Exchange {
        let connect = self.started == 0 || self.new_connection;
        self.started += 1;
        let response = sample_size(&self.response, &mut self.response_sizes);
        let request = sample_size(&self.request, &mut self.request_sizes);
        Exchange { connect, request, response }
    }

    /// A response is complete at `now`; returns when the next exchange starts, not after `stop`. `None` after the last one.
    pub fn on_response(&mut self, now: Time, stop: Time) -> Option<Time> {
        self.completed += 1;
        if self.count.is_some_and(|count| self.completed >= count) || stop <= now {
            return None;
        }
        let pause = sample_pause(&self.think, &mut self.think_times);
        Some((now + pause).min(stop))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(count: u64, new_connection: bool) -> Client {
        let workload = Workload::Exchanges {
            request: Distribution::Fixed(100.0),
            response: Distribution::Fixed(5_000.0),
            think: Distribution::Fixed(30.0),
            count: Some(count),
            new_connection,
        };
        Client::new(&workload, 0, 1).expect("the workload is request and response")
    }

    /// Three exchanges by hand: each starts 30 ns after the response before it, over the first one's connection.
    #[test]
    fn exchanges_follow_responses_until_the_count_is_reached() {
        let mut client = client(3, false);
        let exchange = |connect| Exchange { connect, request: Bytes(100), response: Bytes(5_000) };
        assert_eq!(client.start_exchange(), exchange(true));
        assert_eq!(client.on_response(Time(1_000), Time::MAX), Some(Time(1_030)));
        assert_eq!(client.start_exchange(), exchange(false));
        assert_eq!(client.on_response(Time(2_000), Time(2_010)), Some(Time(2_010)));
        assert_eq!(client.start_exchange(), exchange(false));
        assert_eq!(client.on_response(Time(3_000), Time::MAX), None);
    }

    #[test]
    fn each_exchange_has_a_connection_of_its_own_if_the_workload_says_so() {
        let mut client = client(2, true);
        assert!(client.start_exchange().connect && client.start_exchange().connect);
    }
}
