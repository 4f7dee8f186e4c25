//! Bulk data, on-off periods and transfers one after another: an application that only writes.

use cwndlab_network::random::Stream;
use cwndlab_scenario::plan::{Distribution, Workload};
use cwndlab_units::{Bytes, Duration, Time};

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

#[derive(Debug)]
enum Kind {
    Bulk { bytes: Option<Bytes> },
    OnOff { on: Duration, off: Duration },
    RandomOnOff { on: Distribution, off: Distribution, times: Box<Stream> },
    Transfers { count: Option<u64>, bytes: Bytes, gap: Duration, new_connection: bool },
    Other,
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
    kind: Kind,
    stage: Stage,
    /// When it stops.
    pub stop: Time,
    transfer: Transfer,
}

impl ByteSource {
    /// The application of a flow, which stops at `stop`. Of other workloads it keeps only whether they are done.
    #[must_use]
    pub fn new(workload: &Workload, stop: Time, flow: u32, seed: u64) -> Self {
        let kind = match workload {
            Workload::Bulk { bytes } => Kind::Bulk { bytes: *bytes },
            Workload::OnOff { on, off } => Kind::OnOff { on: *on, off: *off },
            Workload::RandomOnOff { on, off } => Kind::RandomOnOff {
                on: on.clone(),
                off: off.clone(),
                times: Box::new(Stream::new(seed, TIME_STREAM, u64::from(flow))),
            },
            &Workload::Transfers { count, bytes, gap, new_connection } => {
                Kind::Transfers { count, bytes, gap, new_connection }
            }
            Workload::Arrivals { .. } | Workload::Exchanges { .. } | Workload::Mqtt(_) | Workload::Datagrams { .. } => {
                Kind::Other
            }
        };
        Self { kind, stage: Stage::Before, stop, transfer: Transfer::default() }
    }

    /// Makes it the source of one transfer, which has not begun.
    pub fn assign(&mut self, number: u64, bytes: Bytes) {
        self.kind = Kind::Bulk { bytes: Some(bytes) };
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
                let reopens = matches!(self.kind, Kind::Transfers { new_connection: true, .. });
                (if reopens { Action::Reopen(bytes) } else { Action::Write(bytes) }, next)
            }
            Stage::Done => (Action::Nothing, NEVER),
        };
        (action, next.min(self.stop))
    }

    /// Begins an active period or a transfer; returns its bytes, and its end.
    fn begin(&mut self, now: Time) -> (Option<Bytes>, Time) {
        self.stage = Stage::Sending;
        match &mut self.kind {
            Kind::Bulk { bytes: None } => (None, NEVER),
            &mut (Kind::Bulk { bytes: Some(bytes) } | Kind::Transfers { bytes, .. }) => {
                (self.transfer.start, self.transfer.bytes) = (now, bytes);
                (Some(bytes), NEVER)
            }
            Kind::OnOff { on, .. } => (None, now + *on),
            Kind::RandomOnOff { on, times, .. } => (None, now + sample_period(on, times)),
            Kind::Other => (Some(Bytes::ZERO), NEVER),
        }
    }

    /// Length of the silence after an active period.
    fn silence(&mut self) -> Duration {
        match &mut self.kind {
            Kind::OnOff { off, .. } => *off,
            Kind::RandomOnOff { off, times, .. } => sample_pause(off, times),
            Kind::Bulk { .. } | Kind::Transfers { .. } | Kind::Other => Duration::MAX,
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
        match self.kind {
            _ if self.stage == Stage::Done => Drained::Done,
            Kind::Bulk { bytes: Some(_) } if self.stage == Stage::Sending => Drained::Done,
            Kind::Transfers { count, gap, .. } if self.stage == Stage::Sending => {
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

    /// By hand: on for 5 ns, off for 3 ns, from 10 ns to 22 ns.
    #[test]
    fn periods_alternate_until_the_stop() {
        let workload = Workload::OnOff { on: Duration(5), off: Duration(3) };
        let mut source = ByteSource::new(&workload, Time(22), 0, 1);
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
        let workload = Workload::Transfers { count: Some(2), bytes, gap, new_connection: true };
        let mut source = ByteSource::new(&workload, NEVER, 0, 1);
        assert_eq!(source.on_timer(Time(0)), (Action::Open(Some(bytes)), NEVER));
        assert_eq!(source.complete_transfer(), Transfer { number: 0, start: Time(0), bytes });
        assert_eq!(source.on_drained(Time(40)), Drained::Wait(Time(47)));
        assert_eq!(source.on_timer(Time(47)), (Action::Reopen(Some(bytes)), NEVER));
        assert_eq!(source.complete_transfer(), Transfer { number: 1, start: Time(47), bytes });
        assert_eq!(source.on_drained(Time(90)), Drained::Done);
    }
}
