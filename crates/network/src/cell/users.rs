//! The users of a cell: the states of RRC.

use cwndlab_units::{Duration, Time};

use super::config::Rrc;

/// State of the connection of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RrcState {
    /// Released; a packet connects the user again.
    Idle,
    /// On the way to connected.
    Promotion,
    /// Connected.
    Connected,
}

/// A user.
#[derive(Clone, Copy, Debug)]
pub(super) struct User {
    /// It is connected from this time on.
    ready: Time,
    /// Time of the last packet, before which it was connected.
    last: Option<Time>,
    /// Packets of its bearers.
    pub(super) held: u64,
    /// Offset of its paging occasions.
    phase: Duration,
}

impl User {
    pub(super) fn new(phase: Duration) -> Self {
        Self { ready: Time::ZERO, last: None, held: 0, phase }
    }

    pub(super) fn state(&self, now: Time, rrc: Option<&Rrc>) -> RrcState {
        let Some(rrc) = rrc else { return RrcState::Connected };
        match self.last {
            _ if now < self.ready => RrcState::Promotion,
            Some(last) if self.held > 0 || now <= last + rrc.inactivity => RrcState::Connected,
            _ => RrcState::Idle,
        }
    }

    /// Whether the user can send and receive.
    pub(super) fn is_connected(&self, now: Time) -> bool {
        now >= self.ready
    }

    /// A packet of the user arrives at the cell; returns the time until it is connected if the promotion begins.
    pub(super) fn on_arrival(&mut self, now: Time, uplink: bool, rrc: Option<&Rrc>) -> Option<Duration> {
        let rrc = rrc?;
        let state = self.state(now, Some(rrc));
        self.last = Some(now);
        let begin = if uplink { now } else { self.paging(now, rrc.paging_cycle) };
        match state {
            RrcState::Connected => None,
            RrcState::Promotion => {
                // A device that waits for its paging connects on its own.
                self.ready = self.ready.min(begin + rrc.promotion);
                None
            }
            RrcState::Idle => {
                self.ready = begin + rrc.promotion;
                Some(self.ready - now)
            }
        }
    }

    /// A packet of the user leaves the cell.
    pub(super) fn on_departure(&mut self, now: Time) {
        self.held -= 1;
        self.last = Some(now);
    }

    /// The next paging occasion.
    fn paging(&self, now: Time, cycle: Duration) -> Time {
        let phase = self.phase.as_nanos() % cycle.as_nanos();
        let since = now.as_nanos().saturating_sub(phase);
        Time::from_nanos(phase + since.next_multiple_of(cycle.as_nanos()))
    }
}
