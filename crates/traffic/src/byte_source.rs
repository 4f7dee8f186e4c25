//! Bulk data, on-off periods and transfers one after another: an application that only writes.

use cwndlab_network::random::Stream;
use cwndlab_units::{Bytes, Duration, Time};

use crate::distribution::Distribution;
use crate::flow_context::FlowContext;
use crate::sampling::{sample_pause, sample_period, TIME_STREAM};
use crate::NEVER;

/// What the application does at its timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Opens the connection and writes so much; `None` is endless.
    Open(Option<Bytes>),
    /// Opens another connection in place of the last one, and writes.
    Reopen(Option<Bytes>),
    /// Writes on the open connection.
    Write(Option<Bytes>),
    /// Stops writing for a while.
    Pause,
    /// Stops writing for good.
    Stop,
    /// Nothing.
    Nothing,
}

/// What the application does when everything it wrote is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drained {
    /// It is done.
    Done,
    /// It continues at this time.
    Wait(Time),
    /// Nothing.
    Nothing,
}

/// A transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfer {
    /// Its number.
    pub number: u64,
    /// When it started.
    pub start: Time,
    /// Its size.
    pub bytes: Bytes,
}

/// What the application writes, and when.
#[derive(Clone, Debug)]
pub enum Script {
    /// So much, or without end.
    Once(Option<Bytes>),
    /// As much as possible in active periods, nothing in silent ones.
    Periods {
        /// Lengths of active periods.
        on: Distribution,
        /// Lengths of silent ones.
        off: Distribution,
    },
    /// One transfer after another.
    Transfers {
        /// How many; `None` is without end.
        count: Option<u64>,
        /// Size of each.
        bytes: Bytes,
        /// From the last acknowledgement of one to the start of the next.
        gap: Duration,
        /// Each over a connection of its own.
        new_connection: bool,
    },
    /// Nothing: another application writes.
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Before,
    Sending,
    Silent,
    Done,
}

/// The application.
#[derive(Debug)]
pub struct ByteSource {
    script: Script,
    /// Draws the lengths of periods.
    times: Option<Box<Stream>>,
    stage: Stage,
    /// When it stops.
    pub stop: Time,
    transfer: Transfer,
}

impl ByteSource {
    /// The application of a flow.
    #[must_use]
    pub fn new(script: Script, flow: &FlowContext) -> Self {
        let draws = matches!(script, Script::Periods { .. });
        let times = draws.then(|| Box::new(flow.stream(TIME_STREAM)));
        Self { script, times, stage: Stage::Before, stop: flow.stop, transfer: Transfer::default() }
    }

    /// One that writes nothing: it keeps when a flow stops, and whether it is done.
    #[must_use]
    pub fn idle(stop: Time) -> Self {
        Self { script: Script::Nothing, times: None, stage: Stage::Before, stop, transfer: Transfer::default() }
    }

    /// Makes it the source of one transfer, which has not begun.
    pub fn assign(&mut self, number: u64, bytes: Bytes) {
        self.script = Script::Once(Some(bytes));
        self.stage = Stage::Before;
        self.transfer.number = number;
    }

    /// The timer is due at `now`; returns what to do, and when the timer is due next.
    pub fn on_timer(&mut self, now: Time) -> (Action, Time) {
        if now >= self.stop {
            self.stage = Stage::Done;
            return (Action::Stop, NEVER);
        }
        let (action, next) = match self.stage {
            Stage::Before => {
                let (bytes, next) = self.begin(now);
                (Action::Open(bytes), next)
            }
            Stage::Sending => {
                self.stage = Stage::Silent;
                (Action::Pause, now + self.silence())
            }
            Stage::Silent => {
                let (bytes, next) = self.begin(now);
                let reopens = matches!(self.script, Script::Transfers { new_connection: true, .. });
                (if reopens { Action::Reopen(bytes) } else { Action::Write(bytes) }, next)
            }
            Stage::Done => (Action::Nothing, NEVER),
        };
        (action, next.min(self.stop))
    }

    /// Begins an active period or a transfer; returns its bytes, and its end.
    fn begin(&mut self, now: Time) -> (Option<Bytes>, Time) {
        self.stage = Stage::Sending;
        match &self.script {
            Script::Once(None) => (None, NEVER),
            &(Script::Once(Some(bytes)) | Script::Transfers { bytes, .. }) => {
                (self.transfer.start, self.transfer.bytes) = (now, bytes);
                (Some(bytes), NEVER)
            }
            Script::Periods { on, .. } => {
                let end = self.times.as_mut().map_or(NEVER, |times| now + sample_period(on, times));
                (None, end)
            }
            Script::Nothing => (Some(Bytes::ZERO), NEVER),
        }
    }

    /// Length of the silence after an active period.
    fn silence(&mut self) -> Duration {
        match (&self.script, &mut self.times) {
            (Script::Periods { off, .. }, Some(times)) => sample_pause(off, times),
            _ => Duration::MAX,
        }
    }

    /// The receiver has the whole transfer; returns it.
    pub fn complete_transfer(&mut self) -> Transfer {
        let done = self.transfer;
        self.transfer.number += 1;
        done
    }

    /// Everything written is acknowledged at `now`.
    pub fn on_drained(&mut self, now: Time) -> Drained {
        match self.script {
            _ if self.stage == Stage::Done => Drained::Done,
            Script::Once(Some(_)) if self.stage == Stage::Sending => Drained::Done,
            Script::Transfers { count, gap, .. } if self.stage == Stage::Sending => {
                if count.is_some_and(|count| self.transfer.number >= count) {
                    return Drained::Done;
                }
                self.stage = Stage::Silent;
                Drained::Wait((now + gap).min(self.stop))
            }
            _ => Drained::Nothing,
        }
    }

    /// Another application opened the connection.
    pub fn start(&mut self) {
        self.stage = Stage::Sending;
    }

    /// It is done.
    pub fn finish(&mut self) {
        self.stage = Stage::Done;
    }

    /// Whether it is done.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.stage == Stage::Done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(script: Script, stop: Time) -> ByteSource {
        ByteSource::new(script, &FlowContext { flow: 0, seed: 1, stop, header: Bytes(40) })
    }

    /// By hand: on for 5 ns, off for 3 ns, from 10 ns to 22 ns.
    #[test]
    fn periods_alternate_until_the_stop() {
        let (on, off) = (Distribution::Fixed(5.0), Distribution::Fixed(3.0));
        let mut source = source(Script::Periods { on, off }, Time(22));
        assert_eq!(source.on_timer(Time(10)), (Action::Open(None), Time(15)));
        assert_eq!(source.on_timer(Time(15)), (Action::Pause, Time(18)));
        assert_eq!(source.on_timer(Time(18)), (Action::Write(None), Time(22)));
        assert_eq!(source.on_timer(Time(22)), (Action::Stop, NEVER));
        assert!(source.is_done());
    }

    /// Two transfers of 100 bytes, 7 ns apart, over connections of their own.
    #[test]
    fn transfers_follow_the_acknowledgement_of_the_last_one() {
        let (bytes, gap) = (Bytes(100), Duration(7));
        let mut source = source(Script::Transfers { count: Some(2), bytes, gap, new_connection: true }, NEVER);
        assert_eq!(source.on_timer(Time(0)), (Action::Open(Some(bytes)), NEVER));
        assert_eq!(source.complete_transfer(), Transfer { number: 0, start: Time(0), bytes });
        assert_eq!(source.on_drained(Time(40)), Drained::Wait(Time(47)));
        assert_eq!(source.on_timer(Time(47)), (Action::Reopen(Some(bytes)), NEVER));
        assert_eq!(source.complete_transfer(), Transfer { number: 1, start: Time(47), bytes });
        assert_eq!(source.on_drained(Time(90)), Drained::Done);
    }
}
