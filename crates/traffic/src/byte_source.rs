//! An application that only writes: bulk data, on-off periods or consecutive transfers.

use cwndlab_network::random::{Purpose, Stream};
use cwndlab_units::{Bytes, Duration, Time};

use crate::action::Action;
use crate::distribution::Distribution;
use crate::flow_context::FlowContext;
use crate::sampling::{sample_pause, sample_period};
use crate::write_schedule::WriteSchedule;
use crate::NEVER;

/// The action of an application when all written data are acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drained {
    /// End the flow.
    Done,
    /// Continue at this time.
    Wait(Time),
    /// No action.
    Nothing,
}

/// A transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfer {
    /// Number of the transfer, from 0.
    pub number: u64,
    /// Start time.
    pub start: Time,
    /// Size of the transfer.
    pub bytes: Bytes,
}

/// The pattern of an application's writes.
#[derive(Clone, Debug)]
pub enum WritePattern {
    /// A number of bytes; `None`: unlimited data.
    Once(Option<Bytes>),
    /// Unlimited data in active periods, none in silent periods.
    Periods {
        /// Lengths of active periods.
        on: Distribution,
        /// Lengths of silent periods.
        off: Distribution,
    },
    /// Consecutive transfers.
    Transfers {
        /// Number of transfers; `None`: unlimited.
        count: Option<u64>,
        /// Size of a transfer.
        bytes: Bytes,
        /// Time from the last acknowledgement of a transfer to the start of the next one.
        gap: Duration,
        /// Each transfer has its own connection.
        new_connection: bool,
    },
    /// Writes at a rate that changes at given times.
    Scheduled(Box<WriteSchedule>),
    /// No writes: another application writes.
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Before,
    Sending,
    Silent,
    Done,
}

/// An application that only writes.
#[derive(Debug)]
pub struct ByteSource {
    pattern: WritePattern,
    /// Random stream for the lengths of periods.
    times: Option<Box<Stream>>,
    stage: Stage,
    /// Time at which the application stops.
    pub stop: Time,
    /// Data that the receiver has in all at the end of the transfer.
    pub awaited: Bytes,
    transfer: Transfer,
}

impl ByteSource {
    /// The application of a flow.
    #[must_use]
    pub fn new(pattern: WritePattern, flow: &FlowContext) -> Self {
        let draws = matches!(pattern, WritePattern::Periods { .. });
        let times = draws.then(|| Box::new(flow.stream(Purpose::Time)));
        Self { times, ..Self::of(pattern, flow.stop) }
    }

    /// An application without writes, which holds only the stop time and the end of a flow.
    #[must_use]
    pub fn idle(stop: Time) -> Self {
        Self::of(WritePattern::Nothing, stop)
    }

    fn of(pattern: WritePattern, stop: Time) -> Self {
        let (stage, awaited, transfer) = (Stage::Before, Bytes::ZERO, Transfer::default());
        Self { pattern, times: None, stage, stop, awaited, transfer }
    }

    /// Assigns one transfer, which has not started.
    pub fn assign(&mut self, number: u64, bytes: Bytes) {
        self.pattern = WritePattern::Once(Some(bytes));
        self.stage = Stage::Before;
        self.transfer.number = number;
    }

    /// Handles the timer, which is due at `now`; returns the action and the next timer.
    pub fn on_timer(&mut self, now: Time) -> (Action, Time) {
        if now >= self.stop {
            self.stage = Stage::Done;
            return (Action::Stop, NEVER);
        }
        if let WritePattern::Scheduled(schedule) = &mut self.pattern {
            self.stage = Stage::Sending;
            let (action, next) = schedule.on_timer(now);
            return (action, next.min(self.stop));
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
                let reopens = matches!(self.pattern, WritePattern::Transfers { new_connection: true, .. });
                (if reopens { Action::Reopen(bytes) } else { Action::Write(bytes) }, next)
            }
            Stage::Done => (Action::Nothing, NEVER),
        };
        (action, next.min(self.stop))
    }

    /// Starts an active period or a transfer; returns its size and its end.
    fn begin(&mut self, now: Time) -> (Option<Bytes>, Time) {
        self.stage = Stage::Sending;
        match &self.pattern {
            WritePattern::Once(None) => (None, NEVER),
            &(WritePattern::Once(Some(bytes)) | WritePattern::Transfers { bytes, .. }) => {
                (self.transfer.start, self.transfer.bytes) = (now, bytes);
                (Some(bytes), NEVER)
            }
            WritePattern::Periods { on, .. } => {
                let end = self.times.as_mut().map_or(NEVER, |times| now + sample_period(on, times));
                (None, end)
            }
            WritePattern::Scheduled(_) | WritePattern::Nothing => (Some(Bytes::ZERO), NEVER),
        }
    }

    /// Length of the silent period after an active one.
    fn silence(&mut self) -> Duration {
        match (&self.pattern, &mut self.times) {
            (WritePattern::Periods { off, .. }, Some(times)) => sample_pause(off, times),
            _ => Duration::MAX,
        }
    }

    /// The transfer that was written last and is not complete.
    #[must_use]
    pub fn transfer(&self) -> Transfer {
        self.transfer
    }

    /// Completes the transfer, which the receiver has in full, and returns it.
    pub fn complete_transfer(&mut self) -> Transfer {
        let done = self.transfer;
        self.transfer.number += 1;
        done
    }

    /// Handles the acknowledgement of all written data at `now`.
    pub fn on_drained(&mut self, now: Time) -> Drained {
        match self.pattern {
            _ if self.stage == Stage::Done => Drained::Done,
            WritePattern::Once(Some(_)) if self.stage == Stage::Sending => Drained::Done,
            WritePattern::Transfers { count, gap, .. } if self.stage == Stage::Sending => {
                if count.is_some_and(|count| self.transfer.number >= count) {
                    return Drained::Done;
                }
                self.stage = Stage::Silent;
                Drained::Wait((now + gap).min(self.stop))
            }
            _ => Drained::Nothing,
        }
    }

    /// Marks the connection as opened by another application.
    pub fn start(&mut self) {
        self.stage = Stage::Sending;
    }

    /// Ends the application.
    pub fn finish(&mut self) {
        self.stage = Stage::Done;
    }

    /// Whether the application has ended.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.stage == Stage::Done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(pattern: WritePattern, stop: Time) -> ByteSource {
        ByteSource::new(pattern, &FlowContext { flow: 0.into(), seed: 1, stop, header: Bytes(40) })
    }

    /// By hand: active for 5 ns, silent for 3 ns, from 10 ns to 22 ns.
    #[test]
    fn periods_alternate_until_the_stop() {
        let on = Distribution::Fixed(5.0);
        let off = Distribution::Fixed(3.0);
        let mut source = source(WritePattern::Periods { on, off }, Time::from_nanos(22));
        assert_eq!(source.on_timer(Time::from_nanos(10)), (Action::Open(None), Time::from_nanos(15)));
        assert_eq!(source.on_timer(Time::from_nanos(15)), (Action::Pause, Time::from_nanos(18)));
        assert_eq!(source.on_timer(Time::from_nanos(18)), (Action::Write(None), Time::from_nanos(22)));
        assert_eq!(source.on_timer(Time::from_nanos(22)), (Action::Stop, NEVER));
        assert!(source.is_done());
    }

    /// Two transfers of 100 bytes, 7 ns apart, each with its own connection.
    #[test]
    fn a_transfer_follows_the_acknowledgement_of_the_previous_one() {
        let bytes = Bytes(100);
        let gap = Duration::from_nanos(7);
        let mut source = source(WritePattern::Transfers { count: Some(2), bytes, gap, new_connection: true }, NEVER);
        assert_eq!(source.on_timer(Time::from_nanos(0)), (Action::Open(Some(bytes)), NEVER));
        assert_eq!(source.complete_transfer(), Transfer { number: 0, start: Time::from_nanos(0), bytes });
        assert_eq!(source.on_drained(Time::from_nanos(40)), Drained::Wait(Time::from_nanos(47)));
        assert_eq!(source.on_timer(Time::from_nanos(47)), (Action::Reopen(Some(bytes)), NEVER));
        assert_eq!(source.complete_transfer(), Transfer { number: 1, start: Time::from_nanos(47), bytes });
        assert_eq!(source.on_drained(Time::from_nanos(90)), Drained::Done);
    }
}
