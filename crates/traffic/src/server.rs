//! The responses of a server that needs time for each.

use std::collections::VecDeque;

use cwndlab_network::random::{Purpose, Stream};
use cwndlab_units::{Bytes, Duration, Time};

use crate::dialogue::{send_in_parts, Action, Message};
use crate::distribution::Distribution;
use crate::flow_context::FlowContext;
use crate::sampling::sample_pause;
use crate::NEVER;

/// A server that processes one request after another.
#[derive(Debug)]
pub(crate) struct Server {
    processing: Distribution,
    times: Stream,
    /// End of the processing of all requests so far.
    free: Time,
    /// Responses, each with the time at which it is ready and the sizes of its parts.
    responses: VecDeque<(Time, Vec<Bytes>, Message)>,
}

impl Server {
    /// A server whose processing times have this distribution.
    pub(crate) fn new(processing: &Distribution, flow: &FlowContext) -> Self {
        let times = flow.further_stream(Purpose::Other);
        Self { processing: processing.clone(), times, free: Time::ZERO, responses: VecDeque::new() }
    }

    /// Responds with `bytes` to a request that arrived at `now`, at once or after the processing time; returns the time of the
    /// response.
    pub(crate) fn respond(&mut self, bytes: Bytes, message: Message, now: Time, actions: &mut Vec<Action>) -> Time {
        self.respond_in_parts(&[bytes], message, now, actions)
    }

    /// The same in parts, each written on its own.
    pub(crate) fn respond_in_parts(
        &mut self,
        parts: &[Bytes],
        message: Message,
        now: Time,
        actions: &mut Vec<Action>,
    ) -> Time {
        let processing = sample_pause(&self.processing, &mut self.times);
        if processing == Duration::ZERO && self.responses.is_empty() {
            send_in_parts(parts, message, actions);
            return now;
        }
        self.free = self.free.max(now) + processing;
        self.responses.push_back((self.free, parts.to_vec(), message));
        self.free
    }

    /// Time at which the next response is ready.
    pub(crate) fn due(&self) -> Time {
        self.responses.front().map_or(NEVER, |(due, ..)| *due)
    }

    /// Sends the responses that are ready at `now`.
    pub(crate) fn on_timer(&mut self, now: Time, actions: &mut Vec<Action>) {
        while self.due() <= now {
            let Some((_, parts, message)) = self.responses.pop_front() else { break };
            send_in_parts(&parts, message, actions);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: requests at 0 and 10 ns with 30 ns each are answered at 30 and 60 ns.
    #[test]
    fn requests_are_processed_one_after_another() {
        let flow = FlowContext { flow: 0.into(), seed: 1, stop: NEVER, header: Bytes(40) };
        let mut server = Server::new(&Distribution::Fixed(30.0), &flow);
        let mut actions = Vec::new();
        let response = |kind| Message { kind, size: Bytes(1), since: Time::ZERO };
        for (kind, now) in [(0, 0), (1, 10)] {
            server.respond(Bytes(5), response(kind), Time::from_nanos(now), &mut actions);
        }
        assert!(actions.is_empty());
        for (kind, due) in [(0, 30), (1, 60)] {
            assert_eq!(server.due(), Time::from_nanos(due));
            server.on_timer(server.due(), &mut actions);
            assert_eq!(std::mem::take(&mut actions), [Action::Send(Bytes(5), response(kind))]);
        }
        assert_eq!(server.due(), NEVER);
    }
}
