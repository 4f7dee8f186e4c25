//! Counters of dropped and lost packets. A loss counts from the time at which it happens.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use cwndlab_units::{ConnectionId, IndexVec, Time};

/// Packets of a connection lost in the data direction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Losses {
    /// Packets dropped by queues.
    pub queue: u64,
    /// Packets lost on wires.
    pub wire: u64,
}

/// Losses that links computed ahead of the clock, as (time, connection, whether on a wire).
#[derive(Debug, Default)]
pub(crate) struct UpcomingLosses {
    first: BinaryHeap<Reverse<(Time, ConnectionId, bool)>>,
    /// Those that another part of a [divided network](crate::division) does not know yet; `None` without one.
    reported: Option<Vec<(Time, ConnectionId, bool)>>,
}

impl UpcomingLosses {
    /// Adds a loss at the time `at` that this part of the network has computed.
    pub(crate) fn push(&mut self, at: Time, connection: ConnectionId, by_wire: bool) {
        self.adopt((at, connection, by_wire));
        if let Some(reported) = &mut self.reported {
            reported.push((at, connection, by_wire));
        }
    }

    /// Adds a loss that another part has computed.
    pub(crate) fn adopt(&mut self, loss: (Time, ConnectionId, bool)) {
        self.first.push(Reverse(loss));
    }

    /// Keeps the losses that this part computes, for [`take_reported`](Self::take_reported).
    pub(crate) fn report(&mut self) {
        self.reported = Some(Vec::new());
    }

    /// Removes and returns the losses computed since the last call.
    pub(crate) fn take_reported(&mut self) -> Vec<(Time, ConnectionId, bool)> {
        self.reported.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Moves the losses up to `now` to `losses`; returns whether there were any.
    pub(crate) fn count_until(&mut self, now: Time, losses: &mut IndexVec<ConnectionId, Losses>) -> bool {
        let before = self.first.len();
        while let Some(&Reverse((at, connection, by_wire))) = self.first.peek() {
            if at > now {
                break;
            }
            self.first.pop();
            let losses = &mut losses[connection];
            if by_wire {
                losses.wire += 1;
            } else {
                losses.queue += 1;
            }
        }
        self.first.len() < before
    }
}
