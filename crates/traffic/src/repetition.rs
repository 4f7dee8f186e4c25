//! The repeated exchanges of a client, with pauses between them.

use cwndlab_network::random::{Purpose, Stream};
use cwndlab_units::{Bytes, Time};

use crate::dialogue::Action;
use crate::distribution::Distribution;
use crate::flow_context::FlowContext;
use crate::sampling::sample_pause;
use crate::NEVER;

/// The exchanges of a client: requests and responses, or pages.
#[derive(Debug)]
pub(crate) struct Repetition {
    count: Option<u64>,
    /// The next exchange opens a connection.
    pub(crate) new_connection: bool,
    stop: Time,
    think: Distribution,
    times: Stream,
    started: u64,
    completed: u64,
    /// Due time of the client's timer.
    pub(crate) due: Time,
}

impl Repetition {
    /// `count` exchanges (`None`: unlimited) with pauses drawn from `think`; with `new_connection` each has its own
    /// connection.
    pub(crate) fn new(count: Option<u64>, new_connection: bool, think: &Distribution, flow: &FlowContext) -> Self {
        let stop = flow.stop;
        let times = flow.stream(Purpose::Time);
        Self { count, new_connection, stop, think: think.clone(), times, started: 0, completed: 0, due: NEVER }
    }

    /// Handles the timer, which is due at `now`; returns whether the client continues. Otherwise the dialogue ends.
    pub(crate) fn on_timer(&mut self, now: Time, actions: &mut Vec<Action>) -> bool {
        self.due = NEVER;
        let continues = now < self.stop;
        if !continues {
            actions.push(Action::Finish);
        }
        continues
    }

    /// Starts the next exchange at `now`, of `size` bytes as far as its client knows.
    pub(crate) fn begin(&mut self, now: Time, size: Bytes, actions: &mut Vec<Action>) {
        if self.started == 0 || self.new_connection {
            actions.push(Action::Connect);
        }
        self.started += 1;
        actions.push(Action::Offer(now, size));
    }

    /// Sets the timer after a pause within an exchange, drawn from this distribution. It may end after the stop: what has
    /// started continues.
    pub(crate) fn pause(&mut self, pause: &Distribution, now: Time) {
        self.due = now + sample_pause(pause, &mut self.times);
    }

    /// Clears the timer after such a pause.
    pub(crate) fn resume(&mut self) {
        self.due = NEVER;
    }

    /// Number of exchanges that start together, `most` at most.
    pub(crate) fn batch(&self, most: u64) -> u64 {
        self.count.map_or(most, |count| most.min(count - self.started))
    }

    /// Completes at `now` an exchange of `size` bytes that started at `since`; after the last one of those that started
    /// together the pause begins.
    pub(crate) fn complete(&mut self, since: Time, size: Bytes, now: Time, actions: &mut Vec<Action>) {
        self.completed += 1;
        actions.extend([Action::Deliver(since), Action::Record(since, size)]);
        if self.completed < self.started {
            return;
        }
        if self.count.is_some_and(|count| self.completed >= count) || self.stop <= now {
            actions.push(Action::Finish);
            return;
        }
        let pause = sample_pause(&self.think, &mut self.times);
        self.due = (now + pause).min(self.stop);
    }
}
