//! Counters of dropped and lost packets. A loss counts from the time at which it happens.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use cwndlab_units::Time;

/// Packets of a flow lost in the data direction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Losses {
    /// Packets dropped by queues.
    pub queue: u64,
    /// Packets lost on wires.
    pub wire: u64,
}

/// Losses that links computed ahead of the clock, as (time, flow, whether on a wire).
#[derive(Debug, Default)]
pub(crate) struct UpcomingLosses(BinaryHeap<Reverse<(Time, u32, bool)>>);

impl UpcomingLosses {
    /// Adds a loss at the time `at`.
    pub(crate) fn push(&mut self, at: Time, flow: u32, by_wire: bool) {
        self.0.push(Reverse((at, flow, by_wire)));
    }

    /// Moves the losses up to `now` to `losses`, which is indexed by flow; returns whether there were any.
    pub(crate) fn count_until(&mut self, now: Time, losses: &mut [Losses]) -> bool {
        let before = self.0.len();
        while let Some(&Reverse((at, flow, by_wire))) = self.0.peek() {
            if at > now {
                break;
            }
            self.0.pop();
            let losses = &mut losses[flow as usize];
            if by_wire {
                losses.wire += 1;
            } else {
                losses.queue += 1;
            }
        }
        self.0.len() < before
    }
}
