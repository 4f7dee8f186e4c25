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
pub(crate) struct UpcomingLosses(BinaryHeap<Reverse<(Time, ConnectionId, bool)>>);

impl UpcomingLosses {
    /// Adds a loss at the time `at`.
    pub(crate) fn push(&mut self, at: Time, connection: ConnectionId, by_wire: bool) {
        self.0.push(Reverse((at, connection, by_wire)));
    }

    /// Moves the losses up to `now` to `losses`; returns whether there were any.
    pub(crate) fn count_until(&mut self, now: Time, losses: &mut IndexVec<ConnectionId, Losses>) -> bool {
        let before = self.0.len();
        while let Some(&Reverse((at, connection, by_wire))) = self.0.peek() {
            if at > now {
                break;
            }
            self.0.pop();
            let losses = &mut losses[connection];
            if by_wire {
                losses.wire += 1;
            } else {
                losses.queue += 1;
            }
        }
        self.0.len() < before
    }
}
