//! The times of an application's messages.

use cwndlab_config::{fields, Faults, Positive, Reader};
use cwndlab_network::random::{Purpose, Stream};
use cwndlab_units::{Duration, Time};

use crate::application::OfferedLoad;
use crate::dialogue::Action;
use crate::distribution::Distribution;
use crate::distribution_fields::PositiveTimes;
use crate::flow_context::FlowContext;
use crate::sampling::sample_pause;
use crate::NEVER;

fields! {
    /// The times of the messages.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Schedule {
        /// time between two messages or bursts; the exponential distribution gives a Poisson process
        period: PositiveTimes = required("'period = \"10 s\"'"),
        /// total number
        count: Option<Positive<u64>> = absent("unlimited"),
        /// number of messages that are generated at once, such as the alarms of one patient
        burst: Option<Positive<u32>> = absent("1"),
        /// largest number, if it is uniform from `burst` to this one
        burst_max: Option<Positive<u32>> = absent("`burst`"),
    }
    check
}

impl Schedule {
    /// A message each `period`.
    #[cfg(test)]
    pub(crate) fn each(period: Duration) -> Self {
        let period = Distribution::Fixed(period.as_nanos() as f64);
        Self { period, count: None, burst: None, burst_max: None }
    }

    fn check(&self, table: &Reader<'_>, faults: &mut Faults) {
        let (least, most) = self.burst_range();
        if least > most {
            faults.add(table.at("burst_max"), "is less than 'burst'", "");
        }
    }

    fn burst_range(&self) -> (u32, u32) {
        let least = self.burst.unwrap_or(1);
        (least, self.burst_max.unwrap_or(least))
    }

    /// The period, if it is constant.
    pub(crate) fn constant(&self) -> Option<Duration> {
        match self.period {
            Distribution::Fixed(period) => Some(Duration::from_nanos(period as u64)),
            _ => None,
        }
    }

    /// The messages as transfers.
    pub(crate) fn offered_load(&self) -> OfferedLoad {
        let (least, most) = self.burst_range();
        let burst = f64::midpoint(f64::from(least), f64::from(most));
        OfferedLoad::Transfers { per_second: 1e9 * burst / self.period.mean().max(1.0), count: self.count }
    }
}

/// The generation of messages by a schedule.
#[derive(Debug)]
pub(crate) struct Generation {
    schedule: Schedule,
    times: Stream,
    bursts: Stream,
    /// Time at which the generation stops; [`NEVER`] after it.
    stop: Time,
    /// Time of the next burst.
    next: Time,
    generated: u64,
    completed: u64,
    /// The connection has been opened, messages have started.
    opened: bool,
    started: bool,
    stage: Stage,
}

/// A stage of a dialogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It generates messages at their times.
    Open,
    /// It generates no more; those that it generated are still sent.
    Stopped,
    Finished,
}

impl Generation {
    /// A generation before its start.
    pub(crate) fn new(schedule: &Schedule, flow: &FlowContext) -> Self {
        let (times, bursts) = (flow.further_stream(Purpose::Time), flow.further_stream(Purpose::Size));
        let schedule = schedule.clone();
        Self {
            schedule,
            times,
            bursts,
            stop: flow.stop,
            next: NEVER,
            generated: 0,
            completed: 0,
            opened: false,
            started: false,
            stage: Stage::Open,
        }
    }

    /// Starts with a burst at `now`.
    pub(crate) fn start(&mut self, now: Time) {
        self.started = true;
        if self.stage == Stage::Open {
            self.next = now;
        }
    }

    /// Starts with a burst a period after `now`.
    pub(crate) fn start_after(&mut self, now: Time) {
        let pause = self.draw_pause();
        self.start(now + pause);
    }

    fn draw_pause(&mut self) -> Duration {
        sample_pause(&self.schedule.period, &mut self.times).max(Duration::from_nanos(1))
    }

    /// Time of the next burst; [`NEVER`] after the last one.
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// Time at which the generation stops; [`NEVER`] after it.
    pub(crate) fn stop(&self) -> Time {
        self.stop
    }

    /// Time of the next burst or of the stop; [`NEVER`] after the end of the dialogue.
    pub(crate) fn due(&self) -> Time {
        if self.is_finished() {
            NEVER
        } else {
            self.next.min(self.stop)
        }
    }

    /// Whether the messages have started and the dialogue has not ended.
    pub(crate) fn is_running(&self) -> bool {
        self.started && !self.is_finished()
    }

    /// Begins the client's timer at `now`: stops the generation at its time, and opens the connection at the first call.
    /// Returns whether the dialogue has ended, or that was all.
    pub(crate) fn opens_or_ends(&mut self, now: Time, actions: &mut Vec<Action>) -> bool {
        if self.ends(now, actions) {
            return true;
        }
        let opens = !std::mem::replace(&mut self.opened, true);
        if opens {
            actions.push(Action::Connect);
        }
        opens
    }

    /// Stops the generation at `now` if that is its time; returns whether the dialogue has ended. It ends when each message
    /// that was generated is complete.
    pub(crate) fn ends(&mut self, now: Time, actions: &mut Vec<Action>) -> bool {
        if now >= self.stop && !self.is_finished() {
            (self.stop, self.next, self.stage) = (NEVER, NEVER, Stage::Stopped);
            self.finish_if_complete(actions);
        }
        self.is_finished()
    }

    /// Number of messages that are generated at `now`.
    pub(crate) fn take(&mut self, now: Time) -> u64 {
        if now < self.next {
            return 0;
        }
        let (least, most) = self.schedule.burst_range();
        let random = if least == most { 0 } else { self.bursts.below(u64::from(most - least) + 1) };
        let left = self.schedule.count.map_or(u64::MAX, |count| count - self.generated);
        let number = (u64::from(least) + random).min(left);
        self.generated += number;
        let pause = self.draw_pause();
        self.next = if number == left { NEVER } else { self.next + pause };
        number
    }

    /// Counts a message that is complete; the last one ends the dialogue.
    pub(crate) fn complete(&mut self, actions: &mut Vec<Action>) {
        self.completed += 1;
        self.finish_if_complete(actions);
    }

    /// Whether the messages have started.
    pub(crate) fn has_started(&self) -> bool {
        self.started
    }

    /// Whether the dialogue has ended.
    pub(crate) fn is_finished(&self) -> bool {
        self.stage == Stage::Finished
    }

    /// Ends the dialogue if no message is left.
    fn finish_if_complete(&mut self, actions: &mut Vec<Action>) {
        let last = self.schedule.count.is_some_and(|count| self.completed >= count)
            || self.stage == Stage::Stopped && self.completed >= self.generated;
        if last && !self.is_finished() {
            self.stage = Stage::Finished;
            actions.push(Action::Finish);
        }
    }
}

#[cfg(test)]
mod tests {
    use cwndlab_units::Bytes;

    use super::*;

    fn generation(schedule: &Schedule, stop: Time) -> Generation {
        Generation::new(schedule, &FlowContext { flow: 0.into(), seed: 1, stop, header: Bytes(40) })
    }

    /// By hand: bursts of three messages each 10 ns; the fifth message is the last one and ends the dialogue.
    #[test]
    fn bursts_end_at_the_count() {
        let schedule = Schedule { count: Some(5), burst: Some(3), ..Schedule::each(Duration::from_nanos(10)) };
        let mut messages = generation(&schedule, NEVER);
        messages.start(Time::from_nanos(7));
        let mut actions = Vec::new();
        assert_eq!((messages.due().as_nanos(), messages.take(Time::from_nanos(7))), (7, 3));
        assert_eq!((messages.due().as_nanos(), messages.take(Time::from_nanos(17))), (17, 2));
        assert_eq!(messages.due(), NEVER);
        for completed in 1..=5 {
            assert!(actions.is_empty(), "{completed}");
            messages.complete(&mut actions);
        }
        assert_eq!(actions, [Action::Finish]);
    }

    /// Uniform from 2 to 5, as alarms at one bed: each number occurs.
    #[test]
    fn the_size_of_a_burst_is_uniform() {
        let schedule = Schedule { burst: Some(2), burst_max: Some(5), ..Schedule::each(Duration::from_nanos(10)) };
        let mut messages = generation(&schedule, NEVER);
        messages.start(Time::ZERO);
        let mut counts = [0_u32; 6];
        for _ in 0..4000 {
            counts[messages.take(messages.due()) as usize] += 1;
        }
        // 1000 each; five standard deviations are 137.
        assert!(counts[2..].iter().all(|&count| count.abs_diff(1000) < 140), "{counts:?}");
        assert_eq!(counts[..2], [0, 0]);
    }

    /// By hand: two messages at 0, of which one is complete at the stop at 5 ns. The other one ends the dialogue, once.
    #[test]
    fn the_last_message_before_the_stop_ends_the_dialogue() {
        let schedule = Schedule { burst: Some(2), ..Schedule::each(Duration::from_nanos(10)) };
        let mut messages = generation(&schedule, Time::from_nanos(5));
        messages.start(Time::ZERO);
        let mut actions = Vec::new();
        assert!(!messages.ends(Time::ZERO, &mut actions));
        messages.take(Time::ZERO);
        messages.complete(&mut actions);
        assert_eq!(messages.due(), Time::from_nanos(5));
        assert!(!messages.ends(Time::from_nanos(5), &mut actions) && messages.is_running());
        assert_eq!((messages.due(), messages.take(Time::from_nanos(10))), (NEVER, 0));
        assert!(actions.is_empty());
        messages.complete(&mut actions);
        assert!(messages.ends(Time::from_nanos(50), &mut actions));
        assert_eq!((messages.due(), actions), (NEVER, vec![Action::Finish]));
    }

    /// A dialogue without a message on its way ends at its stop, although it starts later.
    #[test]
    fn nothing_is_generated_after_the_stop() {
        let mut messages = generation(&Schedule::each(Duration::from_nanos(10)), Time::from_nanos(5));
        let mut actions = Vec::new();
        assert!(messages.ends(Time::from_nanos(5), &mut actions));
        messages.start(Time::from_nanos(7));
        assert_eq!((messages.take(Time::from_nanos(7)), actions), (0, vec![Action::Finish]));
    }
}
